/* SPDX-License-Identifier: MIT */
#include "junit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct junit_case {
    char name[80], why[240];
};

void junit_add(junit_t *j, const char *name, const char *why)
{
    struct junit_case *more = realloc(j->list, (j->count + 1) * sizeof *more);
    if (!more) {
        j->failed = 1;
        return;
    }
    j->list = more;
    snprintf(more[j->count].name, sizeof more->name, "%s", name);
    snprintf(more[j->count].why, sizeof more->why, "%s", why);
    j->count++;
}

/** Text within quotes. */
static void put(FILE *file, const char *text)
{
    for (; *text; text++) {
        if (*text == '&')
            fputs("&amp;", file);
        else if (*text == '<')
            fputs("&lt;", file);
        else if (*text == '"')
            fputs("&quot;", file);
        else
            fputc(*text >= ' ' && *text <= '~' ? *text : '?', file);
    }
}

const char *junit_write(const junit_t *j, const char *path, const char *suite)
{
    static char message[4400];
    FILE *file = fopen(path, "w");
    size_t failures = 0;
    for (size_t i = 0; i < j->count; i++) failures += *j->list[i].why != 0;
    if (file) {
        fprintf(file,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"%s\" tests=\"%zu\" failures=\"%zu\">\n",
                suite, j->count, failures);
        for (size_t i = 0; i < j->count; i++) {
            fputs("  <testcase name=\"", file);
            put(file, j->list[i].name);
            fputs(*j->list[i].why ? "\"><failure message=\"" : "\"/>\n", file);
            if (!*j->list[i].why) continue;
            put(file, j->list[i].why);
            fputs("\"/></testcase>\n", file);
        }
        fputs("</testsuite>\n", file);
    }
    const int bad = !file || ferror(file);
    if ((file && fclose(file)) || bad || j->failed) {
        snprintf(message, sizeof message, "%.4200s: %s", path, j->failed ? "no memory" : strerror(errno));
        return message;
    }
    return NULL;
}

void junit_free(junit_t *j)
{
    free(j->list);
    memset(j, 0, sizeof *j);
}
