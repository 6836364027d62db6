/* SPDX-License-Identifier: MIT */
#include "checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mavlink.h"

#define ACCELERATION_M_S2 2.0 /* deviation of what a vehicle does meanwhile, each axis */
#define TURN_RAD_S 0.4        /* likewise: half of the 45 degrees/s at which missions turn */
#define LARGEST 1e9           /* of any number in the file */

enum { NUMBERS = 12, LINE_BYTES = 640 };

/** Identity of this boot: monotonic times of another one mean nothing. */
static void boot(char id[64])
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    snprintf(id, 64, "unknown");
    if (!f) return;
    if (fscanf(f, "%63s", id) != 1) snprintf(id, 64, "unknown");
    fclose(f);
}

static double *number_of(checkpoint_t *k, int i)
{
    return i < 3    ? &k->position_m[i]
           : i == 3 ? &k->yaw_rad
           : i < 7  ? &k->sigma_m[i - 4]
           : i == 7 ? &k->sigma_yaw_rad
           : i < 11 ? &k->velocity_mps[i - 8]
                    : &k->yaw_rate_rad_s;
}

/** The one line of the file, without its checksum. */
static int print(char line[LINE_BYTES], const checkpoint_t *checkpoint)
{
    checkpoint_t k = *checkpoint;
    char id[64];
    boot(id);
    int n = snprintf(line, LINE_BYTES, "companion 2 %s %" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu32, id, k.t_ns,
                     k.reset_counter, k.restarts, k.answers);
    for (int i = 0; i < NUMBERS; i++) n += snprintf(line + n, (size_t)(LINE_BYTES - n), " %.17g", *number_of(&k, i));
    return n;
}

const char *checkpoint_write(const char *path, const checkpoint_t *checkpoint)
{
    static char text[256];
    char line[LINE_BYTES], other[4096];
    const int n = print(line, checkpoint);
    const uint16_t sum = mavlink_crc(0xffff, (const uint8_t *)line, (size_t)n);
    if (snprintf(other, sizeof other, "%s.new", path) >= (int)sizeof other) return "--keep: the name is too long";
    FILE *f = fopen(other, "w");
    int good = f && fprintf(f, "%s %04x\n", line, sum) > 0 && fflush(f) == 0;
    if (f && fclose(f) != 0) good = 0;
    if (good && rename(other, path) == 0) return NULL;
    snprintf(text, sizeof text, "--keep %.150s: %s", path, strerror(errno));
    return text;
}

/** Takes a line apart. */
static int parse(const char *line, checkpoint_t *k, char id[64])
{
    int at = 0;
    memset(k, 0, sizeof *k);
    if (sscanf(line, "companion 2 %63s %" SCNu64 " %" SCNu32 " %" SCNu32 " %" SCNu32 "%n", id, &k->t_ns,
               &k->reset_counter, &k->restarts, &k->answers, &at) != 5 ||
        k->reset_counter > 255)
        return 0;
    for (int i = 0; i < NUMBERS; i++) {
        char *end;
        *number_of(k, i) = strtod(line + at, &end);
        if (end == line + at || !(fabs(*number_of(k, i)) <= LARGEST)) return 0;
        at = (int)(end - line);
    }
    return !line[at];
}

void checkpoint_carry(checkpoint_t *k, uint64_t t_ns)
{
    if (t_ns <= k->t_ns) return;
    const double dt_s = (double)(t_ns - k->t_ns) * 1e-9;
    const double moved_m = ACCELERATION_M_S2 * dt_s * dt_s / 2.0;
    /* a turn that was under way may have gone on, or ended at once */
    const double turned_rad = fmax(TURN_RAD_S, fabs(k->yaw_rate_rad_s)) * dt_s;
    for (int i = 0; i < 3; i++) {
        k->position_m[i] += k->velocity_mps[i] * dt_s;
        k->sigma_m[i] = hypot(k->sigma_m[i], moved_m);
    }
    k->sigma_yaw_rad = hypot(k->sigma_yaw_rad, turned_rad);
    k->t_ns = t_ns;
}

int checkpoint_read(const char *path, uint64_t now_ns, checkpoint_t *checkpoint, const char **reason)
{
    char line[LINE_BYTES], id[64], now_id[64];
    *reason = NULL;
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    const char *got = fgets(line, sizeof line, f);
    fclose(f);
    char *last = got ? strrchr(line, ' ') : NULL;
    *reason = "it is damaged";
    if (!last) return 0;
    *last = 0;
    const unsigned long sum = strtoul(last + 1, NULL, 16);
    if (sum != mavlink_crc(0xffff, (const uint8_t *)line, strlen(line)) || !parse(line, checkpoint, id)) return 0;
    boot(now_id);
    *reason = "the machine was started since";
    if (strcmp(id, now_id) != 0 || checkpoint->t_ns > now_ns) return 0;
    *reason = "it is older than a minute";
    if (now_ns - checkpoint->t_ns > CHECKPOINT_AGE_NS) return 0;
    *reason = NULL;
    return 1;
}
