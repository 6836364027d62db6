/* SPDX-License-Identifier: MIT
 *
 * Error messages and exit codes of the programs.
 */
#ifndef MESSAGE_H
#define MESSAGE_H

#include <stddef.h>

#define MESSAGE_WIPE "\r\033[K" /* clears the progress line of a terminal */

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, CONTINUE = -1 }; /* exit codes; CONTINUE: none yet */

/** Name of the program in front of each message; "replay". */
extern const char *message_program;

/** Line of text in `to`, cut off where `bytes` end. Returns `to`. */
__attribute__((format(printf, 3, 4))) const char *message_print(char *to, size_t bytes, const char *format, ...);

/** Message of a function that failed: a line, valid until the next one of this thread. */
__attribute__((format(printf, 1, 2))) const char *message_text(const char *format, ...);

/** Print the program's name, ": " and a line to stderr. Returns `code`. */
__attribute__((format(printf, 2, 3))) int message(int code, const char *format, ...);

#endif
