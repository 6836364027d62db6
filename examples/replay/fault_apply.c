/* SPDX-License-Identifier: MIT */
#include "fault_apply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_BYTES 1024

/** Picture of an injector: pixels without gaps between the rows. */
struct picture {
    uint8_t *pixels;
    uint32_t row_bytes, rows;
    vfront_format_t format;
};

/** Camera: its last pictures without faults, and the one that is delivered. */
struct camera {
    struct picture history[FAULT_LATE_MAX + 1]; /* of frame i at i % history_count */
    struct picture out, scratch;
    int stopped; /* 1: no picture is delivered */
};

/** State of a fault: what it holds on to since it became active. */
struct state {
    int active;                             /* 1: in the last frame */
    struct picture picture[VFRONT_CAMERAS]; /* freeze, freeze-rows: from before the fault */
    double rate_rad_s[3];                   /* stuck: last sample before the fault */
    double drift_ns;                        /* drift: built up so far */
};

struct fault_injector {
    const fault_script_t *script;
    struct state *state; /* of each fault */
    int32_t cameras;
    vfront_camera_t rig[VFRONT_CAMERAS];
    struct camera camera[VFRONT_CAMERAS];
    uint32_t history_count;
    uint32_t frame;                     /* number of the frame under way */
    uint64_t first_ns, t_ns, before_ns; /* time of the first frame; of this one and the one before, since then */
    uint64_t dice;
    vfront_gyro_t gyro[VFRONT_GYRO_SAMPLES];
    vfront_imu_t imu[VFRONT_IMU_SAMPLES];
    double last_rad_s[3]; /* last sample of the frame before, without faults */
    int has_rate;         /* 1: there is one */
    char names[NAMES_BYTES];
};

/* ---- random numbers: splitmix64 ---------------------------------------------------------------------------------- */

