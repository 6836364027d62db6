/* SPDX-License-Identifier: MIT
 *
 * Text files, read line by line, and the numbers in them.
 */
#ifndef TEXT_H
#define TEXT_H

#define TEXT_PATH_BYTES 4200

/** A text file in memory. */
typedef struct text {
    char path[TEXT_PATH_BYTES];
    char *content; /**< All of it, until the first text_line(). */
    char *rest;    /**< What is not read yet. */
    int line;      /**< Number of the line read last, from 1. */
} text_t;

/** Returns NULL, or one line that says what went wrong and with which file; the line is valid until the next call. */
const char *text_open(text_t *text, const char *path);
/** A text that could not be opened may be closed, too. */
void text_close(text_t *text);

/** The next line that is neither empty nor a comment (#), without white space around it; NULL after the last. */
char *text_line(text_t *text);

/** Reads numbers between white space or commas. Returns how many there are at the start, at most `most`. */
int text_numbers(const char *from, double *number, int most);

#endif
