/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* stat */
#include "map_file.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "examples/common/message.h"

static uint8_t image[VFRONT_MAP_BYTES + 1]; /* one more, so that a longer file is noticed */

int map_file_load(vfront_t *vf, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) return message(EXIT_FAILED, "%s: %s", path, strerror(errno));
    const size_t bytes = fread(image, 1, sizeof image, f);
    const int failed = ferror(f);
    fclose(f);
    if (failed) return message(EXIT_FAILED, "%s: cannot be read", path);
    const vfront_status_t status = vfront_map_load(vf, image, bytes);
    if (!status) return CONTINUE;
    return message(EXIT_FAILED, "%s: vfront_map_load: %s: %s", path, vfront_status_name(status), vfront_detail(vf));
}

/** Writes the image into a file. Returns 0 and sets errno if that fails. */
static int write_image(const char *path, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    if (!f) return 0;
    const int written = fwrite(image, 1, bytes, f) == bytes;
    return !fclose(f) && written;
}

/** 1 for what is there and is no file, as a device or a pipe: nothing may take its place. */
static int is_no_file(const char *path)
{
    struct stat s;
    return !stat(path, &s) && !S_ISREG(s.st_mode);
}

int map_file_save(vfront_t *vf, const char *path)
{
    char beside[4400];
    size_t bytes;
    const vfront_status_t status = vfront_map_save(vf, image, VFRONT_MAP_BYTES, &bytes);
    if (status)
        return message(EXIT_FAILED, "%s: vfront_map_save: %s: %s", path, vfront_status_name(status), vfront_detail(vf));
    if (is_no_file(path))
        return write_image(path, bytes) ? CONTINUE : message(EXIT_FAILED, "%s: %s", path, strerror(errno));
    if (snprintf(beside, sizeof beside, "%s.part", path) >= (int)sizeof beside)
        return message(EXIT_FAILED, "%s: the name is too long", path);
    if (write_image(beside, bytes) && !rename(beside, path)) return CONTINUE;
    const int why = errno;
    remove(beside);
    return message(EXIT_FAILED, "%s: %s", path, strerror(why));
}
