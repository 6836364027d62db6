/* SPDX-License-Identifier: MIT */
#include "map_plot.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagram.h"
#include "state.h"

#define SIDE 640

#define ODOMETRY_COLOUR "#d55e00"
#define MAP_COLOUR "#0072b2"
#define LOOP_COLOUR "#009e73"

#if VFRONT_MAP
/** Rigid transform by a position and a quaternion w x y z. */
static pose_t pose_of(const double t[3], const double q[4])
{
    const double xyzw[4] = {q[1], q[2], q[3], q[0]};
    pose_t pose;
    pose_rotation(pose.R, xyzw);
    memcpy(pose.t, t, sizeof pose.t);
    return pose;
}
#endif

int map_pose(const vfront_result_t *r, pose_t *pose)
{
#if VFRONT_MAP
    const vfront_map_t *m = &r->map;
    if (m->state != VFRONT_MAP_GOOD) return 0;
    const pose_t to = pose_of(m->t_map_odom_m, m->q_map_odom), own = pose_of(m->position_m, m->q_odom_cam);
    *pose = pose_compose(&to, &own);
    return 1;
#else
    (void)r, (void)pose;
    return 0;
#endif
}

int map_plot_add(map_plot_t *p, const vfront_result_t *r)
{
#if VFRONT_MAP
    pose_t pose = pose_identity;
    if (p->count == p->capacity) {
        const uint32_t more = p->capacity ? 2 * p->capacity : 1024;
        struct map_frame *grown = realloc(p->frame, more * sizeof *grown);
        if (!grown) return 0;
        p->frame = grown;
        p->capacity = more;
    }
    struct map_frame *f = &p->frame[p->count++];
    map_pose(r, &pose);
    f->frame = f->loop = r->frame;
    f->t_ns = r->t_ns;
    f->own = pose_of(r->map.position_m, r->map.q_odom_cam);
    f->to = pose_of(r->map.t_map_odom_m, r->map.q_map_odom);
    memcpy(f->map, pose.t, sizeof f->map);
    f->keyframe = (int)r->keyframe;
    f->state = (int)r->map.state;
    for (uint32_t i = 0; i < r->loops_count; i++)
        if (r->loops[i].state == VFRONT_LOOP_ACCEPTED && r->loops[i].kind == VFRONT_LOOP_METRIC && !r->loops[i].loaded)
            f->loop = r->loops[i].frame;
    p->jumps = r->map.counter;
    p->loops = r->map.loops;
    p->upright |= state_is_valid(r->nav.state) && state_has_up(&r->nav);
#endif
    (void)p, (void)r;
    return 1;
}

void map_plot_free(map_plot_t *p)
{
    free(p->frame);
    memset(p, 0, sizeof *p);
}

/** Coordinates from above: x and y where z is up, else x and z of the first camera. */
static void from_above(const map_plot_t *p, const double at[3], double v[2])
{
    v[0] = at[0];
    v[1] = p->upright ? at[1] : at[2];
}

static void fit(const map_plot_t *p, struct diagram *d)
{
    double min[2] = {0, 0}, max[2] = {0, 0}, v[2];
    for (uint32_t i = 0; i < p->count; i++)
        for (int k = 0; k < 2; k++) {
            from_above(p, k ? p->frame[i].map : p->frame[i].own.t, v);
            for (int n = 0; n < 2; n++) {
                min[n] = fmin(min[n], v[n]);
                max[n] = fmax(max[n], v[n]);
            }
        }
    const double extent = 1.1 * fmax(fmax(max[0] - min[0], max[1] - min[1]), 0.01);
    d->px[0] = d->px[1] = SIDE / extent;
    for (int n = 0; n < 2; n++) {
        d->from[n] = 0.5 * (min[n] + max[n] - extent);
        d->to[n] = d->from[n] + extent;
    }
}

