/* The stream that the decoders' libraries print to by default, which they are never asked to do
 * here. */
#include <stdio.h>

extern FILE *decoder_stderr;
FILE *decoder_stderr;
__attribute__((constructor)) static void set(void) { decoder_stderr = stderr; }
