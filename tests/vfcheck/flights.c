/* SPDX-License-Identifier: MIT */
/* vfcheck: the stage vio on simulated flights, host form and kernels step by step, each on its own memory: all bytes
 * are equal after each step. */
#include "vfcheck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nav/nav_interval.h"
#include "vio/imu_interval.h"
#include "vio/vio.h"
#include "vio/vision_only.h"

#if VFRONT_VIO

#include "tests/vio/vio_flight.h"

enum kind { STEREO, STILL, APART, MONO, FEW, NONSENSE, DARK, WRONG, SHARP, KINDS };
static const char *const kind_name[] = {"two cameras",
                                        "standing",
                                        "camera 1 apart",
                                        "one camera",
                                        "few tracks",
                                        "sights at random",
                                        "no sights",
                                        "every fifth is wrong",
                                        "0.05 px, the least that is told"};

static struct vf_vio_memory *host, *device, *copied;
static struct vf_observe_memory *seen, *seen_device;
static struct vf_vio_request *request, *request_device;
static uint64_t *clock_device;
static int has_run[VF_BANK]; /* members with an estimate in the last step */
static cudaStream_t stream;

static void open_flights(void)
{
    host = calloc(1, sizeof *host);
    copied = calloc(1, sizeof *copied);
    seen = calloc(1, sizeof *seen);
    if (!host || !copied || !seen) exit(2);
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc((void **)&device, sizeof *device));
    CUDA(cudaMalloc((void **)&seen_device, sizeof *seen_device));
    CUDA(cudaMalloc((void **)&clock_device, 2 * sizeof *clock_device));
    CUDA(cudaMemset(clock_device, 0, 2 * sizeof *clock_device));
    CUDA(cudaMemset(seen_device, 0, sizeof *seen_device));
    CUDA(cudaHostAlloc((void **)&request, sizeof *request, cudaHostAllocMapped));
    CUDA(cudaHostGetDevicePointer((void **)&request_device, request, 0));
}

static void close_flights(void)
{
    free(host);
    free(copied);
    free(seen);
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(device));
    CUDA(cudaFree(seen_device));
    CUDA(cudaFree(clock_device));
    CUDA(cudaFreeHost(request));
}

/** Number of bytes of a member's scratch that are compared: all but that of factorisations, which a GPU keeps in
 *  registers. */
#define COMPARED offsetof(struct vf_vio_work, matrix)

/** Part of the memory of the bank, or of a member's scratch. */
struct part {
    const char *name;
    size_t from;
};

/** Name of the part in which two memories differ first; NULL: none. at: out, that byte. */
static const char *part_of(const void *x, const void *y, size_t bytes, const struct part *part, size_t parts,
                           size_t *at)
{
    const uint8_t *a = (const uint8_t *)x, *b = (const uint8_t *)y;
    const char *name = part[0].name;
    if (!memcmp(a, b, bytes)) return NULL;
    for (*at = 0; a[*at] == b[*at];) (*at)++;
    for (size_t i = 0; i < parts; i++)
        if (part[i].from <= *at) name = part[i].name;
    return name;
}

/** First byte that differs, as the name of its part; NULL: none. member: out, whose scratch it is, else -1. */
static const char *difference(size_t *at, int *member)
{
#define PART(type, m)                                                                                                  \
    {                                                                                                                  \
#m, offsetof(struct type, m)                                                                                   \
    }
    static const struct part bank[] = {PART(vf_vio_memory, window[0]), PART(vf_vio_memory, window[1]),
                                       PART(vf_vio_memory, nav), PART(vf_vio_memory, summary),
                                       PART(vf_vio_memory, request)};
    static const struct part work[] = {
        PART(vf_vio_work, at),        PART(vf_vio_work, part),        PART(vf_vio_work, prior_x),
        PART(vf_vio_work, x),         PART(vf_vio_work, inertial),    PART(vf_vio_work, stationary),
        PART(vf_vio_work, anchor),    PART(vf_vio_work, system),      PART(vf_vio_work, row),
        PART(vf_vio_work, equations), PART(vf_vio_work, landmark_of), PART(vf_vio_work, saved),
        PART(vf_vio_work, corner)};
#undef PART
    const char *name = part_of(host, copied, offsetof(struct vf_vio_memory, work), bank, sizeof bank / sizeof *bank,
                               at);
    *member = -1;
    for (int i = 0; i < VF_BANK && !name; i++) {
        name = part_of(&host->work[i], &copied->work[i], COMPARED, work, sizeof work / sizeof *work, at);
        *member = i;
    }
    return name;
}