static uint64_t roll(struct fault_injector *in)
{
    uint64_t z = in->dice += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/** A seed for each fault and frame, so that no fault depends on another. */
static void shake(struct fault_injector *in, const fault_t *f)
{
    in->dice = in->script->seed * 0xd1342543de82ef95u + (uint64_t)f->line * 0x2545f4914f6cdd1du +
               in->frame * 0x9fb21c651e98df25u;
    roll(in);
}

/** Nearly normal, mean 0, variance 1: twelve uniform numbers of 16 bits, in units of 2^-16. */
static int32_t roll_normal(struct fault_injector *in)
{
    int32_t sum = 0;
    for (int i = 0; i < 3; i++) {
        const uint64_t r = roll(in);
        for (int k = 0; k < 64; k += 16) sum += (int32_t)(r >> k & 0xffff);
    }
    return sum - 6 * 0xffff;
}

/* ---- pixels of every format -------------------------------------------------------------------------------------- */

static int bytes_of(vfront_format_t format) { return format == VFRONT_GREY8 || format == VFRONT_NV12 ? 1 : 2; }

/** Largest value of a pixel. */
static int32_t white_of(vfront_format_t format)
{
    switch (format) {
    case VFRONT_GREY10: return 1023;
    case VFRONT_GREY12: return 4095;
    case VFRONT_GREY16: return 65535;
    default: return 255; /* luma of NV12 and YUYV among them */
    }
}

static int32_t width_of(const struct picture *p) { return (int32_t)p->row_bytes / bytes_of(p->format); }

static int32_t get(const struct picture *p, int32_t x, int32_t y)
{
    const uint8_t *row = p->pixels + (size_t)y * p->row_bytes;
    if (p->format == VFRONT_YUYV) return row[2 * x];
    if (bytes_of(p->format) == 1) return row[x];
    uint16_t value;
    memcpy(&value, row + 2 * x, 2);
    return value;
}

/** Sets a pixel, cut off at black and white. The chroma of YUYV stays. */
static void put(struct picture *p, int32_t x, int32_t y, int64_t value)
{
    uint8_t *row = p->pixels + (size_t)y * p->row_bytes;
    const int32_t white = white_of(p->format);
    const uint16_t cut = (uint16_t)(value < 0 ? 0 : value > white ? white : value);
    if (p->format == VFRONT_YUYV)
        row[2 * x] = (uint8_t)cut;
    else if (bytes_of(p->format) == 1)
        row[x] = (uint8_t)cut;
    else
        memcpy(row + 2 * x, &cut, 2);
}

static void copy(struct picture *to, const struct picture *from)
{
    to->row_bytes = from->row_bytes;
    to->rows = from->rows;
    to->format = from->format;
    memcpy(to->pixels, from->pixels, (size_t)from->row_bytes * from->rows);
}

/* ---- faults of one picture --------------------------------------------------------------------------------------- */

static void fill(struct picture *p, int32_t value)
{
    for (int32_t y = 0; y < (int32_t)p->rows; y++)
        for (int32_t x = 0; x < width_of(p); x++) put(p, x, y, value);
}

/** Product of two numbers in 1/256 and 1/65536, rounded to a whole one. */
static int64_t whole_of(int64_t product)
{
    const int64_t up = product + (1 << 23);
    return up >= 0 ? up >> 24 : -((-up + (1 << 24) - 1) >> 24);
}

/** `sigma` in grey levels of 8 bits. */
static void add_noise(struct fault_injector *in, struct picture *p, double sigma)
{
    const int64_t scale = (int64_t)(sigma * (white_of(p->format) + 1) + 0.5); /* in 1/256 of the format's levels */
    for (int32_t y = 0; y < (int32_t)p->rows; y++)
        for (int32_t x = 0; x < width_of(p); x++) put(p, x, y, get(p, x, y) + whole_of(scale * roll_normal(in)));
}

static int32_t clamp(int32_t v, int32_t max) { return v < 0 ? 0 : v > max ? max : v; }

/** Mean of 2 radius + 1 pixels along a row (dx = 1) or a column (dy = 1) of `count` pixels from (x, y) on; pixels at
 *  its ends are repeated. */
static void blur_line(struct picture *to, const struct picture *from, int32_t radius, int32_t x, int32_t y, int dx,
                      int dy, int32_t count)
{
    int32_t sum = 0;
    for (int32_t i = -radius; i <= radius; i++)
        sum += get(from, x + dx * clamp(i, count - 1), y + dy * clamp(i, count - 1));
    for (int32_t i = 0; i < count; i++) {
        const int32_t enters = clamp(i + radius + 1, count - 1), leaves = clamp(i - radius, count - 1);
        put(to, x + dx * i, y + dy * i, (sum + radius) / (2 * radius + 1));
        sum += get(from, x + dx * enters, y + dy * enters) - get(from, x + dx * leaves, y + dy * leaves);
    }
}

static void blur(struct camera *c, int32_t radius)
{
    const int32_t width = width_of(&c->out), height = (int32_t)c->out.rows;
    copy(&c->scratch, &c->out); /* chroma, too */
    for (int32_t y = 0; y < height; y++) blur_line(&c->scratch, &c->out, radius, 0, y, 1, 0, width);
    for (int32_t x = 0; x < width; x++) blur_line(&c->out, &c->scratch, radius, x, 0, 0, 1, height);
}

/** Brightness in percent, rounded. */
static void scale_brightness(struct picture *p, double percent)
{
    const int64_t factor = (int64_t)(percent * 65536.0 / 100.0 + 0.5);
    for (int32_t y = 0; y < (int32_t)p->rows; y++)
        for (int32_t x = 0; x < width_of(p); x++) put(p, x, y, (get(p, x, y) * factor + 32768) >> 16);
}

static void exchange(struct picture *p, int32_t x, int32_t y, int32_t to_x, int32_t to_y)
{
    const int32_t one = get(p, x, y), other = get(p, to_x, to_y);
    put(p, x, y, other);
    put(p, to_x, to_y, one);
}

/** how: 1 left-right, 2 up-down, 3 both. */
static void mirror(struct picture *p, int how)
{
    const int32_t width = width_of(p), height = (int32_t)p->rows;
    for (int32_t y = 0; y < height && how & 1; y++)
        for (int32_t x = 0; x < width / 2; x++) exchange(p, x, y, width - 1 - x, y);
    for (int32_t y = 0; y < height / 2 && how & 2; y++)
        for (int32_t x = 0; x < width; x++) exchange(p, x, y, x, height - 1 - y);
}

/** Picture without faults of `back` frames before, the oldest where there are fewer. */
static const struct picture *looking_back(const struct fault_injector *in, int32_t camera, uint32_t back)
{
    if (back > in->frame) back = in->frame;
    return &in->camera[camera].history[(in->frame - back) % in->history_count];
}

/** Rows from..to of the height [%] from another picture of the same size; none where the formats differ. */
static void copy_rows(struct picture *to, const struct picture *from, const double percent[2])
{
    const uint32_t first = (uint32_t)(percent[0] * to->rows / 100.0 + 0.5);
    const uint32_t last = (uint32_t)(percent[1] * to->rows / 100.0 + 0.5);
    if (from->format != to->format) return;
    memcpy(to->pixels + (size_t)first * to->row_bytes, from->pixels + (size_t)first * to->row_bytes,
           (size_t)(last - first) * to->row_bytes);
}

static void put_picture_fault(struct fault_injector *in, const fault_t *f, struct state *s, int32_t camera)
{
    struct camera *c = &in->camera[camera];
    const int holds = f->kind == FAULT_FREEZE || f->kind == FAULT_FREEZE_ROWS;
    if (holds && !s->active) copy(&s->picture[camera], looking_back(in, camera, 1));
    switch (f->kind) {
    case FAULT_FREEZE: copy(&c->out, &s->picture[camera]); break;
    case FAULT_FREEZE_ROWS: copy_rows(&c->out, &s->picture[camera], f->argument); break;
    case FAULT_STOP: c->stopped = 1; break;
    case FAULT_BLACK: fill(&c->out, 0); break;
    case FAULT_WHITE: fill(&c->out, white_of(c->out.format)); break;
    case FAULT_NOISE: add_noise(in, &c->out, f->argument[0]); break;
    case FAULT_BLUR: blur(c, (int32_t)f->argument[0]); break;
    case FAULT_DIM:
    case FAULT_BRIGHTEN: scale_brightness(&c->out, f->argument[0]); break;
    case FAULT_FLIP: mirror(&c->out, (int)f->argument[0]); break;
    case FAULT_LATE: copy(&c->out, looking_back(in, camera, (uint32_t)f->argument[0])); break;
    default: break;
    }
}

static int touches(const fault_t *f, int32_t camera)
{
    return f->target == FAULT_BOTH || (f->target == FAULT_CAMERA_0 && camera == 0) ||
           (f->target == FAULT_CAMERA_1 && camera == 1);
}

static void put_camera_fault(struct fault_injector *in, const fault_t *f, struct state *s)
{
    shake(in, f);
    if (f->kind == FAULT_SWAP) {
        const struct picture first = in->camera[0].out;
        in->camera[0].out = in->camera[in->cameras - 1].out;
        in->camera[in->cameras - 1].out = first;
        return;
    }
    for (int32_t i = 0; i < in->cameras; i++)
        if (touches(f, i)) put_picture_fault(in, f, s, i);
}

/* ---- faults of the clock ----------------------------------------------------------------------------------------- */

/** A stamp moved by an offset [ns], held at 0 and at the largest. */
static uint64_t moved(uint64_t t_ns, double offset_ns)
{
    const double size = offset_ns < 0.0 ? -offset_ns : offset_ns;
    const uint64_t by = size >= 18446744073709549568.0 ? UINT64_MAX : (uint64_t)(size + 0.5);
    if (offset_ns < 0.0) return t_ns > by ? t_ns - by : 0;
    return t_ns < UINT64_MAX - by ? t_ns + by : UINT64_MAX;
}

/** Offset of the stamps of a frame by a fault [ns]. A drift that is over keeps what has built up. */
static double clock_offset_ns(struct fault_injector *in, const fault_t *f, struct state *s, int active)
{
    const double seconds = f->argument[0];
    if (f->kind == FAULT_DRIFT) {
        if (active && s->active) s->drift_ns += seconds * 1e-6 * (double)(in->t_ns - in->before_ns);
        return s->drift_ns;
    }
    if (!active) return 0.0;
    shake(in, f);
    if (f->kind == FAULT_JITTER) return seconds * 1e9 * ((double)(roll(in) >> 11) / 4503599627370496.0 - 1.0);
    return (f->kind == FAULT_BACK ? -1e9 : 1e9) * seconds;
}

static void move_stamps(vfront_frame_t *frame, int32_t cameras, uint64_t t_ns)
{
    const uint64_t by = t_ns - frame->t_ns; /* modulo 2^64 */
    for (int32_t i = 0; i < cameras; i++)
        if (frame->picture[i].t_ns) frame->picture[i].t_ns += by;
    frame->t_ns = t_ns;
}

/* ---- faults of the gyro ------------------------------------------------------------------------------------------ */

/** Samples from the first on that a gap of `percent` leaves. */
static uint32_t left_of(uint32_t count, double percent) { return (uint32_t)(count * (100.0 - percent) / 100.0 + 0.5); }

static void put_sample_fault(const fault_t *f, const struct state *s, double rate_rad_s[3])
{
    const int stays = (int)f->argument[0], one = stays == 0 ? 1 : 0, other = stays == 2 ? 1 : 2;
    const double swapped = rate_rad_s[one], limit = f->argument[0];
    for (int i = 0; i < 3; i++) {
        double *rate = &rate_rad_s[i];
        if (f->kind == FAULT_STUCK) *rate = s->rate_rad_s[i];
        if (f->kind == FAULT_BIAS) *rate += f->argument[i];
        if (f->kind == FAULT_SATURATED) *rate = *rate > limit ? limit : *rate < -limit ? -limit : *rate;
    }
    if (f->kind == FAULT_SWAPPED) {
        rate_rad_s[one] = rate_rad_s[other];
        rate_rad_s[other] = swapped;
    }
}

/** Number of samples of a frame: of an IMU or a gyro, whichever it has. */
static uint32_t *count_of(vfront_frame_t *frame) { return frame->imu ? &frame->imu_count : &frame->gyro_count; }

/** Rates of a sample of a frame, in the copy of it. */
static double *rates_of(struct fault_injector *in, const vfront_frame_t *frame, uint32_t i)
{
    return frame->imu ? in->imu[i].gyro_rad_s : in->gyro[i].rate_rad_s;
}

static void put_gyro_fault(struct fault_injector *in, const fault_t *f, struct state *s, vfront_frame_t *frame)
{
    uint32_t *count = count_of(frame);
    if (f->kind == FAULT_GAP) *count = left_of(*count, f->argument[0]);
    if (!*count) return;
    if (!s->active) memcpy(s->rate_rad_s, in->has_rate ? in->last_rad_s : rates_of(in, frame, 0), sizeof s->rate_rad_s);
    for (uint32_t i = 0; i < *count; i++) put_sample_fault(f, s, rates_of(in, frame, i));
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static int is_usable(const struct fault_injector *in, const vfront_frame_t *frame)
{
    if (frame->gyro_count > VFRONT_GYRO_SAMPLES || (frame->gyro_count && !frame->gyro)) return 0;
    if (frame->imu_count > VFRONT_IMU_SAMPLES || (frame->imu_count && !frame->imu)) return 0;
    for (int32_t i = 0; i < in->cameras; i++) {
        const vfront_picture_t *p = &frame->picture[i];
        const unsigned format = (unsigned)p->format;
        if (!p->data || p->memory == VFRONT_DEVICE_MEMORY || format > VFRONT_YUYV) return 0;
        if (p->width_px != in->rig[i].width_px || p->height_px != in->rig[i].height_px) return 0;
        if (p->pitch_bytes < (uint32_t)(p->width_px * bytes_of(p->format))) return 0;
    }
    return 1;
}

/** Keep a picture as the camera made it, and make it the one that is delivered. */
static void take_picture(struct fault_injector *in, int32_t camera, const vfront_picture_t *from)
{
    struct camera *c = &in->camera[camera];
    struct picture *to = &c->history[in->frame % in->history_count];
    to->format = from->format;
    to->rows = (uint32_t)from->height_px;
    to->row_bytes = (uint32_t)(from->width_px * bytes_of(from->format));
    for (uint32_t y = 0; y < to->rows; y++)
        memcpy(to->pixels + (size_t)y * to->row_bytes, (const uint8_t *)from->data + (size_t)y * from->pitch_bytes,
               to->row_bytes);
    copy(&c->out, to);
    c->stopped = 0;
}

static void deliver_picture(const struct camera *c, vfront_picture_t *to)
{
    to->data = c->out.pixels;
    to->pitch_bytes = c->out.row_bytes;
    to->format = c->stopped ? VFRONT_NO_PICTURE : c->out.format;
    to->memory = VFRONT_HOST_MEMORY;
}

static void add_name(struct fault_injector *in, const fault_t *f)
{
    const size_t used = strlen(in->names);
    snprintf(in->names + used, sizeof in->names - used, "%s%s %s", used ? ";" : "", fault_target_name(f->target),
             fault_kind_name(f->kind));
}

/** Put one fault into the frame. Returns the number of deliveries that it asks for. */
static int put_fault(struct fault_injector *in, const fault_t *f, struct state *s, vfront_frame_t *frame)
{
    const int active = fault_active(f, in->frame, in->t_ns, in->before_ns);
    if (active) add_name(in, f);
    if (f->target == FAULT_CLOCK)
        move_stamps(frame, in->cameras, moved(frame->t_ns, clock_offset_ns(in, f, s, active)));
    else if (active && f->target == FAULT_GYRO)
        put_gyro_fault(in, f, s, frame);
    else if (active && !fault_needs_bench(f))
        put_camera_fault(in, f, s);
    s->active = active;
    return !active ? 1 : f->kind == FAULT_DROP ? 0 : f->kind == FAULT_DUPLICATE ? 2 : 1;
}

int fault_apply(fault_injector_t *in, vfront_frame_t *frame)
{
    int deliveries = 1;
    if (!is_usable(in, frame)) return -1;
    if (!in->frame) in->first_ns = frame->t_ns;
    in->t_ns = frame->t_ns - in->first_ns;
    in->names[0] = 0;
    const uint32_t samples = *count_of(frame);
    if (frame->gyro_count) memcpy(in->gyro, frame->gyro, frame->gyro_count * sizeof *in->gyro);
    if (frame->imu_count) memcpy(in->imu, frame->imu, frame->imu_count * sizeof *in->imu);
    if (frame->gyro) frame->gyro = in->gyro;
    if (frame->imu) frame->imu = in->imu;
    double last_rad_s[3] = {0};
    if (samples) memcpy(last_rad_s, rates_of(in, frame, samples - 1), sizeof last_rad_s);
    for (int32_t i = 0; i < in->cameras; i++) take_picture(in, i, &frame->picture[i]);
    for (uint32_t i = 0; i < in->script->count; i++) {
        const int wanted = put_fault(in, &in->script->fault[i], &in->state[i], frame);
        if (wanted == 0 || deliveries == 0)
            deliveries = 0;
        else if (wanted > deliveries)
            deliveries = wanted;
    }
    for (int32_t i = 0; i < in->cameras; i++) deliver_picture(&in->camera[i], &frame->picture[i]);
    if (samples) memcpy(in->last_rad_s, last_rad_s, sizeof in->last_rad_s);
    in->has_rate |= samples > 0;
    in->before_ns = in->t_ns;
    in->frame++;
    return deliveries;
}

const char *fault_names(const fault_injector_t *in) { return in->names; }

/* ---- open, close ------------------------------------------------------------------------------------------------- */

/** Reason for which a fault cannot touch the cameras of a rig, or NULL. */
static const char *unfit(const fault_t *f, const vfront_rig_t *rig)
{
    const vfront_camera_t *c = rig->camera;
    if (f->target == FAULT_CAMERA_1 && rig->cameras < 2) return "there is one camera, number 0";
    if (f->kind != FAULT_SWAP) return NULL;
    if (rig->cameras < 2) return "there is one camera; expected two";
    return c[0].width_px == c[rig->cameras - 1].width_px && c[0].height_px == c[rig->cameras - 1].height_px
               ? NULL
               : "the pictures of the two cameras differ in size";
}

/** Memory of a picture of a camera, in any format. Returns 0 without memory. */
static int allocate(const struct fault_injector *in, int32_t camera, struct picture *p)
{
    p->pixels = malloc(2 * (size_t)in->rig[camera].width_px * (size_t)in->rig[camera].height_px);
    return p->pixels != NULL;
}

static int allocate_camera(struct fault_injector *in, int32_t i)
{
    struct camera *c = &in->camera[i];
    if (!allocate(in, i, &c->out) || !allocate(in, i, &c->scratch)) return 0;
    for (uint32_t k = 0; k < in->history_count; k++)
        if (!allocate(in, i, &c->history[k])) return 0;
    for (uint32_t k = 0; k < in->script->count; k++) {
        const fault_t *f = &in->script->fault[k];
        const int holds = f->kind == FAULT_FREEZE || f->kind == FAULT_FREEZE_ROWS;
        if (holds && touches(f, i) && !allocate(in, i, &in->state[k].picture[i])) return 0;
    }
    return 1;
}

static int allocate_all(struct fault_injector *in)
{
    in->history_count = 2;
    for (uint32_t k = 0; k < in->script->count; k++) {
        const fault_t *f = &in->script->fault[k];
        if (f->kind == FAULT_LATE && f->argument[0] >= in->history_count)
            in->history_count = (uint32_t)f->argument[0] + 1;
    }
    in->state = calloc(in->script->count, sizeof *in->state);
    for (int32_t i = 0; in->state && i < in->cameras; i++)
        if (!allocate_camera(in, i)) return 0;
    return in->state != NULL;
}

const char *fault_open(fault_injector_t **out, const fault_script_t *script, const char *name, const vfront_rig_t *rig)
{
    static char message[4600];
    *out = NULL;
    for (uint32_t i = 0; i < script->count; i++) {
        const fault_t *f = &script->fault[i];
        const char *why = unfit(f, rig);
        if (!why) continue;
        snprintf(message, sizeof message, "%.4200s:%d: %s %s: %s", name, f->line, fault_target_name(f->target),
                 fault_kind_name(f->kind), why);
        return message;
    }
    struct fault_injector *in = calloc(1, sizeof *in);
    if (in) {
        in->script = script;
        in->cameras = rig->cameras;
        memcpy(in->rig, rig->camera, sizeof in->rig);
    }
    if (!in || !allocate_all(in)) {
        fault_close(in);
        snprintf(message, sizeof message, "%.4200s: no memory for the pictures", name);
        return message;
    }
    *out = in;
    return NULL;
}

void fault_close(fault_injector_t *in)
{
    if (!in) return;
    for (int32_t i = 0; i < in->cameras; i++) {
        struct camera *c = &in->camera[i];
        free(c->out.pixels);
        free(c->scratch.pixels);
        for (uint32_t k = 0; k <= FAULT_LATE_MAX; k++) free(c->history[k].pixels);
        for (uint32_t k = 0; in->state && k < in->script->count; k++) free(in->state[k].picture[i].pixels);
    }
    free(in->state);
    free(in);
}
