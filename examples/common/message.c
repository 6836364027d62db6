/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* isatty */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

const char *message_program = "replay";

const char *message_print(char *to, size_t bytes, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(to, bytes, format, list);
    va_end(list);
    return to;
}

const char *message_text(const char *format, ...)
{
    static _Thread_local char text[640];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return text;
}

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
