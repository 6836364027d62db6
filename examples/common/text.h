/* SPDX-License-Identifier: MIT
 *
 * Text files: lines, and the numbers in them.
 */
#ifndef TEXT_H
#define TEXT_H

#define TEXT_PATH_BYTES 4200

/** A text file in memory. */
typedef struct text {
    char path[TEXT_PATH_BYTES];
    char *content; /**< All of it, until the first text_line(). */
    char *rest;    /**< Unread part. */
    int line;      /**< Number of the last line read, from 1. */
} text_t;

/** Returns NULL, or a one-line message that names the file, valid until the next call. */
const char *text_open(text_t *text, const char *path);

/** Also allowed after a failed text_open(). */
void text_close(text_t *text);

/** Next line that is neither empty nor a comment (#), without surrounding white space; NULL after the last. */
char *text_line(text_t *text);

/** Parse numbers separated by white space or commas. Returns the number of leading ones, at most `most`. */
int text_numbers(const char *from, double *number, int max);

#endif
