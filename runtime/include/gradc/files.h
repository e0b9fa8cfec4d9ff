/* Finds where an output is written, for the compiler. Like data.h, this is not part of the stable ABI. */
#ifndef GRADC_FILES_H
#define GRADC_FILES_H

#ifdef __cplusplus
extern "C" {
#endif

/* The file that `path` leads to if it is a symbolic link, whether or not that file exists yet; else `path` itself. Of
 * links in a circle, one is returned. The caller frees the result. */
char *gradc_behind_links(const char *path);

#ifdef __cplusplus
}
#endif

#endif
