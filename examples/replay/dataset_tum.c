/* SPDX-License-Identifier: MIT */
/* TUM RGB-D: rgb.txt, lines `t [s] file name`, and groundtruth.txt, both in one folder. Depth pictures are not used. */
#include "dataset_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/** Seconds at the start of a line, with up to nine decimals, exactly. Returns the rest behind white space, or NULL. */
static char *read_seconds(char *line, uint64_t *t_ns)
{
    uint64_t ns = 0;
    char *at = line;
    for (; isdigit((unsigned char)*at) && ns < UINT64_MAX / 100; at++) ns = 10 * ns + (uint64_t)(*at - '0');
    if (at == line || ns > 9999999999u) return NULL;
    if (*at == '.') at++;
    for (int i = 0; i < 9; i++) ns = 10 * ns + (isdigit((unsigned char)*at) ? (uint64_t)(*at++ - '0') : 0);
    at += strspn(at, "0123456789");
    *t_ns = ns;
    return isspace((unsigned char)*at) ? at + strspn(at, " \t") : NULL;
}

const char *dataset_open_tum(struct dataset *d, const char *where)
{
    struct picture_list *s = &d->picture_list[0];
    text_t t;
    d->kind = "TUM RGB-D";
    d->truth_name[0] = "groundtruth.txt";
    snprintf(d->folder, sizeof d->folder, "%s", where);
    d->rig.cameras = 1;
    const char *error = dataset_open_text(&t, where, "rgb.txt");
    for (char *line; !error && (line = text_line(&t)) != NULL;) {
        uint64_t t_ns = 0;
        const char *name = read_seconds(line, &t_ns);
        error = dataset_add_named(s, &t, where, t_ns, name, "time [s] file name");
    }
    if (!error && !s->count) error = dataset_fail("%s: names no picture", t.path);
    text_close(&t);
    return error;
}
