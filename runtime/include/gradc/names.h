/* Suggests names for misspelled ones, for the compiler. Like data.h, this is not part of the stable ABI. */
#ifndef GRADC_NAMES_H
#define GRADC_NAMES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The candidate that was most likely meant by `word`; null if none is close. */
const char *gradc_nearest(const char *word, const char *const *candidates, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
