/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* opendir, access */
#include "dataset_internal.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char message[2 * PATH_BYTES];

const char *dataset_fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    return message;
}

void dataset_note(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("note: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
}

/* ---- paths and text ---------------------------------------------------------------------------------------------- */

const char *dataset_join(char path[PATH_BYTES], const char *folder, const char *name)
{
    const int length = snprintf(path, PATH_BYTES, "%s/%s", folder, name);
    return length < PATH_BYTES ? NULL : dataset_fail("%s/%s: name too long", folder, name);
}

int dataset_holds(const char *folder, const char *name)
{
    char path[PATH_BYTES];
    return !dataset_join(path, folder, name) && access(path, F_OK) == 0;
}

const char *dataset_open_text(text_t *t, const char *folder, const char *name)
{
    char path[PATH_BYTES];
    t->content = NULL; /* allows text_close() */
    const char *error = dataset_join(path, folder, name);
    return error ? error : text_open(t, path);
}

char *dataset_read_time_ns(char *line, uint64_t *t_ns)
{
    char *end;
    if (!isdigit((unsigned char)*line)) return NULL;
    errno = 0;
    *t_ns = strtoull(line, &end, 10);
    end += strspn(end, " \t");
    return errno || *end != ',' ? NULL : end + 1 + strspn(end + 1, " \t");
}

const char *dataset_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- lists of pictures ------------------------------------------------------------------------------------------- */

const char *dataset_add_picture(struct picture_list *s, uint64_t t_ns, const char *path)
{
    if (s->count == s->capacity) {
        const uint32_t capacity = s->capacity ? 2 * s->capacity : 256;
        struct picture_file *more = realloc(s->file, capacity * sizeof *more);
        if (!more) return dataset_fail("%s: no memory", path);
        s->file = more;
        s->capacity = capacity;
    }
    char *copy = malloc(strlen(path) + 1);
    if (!copy) return dataset_fail("%s: no memory", path);
    strcpy(copy, path);
    s->file[s->count].t_ns = t_ns;
    s->file[s->count++].path = copy;
    return NULL;
}

const char *dataset_add_named(struct picture_list *s, const text_t *list, const char *folder, uint64_t t_ns,
                              const char *name, const char *form)
{
    char path[PATH_BYTES];
    if (!name || !*name) return dataset_fail("%s:%d: not a line `%s`", list->path, list->line, form);
    if (s->count && t_ns <= s->file[s->count - 1].t_ns)
        return dataset_fail("%s:%d: not after the time of the line before", list->path, list->line);
    const char *error = dataset_join(path, folder, name);
    if (error) return error;
    if (access(path, R_OK)) return dataset_fail("%s:%d names %s: %s", list->path, list->line, path, strerror(errno));
    return dataset_add_picture(s, t_ns, path);
}

/** Natural order of names: 2 before 10. */
static int compare_names(const void *one, const void *other)
{
    const char *whole_a = ((const struct picture_file *)one)->path,
               *whole_b = ((const struct picture_file *)other)->path;
    const char *a = whole_a, *b = whole_b;
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            a += strspn(a, "0");
            b += strspn(b, "0");
            const size_t digits_a = strspn(a, "0123456789"), digits_b = strspn(b, "0123456789");
            if (digits_a != digits_b) return digits_a < digits_b ? -1 : 1;
            const int order = strncmp(a, b, digits_a);
            if (order) return order;
            a += digits_a;
            b += digits_b;
        } else {
            if (*a != *b) return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
            a++;
            b++;
        }
    }
    return *a || *b ? (*a ? 1 : -1) : strcmp(whole_a, whole_b);
}

const char *dataset_add_folder(struct picture_list *s, const char *folder)
{
    DIR *dir = opendir(folder);
    if (!dir) return dataset_fail("%s: %s", folder, strerror(errno));
    const char *error = NULL;
    for (struct dirent *entry = readdir(dir); entry && !error; entry = readdir(dir)) {
        char path[PATH_BYTES];
        if (!picture_named(entry->d_name)) continue;
        error = dataset_join(path, folder, entry->d_name);
        if (!error) error = dataset_add_picture(s, 0, path);
    }
    closedir(dir);
    if (!error && !s->count)
        error = dataset_fail(
            "%s: no PNG, JPEG, BMP, PGM or PPM picture in this folder. Known are folders with mav0 (EuRoC, ASL, "
            "TUM-VI), image_0 (KITTI), rgb.txt (TUM RGB-D), left and right, and those of pictures",
            folder);
    if (!error) qsort(s->file, s->count, sizeof *s->file, compare_names);
    return error;
}

const char *dataset_add_times(struct picture_list *s, const char *folder, uint64_t interval_ns)
{
    for (uint32_t i = 0; i < s->count; i++) s->file[i].t_ns = i * interval_ns;
    if (!dataset_holds(folder, "times.txt")) return NULL;
    text_t t;
    const char *error = dataset_open_text(&t, folder, "times.txt");
    for (uint32_t i = 0; i < s->count && !error; i++) {
        const char *line = text_line(&t);
        double seconds;
        if (!line)
            error = dataset_fail("%s: %u times for %u pictures", t.path, (unsigned)i, (unsigned)s->count);
        else if (text_numbers(line, &seconds, 1) != 1 || !(seconds >= 0.0 && seconds < 1e10))
            error = dataset_fail("%s:%d: not a time in seconds", t.path, t.line);
        else
            s->file[i].t_ns = (uint64_t)(seconds * 1e9 + 0.5);
        if (!error && i && s->file[i].t_ns <= s->file[i - 1].t_ns)
            error = dataset_fail("%s:%d: not after the time before", t.path, t.line);
    }
    text_close(&t);
    return error;
}

const char *dataset_pair_by_time(struct picture_list *left, struct picture_list *right, const char *where)
{
    const uint32_t all = left->count;
    uint32_t kept = 0, l = 0, r = 0;
    while (l < left->count && r < right->count) {
        const uint64_t a = left->file[l].t_ns, b = right->file[r].t_ns;
        if (a + SAME_TIME_NS < b) {
            free(left->file[l++].path);
        } else if (b + SAME_TIME_NS < a) {
            free(right->file[r++].path);
        } else {
            left->file[kept] = left->file[l++];
            right->file[kept++] = right->file[r++];
        }
    }
    while (l < left->count) free(left->file[l++].path);
    while (r < right->count) free(right->file[r++].path);
    left->count = right->count = kept;
    if (!kept)
        return dataset_fail("%s: camera 0 and camera 1 have no time in common; --mono takes camera 0 alone", where);
    if (kept < all)
        dataset_note("%s: %u of %u frames of camera 0 have none of camera 1 and are left out", where, all - kept, all);
    return NULL;
}
