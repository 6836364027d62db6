/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* fsync, fileno */
#include "map_keeper.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "examples/common/message.h"

/** Writes the image into a file, and has the disk keep it. 0: it could not; errno. */
static int write_image(const map_keeper_t *k, const char *path)
{
    FILE *f = fopen(path, "wb");
    if (!f) return 0;
    int good = fwrite(k->image, 1, k->bytes, f) == k->bytes && fflush(f) == 0 && fsync(fileno(f)) == 0;
    const int error = errno;
    if (fclose(f) != 0) return 0;
    if (!good) errno = error;
    return good;
}

/** Saves the image: beside the file first. */
static map_keeper_result_t put_file(map_keeper_t *k)
{
    char beside[4400];
    errno = ENAMETOOLONG;
    if (snprintf(beside, sizeof beside, "%s.part", k->path) < (int)sizeof beside && write_image(k, beside) &&
        rename(beside, k->path) == 0)
        return MAP_KEEPER_SAVED;
    snprintf(k->text, sizeof k->text, "--map %.150s: not saved: %s", k->path, strerror(errno));
    remove(beside);
    return MAP_KEEPER_FAILED;
}

static void *keep_file(void *of)
{
    map_keeper_t *k = of;
    pthread_mutex_lock(&k->lock);
    for (;;) {
        while (!k->is_due && !k->stops) pthread_cond_wait(&k->wake, &k->lock);
        if (!k->is_due) break;
        pthread_mutex_unlock(&k->lock);
        const map_keeper_result_t result = put_file(k);
        pthread_mutex_lock(&k->lock);
        k->is_due = 0;
        k->result = result;
    }
    pthread_mutex_unlock(&k->lock);
    return NULL;
}

const char *map_keeper_open(map_keeper_t *k, const char *path)
{
    struct stat s;
    if (stat(path, &s) == 0 && !S_ISREG(s.st_mode)) return message_text("--map %.150s: no file", path);
    if (pthread_mutex_init(&k->lock, NULL) != 0) return "--map: no mutex";
    if (pthread_cond_init(&k->wake, NULL) != 0) return "--map: no condition";
    k->path = path;
    k->has_thread = pthread_create(&k->thread, NULL, keep_file, k) == 0;
    return k->has_thread ? NULL : "--map: no thread";
}

const char *map_keeper_load(map_keeper_t *k, vfront_t *vf)
{
    if (!k->path) return NULL;
    FILE *f = fopen(k->path, "rb");
    if (!f && errno == ENOENT) return NULL;
    k->is_refused = 1;
    if (!f) return message_text("--map %.150s: %s", k->path, strerror(errno));
    k->bytes = fread(k->image, 1, sizeof k->image, f);
    const int failed = ferror(f);
    fclose(f);
    if (failed) return message_text("--map %.150s: cannot be read", k->path);
    const vfront_status_t status = vfront_map_load(vf, k->image, k->bytes);
    if (status)
        return message_text("--map %.150s: %s: %.150s; it is left as it is, and no map is saved", k->path,
                            vfront_status_name(status), vfront_detail(vf));
    k->is_refused = 0;
    k->is_loaded = 1;
    return NULL;
}

void map_keeper_record(const map_keeper_t *k, recorder_t *recorder, uint64_t t_ns)
{
    if (k->is_loaded) recorder_map(recorder, t_ns, k->image, k->bytes);
}

/** Copies the map from the library. NULL: it is in `image`. */
static const char *take_image(map_keeper_t *k, vfront_t *vf)
{
    const vfront_status_t status = vfront_map_save(vf, k->image, VFRONT_MAP_BYTES, &k->bytes);
    if (!status) return NULL;
    return message_text("--map %.150s: not saved: %s: %.150s", k->path, vfront_status_name(status), vfront_detail(vf));
}

int map_keeper_is_busy(map_keeper_t *k)
{
    if (!k->path) return 0;
    pthread_mutex_lock(&k->lock);
    const int is_busy = k->is_due;
    pthread_mutex_unlock(&k->lock);
    return is_busy;
}

const char *map_keeper_save(map_keeper_t *k, vfront_t *vf)
{
    if (!k->path) return "no map: --map is not given";
    if (k->is_refused) return message_text("--map %.150s: not saved: the file was refused", k->path);
    if (map_keeper_is_busy(k)) return message_text("--map %.150s: it is being saved", k->path);
    const char *error = take_image(k, vf);
    if (error) return error;
    pthread_mutex_lock(&k->lock);
    k->is_due = 1;
    pthread_cond_signal(&k->wake);
    pthread_mutex_unlock(&k->lock);
    return NULL;
}

map_keeper_result_t map_keeper_result(map_keeper_t *k)
{
    if (!k->path) return MAP_KEEPER_NOTHING;
    pthread_mutex_lock(&k->lock);
    const map_keeper_result_t result = k->result;
    k->result = MAP_KEEPER_NOTHING;
    pthread_mutex_unlock(&k->lock);
    return result;
}

void map_keeper_keep(map_keeper_t *k, vfront_t *vf)
{
    k->kept_bytes = 0;
    if (k->path && vfront_map_save(vf, k->kept, sizeof k->kept, &k->kept_bytes) != VFRONT_OK) k->kept_bytes = 0;
}

int map_keeper_restore(map_keeper_t *k, vfront_t *vf, recorder_t *recorder, uint64_t t_ns)
{
    if (!k->path || !k->kept_bytes || vfront_map_load(vf, k->kept, k->kept_bytes) != VFRONT_OK) return 0;
    recorder_map(recorder, t_ns, k->kept, k->kept_bytes);
    k->is_loaded = 1;
    return 1;
}

const char *map_keeper_close(map_keeper_t *k, vfront_t *vf)
{
    const char *error = NULL;
    if (!k->path) return NULL;
    pthread_mutex_lock(&k->lock);
    k->stops = 1;
    pthread_cond_signal(&k->wake);
    pthread_mutex_unlock(&k->lock);
    if (k->has_thread) pthread_join(k->thread, NULL); /* a save that is under way is ended */
    k->has_thread = 0;
    if (vf && !k->is_refused) {
        error = take_image(k, vf);
        if (!error && put_file(k) == MAP_KEEPER_FAILED) error = k->text;
    }
    pthread_cond_destroy(&k->wake);
    pthread_mutex_destroy(&k->lock);
    k->path = NULL;
    return error;
}