static void draw_line(FILE *f, const map_plot_t *p, const struct diagram *d, int map)
{
    int begun = 0;
    fprintf(f, "<path fill='none' stroke-linejoin='round' stroke='%s' stroke-width='%s' d='",
            map ? MAP_COLOUR : ODOMETRY_COLOUR, map ? "1.6" : "3' stroke-opacity='.55");
    for (uint32_t i = 0; i < p->count; i++) {
        const struct map_frame *frame = &p->frame[i];
        double v[2];
        if (map && frame->state != VFRONT_MAP_GOOD) {
            begun = 0;
            continue;
        }
        from_above(p, map ? frame->map : frame->own.t, v);
        fprintf(f, "%c%.1f %.1f", begun ? 'L' : 'M', diagram_x(d, v[0]), diagram_y(d, v[1]));
        begun = 1;
    }
    fputs("'/>\n", f);
}

/** Frame with a number; NULL: none. */
static const struct map_frame *frame_of(const map_plot_t *p, uint64_t number)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (p->frame[i].frame == number) return &p->frame[i];
    return NULL;
}

static void draw_loops(FILE *f, const map_plot_t *p, const struct diagram *d)
{
    for (uint32_t i = 0; i < p->count; i++) {
        const struct map_frame *own = &p->frame[i], *to = own->loop == own->frame ? NULL : frame_of(p, own->loop);
        double a[2], b[2];
        if (!to || own->state != VFRONT_MAP_GOOD) continue;
        from_above(p, own->map, a);
        from_above(p, to->map, b);
        fprintf(f, "<path d='M%.1f %.1fL%.1f %.1f' stroke='" LOOP_COLOUR "' stroke-width='.8'/>\n", diagram_x(d, a[0]),
                diagram_y(d, a[1]), diagram_x(d, b[0]), diagram_y(d, b[1]));
    }
}

static void draw_keyframes(FILE *f, const map_plot_t *p, const struct diagram *d)
{
    for (uint32_t i = 0; i < p->count; i++) {
        double v[2];
        if (!p->frame[i].keyframe || p->frame[i].state != VFRONT_MAP_GOOD) continue;
        from_above(p, p->frame[i].map, v);
        fprintf(f, "<circle cx='%.1f' cy='%.1f' r='2.2' fill='" MAP_COLOUR "'/>\n", diagram_x(d, v[0]),
                diagram_y(d, v[1]));
    }
}

/** Line of the legend. */
static void explain(FILE *f, int line, const char *colour, const char *text)
{
    const int x = SIDE + 100, y = 90 + 24 * line;
    fprintf(f, "<path d='M%d %dh30' stroke='%s' stroke-width='3'/><text x='%d' y='%d'>", x, y - 4, colour, x + 40, y);
    diagram_text(f, text);
    fputs("</text>\n", f);
}

const char *map_plot_write(const char *path, const char *title, const map_plot_t *p)
{
    static char error[4600];
    struct diagram d = {.left = 70, .top = 60, .width = SIDE, .height = SIDE};
    char text[120];
    FILE *f = fopen(path, "w");
    if (!f) {
        snprintf(error, sizeof error, "%s: %s", path, strerror(errno));
        return error;
    }
    d.name[0] = "x [m]";
    d.name[1] = p->upright ? "y [m]" : "z [m]";
    fit(p, &d);
    diagram_begin(f, SIDE + 420, SIDE + 120, d.left, title);
    diagram_axes(f, &d);
    draw_line(f, p, &d, 0);
    draw_line(f, p, &d, 1);
    draw_loops(f, p, &d);
    draw_keyframes(f, p, &d);
    explain(f, 0, ODOMETRY_COLOUR, "odometry");
    explain(f, 1, MAP_COLOUR, "in the map, online; keyframes");
    snprintf(text, sizeof text, "loops: %" PRIu32 " in the graph, %" PRIu32 " jumps", p->loops, p->jumps);
    explain(f, 2, LOOP_COLOUR, text);
    fputs("</svg>\n", f);
    const int failed = ferror(f);
    if (!fclose(f) && !failed) return NULL;
    snprintf(error, sizeof error, "%s: %s", path, strerror(errno));
    return error;
}
