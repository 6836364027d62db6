/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* isatty */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

const char *message_program = "replay";

int message(int code, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "%s%s: ", isatty(STDERR_FILENO) ? MESSAGE_WIPE : "", message_program);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    return code;
}
