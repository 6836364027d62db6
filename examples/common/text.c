/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"

static char failure[2 * TEXT_PATH_BYTES]; /* why a function failed */
#define FAIL(...) message_print(failure, sizeof failure, __VA_ARGS__)

static const char *read_all(text_t *t, FILE *file)
{
    size_t length = 0, capacity = 1 << 16, got = 1;
    t->content = malloc(capacity);
    while (t->content && got) {
        got = fread(t->content + length, 1, capacity - length - 1, file);
        length += got;
        if (length + 1 < capacity) continue;
        char *more = realloc(t->content, capacity *= 2);
        if (!more) free(t->content);
        t->content = more;
    }
    if (!t->content) return FAIL("%s: no memory", t->path);
    if (ferror(file)) return FAIL("%s: %s", t->path, strerror(errno));
    t->content[length] = 0;
    t->rest = t->content;
    return NULL;
}

const char *text_open(text_t *t, const char *path)
{
    t->content = t->rest = NULL;
    t->line = 0;
    if (snprintf(t->path, sizeof t->path, "%s", path) >= TEXT_PATH_BYTES) return FAIL("%s: name too long", path);
    FILE *file = fopen(path, "rb");
    if (!file) return FAIL("%s: %s", path, strerror(errno));
    const char *error = read_all(t, file);
    fclose(file);
    if (error) text_close(t);
    return error;
}

void text_close(text_t *t)
{
    free(t->content);
    t->content = t->rest = NULL;
}

char *text_line(text_t *t)
{
    while (*t->rest) {
        char *line = t->rest, *end = line + strcspn(line, "\n");
        t->rest = *end ? end + 1 : end;
        t->line++;
        while (end > line && isspace((unsigned char)end[-1])) end--;
        *end = 0;
        while (isspace((unsigned char)*line)) line++;
        if (*line && *line != '#') return line;
    }
    return NULL;
}

int text_numbers(const char *from, double *number, int max)
{
    int count = 0;
    for (; count < max; count++) {
        char *end;
        number[count] = strtod(from, &end);
        if (end == from) break;
        from = end + strspn(end, " \t,");
    }
    return count;
}
