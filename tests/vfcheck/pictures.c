/* SPDX-License-Identifier: MIT */
/* Real images for vfcheck's cases, from PGM files. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "vfcheck.h"

static struct {
    uint8_t *grey[64];
    int count, width, height;
} real;

static int read_pgm(const char *path)
{
    FILE *f = fopen(path, "rb");
    int w, h, most;
    if (!f) return 0;
    const int ok = fscanf(f, "P5 %d %d %d", &w, &h, &most) == 3 && most == 255 && w > 0 && h > 0 && fgetc(f) != EOF &&
                   (!real.count || (w == real.width && h == real.height));
    uint8_t *grey = ok ? malloc((size_t)w * (size_t)h) : NULL;
    if (grey && fread(grey, 1, (size_t)w * (size_t)h, f) == (size_t)w * (size_t)h) {
        real.width = w;
        real.height = h;
        real.grey[real.count++] = grey;
    }
    fclose(f);
    return ok;
}

static int by_name(const struct dirent **a, const struct dirent **c) { return strcmp((*a)->d_name, (*c)->d_name); }

void load_pictures(const char *folder)
{
    struct dirent **entry;
    const int n = folder ? scandir(folder, &entry, NULL, by_name) : 0;
    for (int i = 0; i < n && real.count < 64; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        if (strstr(entry[i]->d_name, ".pgm") && !read_pgm(path)) fprintf(stderr, "vfcheck: %s is left out\n", path);
    }
    printf("real pictures: %d\n", real.count);
}

int real_picture(uint8_t *to, int width, int height, int frame)
{
    if (!real.count) return 0;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            to[y * width + x] = real.grey[frame % real.count][y % real.height * real.width + x % real.width];
    return 1;
}