static struct vf_vio_view view_of(struct vf_vio_memory *m, const struct vf_observe_memory *s,
                                  const struct vf_vio_request *g, int32_t parity)
{
    struct vf_vio_view v;
    memset(&v, 0, sizeof v);
    v.parity = parity;
    v.observe = s;
    v.vio = m;
    v.request = g;
    v.geometry.pair.placed = request->rig.cameras > 1;
    v.clock = clock_device;
    return v;
}

/** All launches of vio, in sequence. */
static void launch(const struct vf_vio_view *v)
{
    CUDA(vf_vio_early_cuda(v, stream));
    CUDA(vf_vio_cuda(v, stream));
    CUDA(vf_vio_last_cuda(v, stream));
    CUDA(vf_vio_late_cuda(v, stream));
}

/** Steps both. Returns 0 if they agree. */
static int step_both(int32_t parity)
{
    const struct vf_vio_view own = view_of(host, seen, request, parity),
                             other = view_of(device, seen_device, request_device, parity);
    CUDA(cudaMemcpy(seen_device, seen, sizeof *seen, cudaMemcpyHostToDevice));
    vf_vio_host(&own);
    launch(&other);
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaMemcpy(copied, device, sizeof *copied, cudaMemcpyDeviceToHost));
    size_t at;
    int member;
    return difference(&at, &member) != NULL;
}

/** Draws the observations of a frame by the kind of flight. rows: 1: with row times (rolling shutter). */
static void draw_observations(enum kind kind, int rows, int i, const struct flight *f,
                              const struct flight_trajectory *trajectory, const struct vf_vio_rig *rig,
                              struct flight_point *point, uint32_t *ids)
{
    struct vf_observation drawn[POINTS];
    observe_points(f, trajectory, rig, (double)i / FRAME_HZ, point, ids, drawn);
    seen->count = kind == FEW ? 5 : (kind == DARK && i % 12 > 4) || (kind == STILL && i % 16 == 14) ? 0 : POINTS;
    memcpy(seen->observation, drawn, sizeof drawn);
    for (int k = 0; k < POINTS && rows; k++) {
        seen->observation[k].row_delay_s = 0.004f * (float)(k % 7 - 3);
        seen->observation[k].stereo_delay_s = 0.0005f * (float)(k % 3 - 1);
    }
    for (int k = 0; k < POINTS && kind == APART && i % 16 > 5 && i % 16 < 9; k++)
        seen->observation[k].stereo_bearing[0] += 0.03f;
    for (int k = 0; k < VF_VIO_OBSERVATIONS && kind == NONSENSE; k++) {
        struct vf_observation *s = &seen->observation[k];
        double b[3] = {normal(), normal(), i % 3 ? 2 : normal()};
        unit(b);
        seen->count = i % 7 == 6 ? 0 : VF_VIO_OBSERVATIONS;
        for (int c = 0; c < 3; c++) s->bearing[c] = s->stereo_bearing[c] = (float)b[c];
        s->id = k % 11 == 3 ? 0 : (uint32_t)(1 + k + VF_VIO_OBSERVATIONS * (i / 5));
        s->sigma = 1e-3f;
        s->stereo_sigma = k % 3 ? 1e-3f : 0;
    }
}

