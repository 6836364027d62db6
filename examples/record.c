/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* mkdir, stat */
#include "record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES 4200

static char message[2 * PATH_BYTES];

/** The line that a failed function returns; the reason is errno's. */
static const char *fail(const char *folder, const char *name)
{
    snprintf(message, sizeof message, "%s%s%s: %s", folder, *name ? "/" : "", name, strerror(errno));
    return message;
}

const char *record_state_name(uint32_t state)
{
    static const char *const name[] = {"starting", "tracking", "degraded", "lost"};
    return state < sizeof name / sizeof *name ? name[state] : "?";
}

const char *record_end_name(uint32_t end)
{
    static const char *const name[VFRONT_ENDS] = {"?", "border", "mask", "residual", "texture", "diverged", "back"};
    return end < VFRONT_ENDS ? name[end] : "?";
}

/* ---- sheets -------------------------------------------------------------------------------------------------------- */

static void track_head(FILE *f, int32_t cameras)
{
    (void)cameras;
    fputs("frame,t_ns,id,x_px,y_px,age,level,gain,offset,residual,state\n", f);
}

/** Living tracks first; then those that ended, with the place and age, which is all that is known of them. */
static void track_rows(FILE *f, int32_t cameras, const vfront_result_t *r)
{
    (void)cameras;
    for (uint32_t i = 0; i < r->tracks_count; i++) {
        const vfront_track_t *t = &r->tracks[i];
        fprintf(f, "%" PRIu64 ",%" PRIu64 ",%" PRIu64, r->frame, r->t_ns, t->id);
        fprintf(f, ",%.9g,%.9g,%" PRIu32 ",%" PRIu32, (double)t->x_px, (double)t->y_px, t->age, t->level);
        fprintf(f, ",%.9g,%.9g,%.9g,%s\n", (double)t->gain, (double)t->offset_grey, (double)t->residual_grey,
                t->age ? "tracked" : "new");
    }
    for (uint32_t i = 0; i < r->lost_count; i++) {
        const vfront_lost_t *l = &r->lost[i];
        fprintf(f, "%" PRIu64 ",%" PRIu64 ",%" PRIu64, r->frame, r->t_ns, l->id);
        fprintf(f, ",%.9g,%.9g,%" PRIu32 ",,,,,%s\n", (double)l->x_px, (double)l->y_px, l->age, record_end_name(l->end));
    }
}

static void keypoint_head(FILE *f, int32_t cameras)
{
    (void)cameras;
    fputs("frame,camera,x_px,y_px,level,score,weak,cell\n", f);
}

static void keypoint_rows(FILE *f, int32_t cameras, const vfront_result_t *r)
{
    for (int32_t c = 0; c < cameras; c++)
        for (uint32_t i = 0; i < r->keypoints_count[c]; i++) {
            const vfront_keypoint_t *k = &r->keypoints[c][i];
            fprintf(f, "%" PRIu64 ",%" PRId32 ",%.9g,%.9g,%u,%u,%u,%u\n", r->frame, c, (double)k->x_px, (double)k->y_px,
                    (unsigned)k->level, (unsigned)k->score, (unsigned)k->weak, (unsigned)k->cell);
        }
}

static void health_head(FILE *f, int32_t cameras)
{
    fputs("frame,t_ns,state,quality,reset_counter,followed,born", f);
    for (uint32_t i = 1; i < VFRONT_ENDS; i++) fprintf(f, ",ended_%s", record_end_name(i));
    fputs(",overflow,gap,dt_ns", f);
    for (int32_t c = 0; c < cameras; c++)
        fprintf(f, ",cells_%d,starved_%d,brightness_grey_%d,sharpness_grey_%d,dark_permille_%d,bright_permille_%d", (int)c,
                (int)c, (int)c, (int)c, (int)c, (int)c);
    fputc('\n', f);
}

static void health_rows(FILE *f, int32_t cameras, const vfront_result_t *r)
{
    const vfront_health_t *h = &r->health;
    fprintf(f, "%" PRIu64 ",%" PRIu64 ",%s,%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32, r->frame, r->t_ns,
            record_state_name(h->state), h->quality, h->reset_counter, h->followed, h->born);
    for (uint32_t i = 1; i < VFRONT_ENDS; i++) fprintf(f, ",%" PRIu32, h->ended[i]);
    fprintf(f, ",%" PRIu32 ",%" PRIu32 ",%" PRIu64, h->overflow, h->gap, h->dt_ns);
    for (int32_t c = 0; c < cameras; c++)
        fprintf(f, ",%" PRIu32 ",%" PRIu32 ",%.9g,%.9g,%" PRIu32 ",%" PRIu32, h->cells[c], h->starved[c],
                (double)h->brightness_grey[c], (double)h->sharpness_grey[c], h->dark_permille[c], h->bright_permille[c]);
    fputc('\n', f);
}

