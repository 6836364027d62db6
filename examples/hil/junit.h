/* SPDX-License-Identifier: MIT
 *
 * Results of tests as JUnit XML, which CI systems read.
 */
#ifndef HIL_JUNIT_H
#define HIL_JUNIT_H

#include <stddef.h>

/** Results so far. Zero it before the first. */
typedef struct junit {
    struct junit_case *list;
    size_t count;
    int failed; /**< 1: no memory for one of them. */
} junit_t;

/** A test: failed if `why` is not "". */
void junit_add(junit_t *junit, const char *name, const char *why);

/** Write them. Returns NULL, or a message that names the file, valid until the next call. */
const char *junit_write(const junit_t *junit, const char *path, const char *suite);
void junit_free(junit_t *junit);

#endif