/** Requests to the other members, in the last two forms of a step: without forces by the motion of member 0, without
 *  samples from the state that goes on. In some steps none; in some a member goes on from another one's estimate. A
 *  number above 0 of a member that ran in the step before lets member 0 go on from it. */
static void request_others(int step, const struct vf_vio_carried *carried, const vfront_imu_noise_t *noise,
                           uint64_t t_ns)
{
    uint32_t ran = 0;
    for (uint32_t i = 0; i < VF_BANK; i++) ran |= (uint32_t)(step > 1 && has_run[i]) << i;
    request->accepted = step % 5 == 4 ? (uint32_t)(step % VF_BANK) : 0;
    for (uint32_t i = 0; i < VF_BANK; i++) {
        struct vf_vio_member_request *own = &request->member[i];
        const uint32_t other = (i + 1) % VF_BANK;
        if (i) own->command = step == 1 || (step + (int)i) % 11 == 0 ? VF_VIO_NONE : VF_VIO_CONTINUE;
        own->from = ran >> i & 1 ? i : 0;
        if ((step + (int)i) % 7 == 0 && ran >> other & 1) own->from = other;
        has_run[i] = own->command != VF_VIO_NONE;
        const struct vf_vio_window *w = &host->window[(step + 1) % 2][own->from];
        const struct vf_vio_slot *last = &w->slot[w->newest];
        if (i == VF_BANK_NO_ACCEL && request->member[0].motion.motion.dt_s > 0.0) {
            own->motion = request->member[0].motion;
            vf_nav_drop_forces(&own->motion.motion, last->value.q, noise->gravity_m_s2);
            own->motion.motion.flags |= VFRONT_NAV_GAP;
            vf_inertial_whitening_of(&own->motion.whitening, &own->motion.motion, noise);
        } else if (i) {
            vf_vio_vision_only_interval(&own->motion, carried, noise, last->value.q, last->rate, t_ns);
        }
    }
}