static void timing_head(FILE *f, int32_t cameras)
{
    (void)cameras;
    fputs("frame", f);
    for (size_t i = 0; i < VFRONT_STAGES; i++) fprintf(f, ",%s_us", vfront_stage_name(i));
    fputs(",device_us,step_us,overrun\n", f);
}

static void timing_rows(FILE *f, int32_t cameras, const vfront_result_t *r)
{
    (void)cameras;
    fprintf(f, "%" PRIu64, r->frame);
    for (size_t i = 0; i < VFRONT_STAGES; i++) fprintf(f, ",%.9g", (double)r->timing.stage_us[i]);
    fprintf(f, ",%.9g,%.9g,%" PRIu32 "\n", (double)r->timing.device_us, (double)r->timing.step_us, r->timing.overrun);
}

static void digest_head(FILE *f, int32_t cameras)
{
    (void)f;
    (void)cameras;
}

static void digest_rows(FILE *f, int32_t cameras, const vfront_result_t *r)
{
    (void)cameras;
    fprintf(f, "%" PRIu64 " %" PRIu64 " %016" PRIx64 "\n", r->frame, r->t_ns, vfront_digest(r));
}

/* ---- files --------------------------------------------------------------------------------------------------------- */

/** A kind of file: its name, its first line, and the lines of a frame. */
static const struct sheet {
    const char *name;
    void (*head)(FILE *file, int32_t cameras);
    void (*rows)(FILE *file, int32_t cameras, const vfront_result_t *result);
} sheet[] = {
    {"tracks.csv", track_head, track_rows},   {"keypoints.csv", keypoint_head, keypoint_rows},
    {"health.csv", health_head, health_rows}, {"timing.csv", timing_head, timing_rows},
    {"digest.txt", digest_head, digest_rows},
};
#define SHEETS (sizeof sheet / sizeof *sheet)

struct record {
    char folder[PATH_BYTES];
    int32_t cameras;
    FILE *file[SHEETS];
};

/** Makes one folder; that it is there already is no failure. */
static int make_one(const char *path)
{
    struct stat s;
    if (mkdir(path, 0777) == 0) return 1;
    if (errno != EEXIST || stat(path, &s)) return 0;
    errno = ENOTDIR;
    return S_ISDIR(s.st_mode);
}

const char *record_folder(const char *folder)
{
    char path[PATH_BYTES];
    errno = ENAMETOOLONG;
    if (strlen(folder) >= sizeof path) return fail(folder, "");
    strcpy(path, folder);
    for (char *at = path + 1; *path && *at; at++) {
        if (*at != '/') continue;
        *at = 0;
        if (!make_one(path)) return fail(path, "");
        *at = '/';
    }
    return make_one(path) ? NULL : fail(folder, "");
}

/** Hands what was written to the system. */
static const char *flush(struct record *record, size_t i)
{
    const int failed = ferror(record->file[i]);
    return fflush(record->file[i]) || failed ? fail(record->folder, sheet[i].name) : NULL;
}

static const char *open_sheet(struct record *record, size_t i)
{
    char path[PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/%s", record->folder, sheet[i].name);
    record->file[i] = fopen(path, "w");
    if (!record->file[i]) return fail(record->folder, sheet[i].name);
    sheet[i].head(record->file[i], record->cameras);
    return flush(record, i);
}

const char *record_open(record_t **out, const char *folder, int32_t cameras)
{
    *out = NULL;
    const char *wrong = record_folder(folder);
    if (wrong) return wrong;
    struct record *record = calloc(1, sizeof *record);
    if (!record) return fail(folder, "");
    strcpy(record->folder, folder);
    record->cameras = cameras;
    for (size_t i = 0; i < SHEETS && !wrong; i++) wrong = open_sheet(record, i);
    if (wrong)
        record_close(record);
    else
        *out = record;
    return wrong;
}

const char *record_frame(record_t *record, const vfront_result_t *result)
{
    for (size_t i = 0; i < SHEETS; i++) {
        errno = 0;
        sheet[i].rows(record->file[i], record->cameras, result);
        const char *wrong = flush(record, i);
        if (wrong) return wrong;
    }
    return NULL;
}

const char *record_close(record_t *record)
{
    const char *wrong = NULL;
    for (size_t i = 0; record && i < SHEETS; i++) {
        if (!record->file[i] || fclose(record->file[i]) == 0 || wrong) continue;
        wrong = fail(record->folder, sheet[i].name);
    }
    free(record);
    return wrong;
}