/** Runs a flight of some steps. Returns 0 if all agree. */
static int check_flight(int number, int steps)
{
    static vfront_imu_t imu[FLIGHT_SAMPLES];
    static struct flight_point point[POINTS];
    const enum kind kind = (enum kind)(number % KINDS);
    const struct flight f = {.seconds = 4,
                             .size = number % 2 ? 1 : 0.2,
                             .pixel = kind == SHARP || kind == STILL ? 0.05 : 0.5,
                             .life = kind == STILL ? 60 : 8,
                             .wrong = kind == WRONG ? 0.2 : 0};
    const vfront_imu_noise_t noise = {1.7e-4, 2e-3, 2e-5, 3e-3, 30, 300, RATE, 9.81};
    struct vf_vio_rig rig = flight_rig();
    struct flight_trajectory trajectory;
    struct vf_vio_carried carried;
    double bias[6];
    uint32_t ids = 0;
    int standing = 0, apart = 0;
    rig.detect_stationary = 1;
    vf_vio_expect_calibration(&rig, number % 4 == 2 ? 0.003 : number % 4 ? 0.001 : 1e-6, number % 3 ? 1e-6 : 3e-4);
    if (kind == MONO) rig.cameras = 1;
    memset(point, 0, sizeof point);
    memset(&carried, 0, sizeof carried);
    shake(100 + (uint32_t)options.seed * 1000 + (uint32_t)number);
    any_trajectory(&trajectory, f.size);
    if (kind == STILL) memset(&trajectory, 0, sizeof trajectory);
    const uint32_t n = simulate_imu(&trajectory, f.seconds, 0, &noise, imu, bias);
    memset(request, 0, sizeof *request);
    request->first = first_state(&trajectory, bias);
    request->rig = rig;
    request->noise = noise;
    vf_start_information(&request->first, number % 2 ? request->first.velocity_mps : NULL,
                         request->information); /* any rate */
    carried.t_ns = request->first.t_ns;
    carried.noise_ratio[0] = carried.noise_ratio[1] = 1.0;
    memset(host, 0, sizeof *host);
    CUDA(cudaMemset(device, 0, sizeof *device));
    for (int i = 1; i <= steps; i++) {
        const uint64_t t_ns = flight_ns((double)i / FRAME_HZ);
        const uint32_t from = vf_imu_until(imu, n, t_ns - 200000000u);
        struct vf_vio_member_request *own = &request->member[0];
        own->command = i == 1 ? VF_VIO_BEGIN : i == steps ? VF_VIO_NONE : VF_VIO_CONTINUE;
        const struct vf_vio_window *before = &host->window[(i + 1) % 2][0];
        const struct vf_vio_slot *last = &before->slot[before->newest];
        if (i % 8 > 5 && kind != STILL && kind != APART)
            vf_vio_vision_only_interval(&own->motion, &carried, &noise, last->value.q, last->rate, t_ns);
        else
            vf_vio_imu_interval_of(&own->motion, &carried, &noise, NULL, imu + from, n - from < 60 ? n - from : 60,
                                   t_ns);
        request_others(i, &carried, &noise, t_ns);
        draw_observations(kind, number % 3 == 1, i, &f, &trajectory, &rig, point, &ids);
        if (step_both(i % 2)) {
            size_t at = 0;
            int member = 0;
            const char *name = difference(&at, &member);
            printf("FAIL flight %d, %s, step %d: member %d, %s, byte %zu\n", number, kind_name[kind], i, member, name,
                   at);
            return 1;
        }
        const struct vf_vio_window *w = &host->window[i % 2][0];
        const struct vf_vio_slot *s = &w->slot[w->newest];
        standing += w->stationary.holds;
        apart += w->stereo_check_off_s > 0.0;
        carried.t_ns = t_ns;
        carried.own_offset_s = s->offset_s;
        carried.offset_s = w->offset_s;
        memcpy(carried.bias, s->value.bias, sizeof carried.bias);
    }
    if (kind == STILL && steps > 20 && (!standing || standing > steps - 2 * (steps / 16))) {
        printf("FAIL flight %d, %s: %d of %d steps stand\n", number, kind_name[kind], standing, steps);
        return 1;
    }
    if (kind == APART ? steps > 8 && !apart : kind == STEREO && apart) {
        printf("FAIL flight %d, %s: camera 1 is left out in %d of %d steps\n", number, kind_name[kind], apart, steps);
        return 1;
    }
    return 0;
}

int check_flights(int count, int steps)
{
    int failures = 0;
    open_flights();
    for (int i = 0; i < count; i++) failures += check_flight(i, steps);
    printf("window: %d flights of %d steps, %d failures\n", count, steps, failures);
    close_flights();
    return failures;
}

#ifdef EMULATED
void run_flights(void) { puts("times: none, these kernels are emulated"); }
#else
/** Time of a step as a graph, with the largest number of landmarks, and of each of its launches. */
static void time_flight(void)
{
    cudaGraph_t graph;
    open_flights();
    check_flight(0, 60);
    for (int i = 0; i < VF_BANK; i++) request->member[i].command = VF_VIO_CONTINUE;
    const struct vf_vio_view v = view_of(device, seen_device, request_device, 0);
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    launch(&v);
    CUDA(cudaStreamEndCapture(stream, &graph));
    const struct run_times s = run_graph(graph, stream);
    printf("  window, a step of it alone, %d landmarks  %8.1f us p50 %8.1f most\n", VF_VIO_LANDMARKS, s.median_us,
           s.most_us);
    print_launches(graph, stream);
    CUDA(cudaGraphDestroy(graph));
    close_flights();
}

void run_flights(void)
{
    time_flight();
    if (!with_part_of_chip(8, time_flight)) printf("\n8 multiprocessors: NOT RUN (no green contexts here)\n");
}
#endif

#else

int check_flights(int count, int steps)
{
    (void)count, (void)steps;
    return 0;
}

void run_flights(void) {}

#endif
