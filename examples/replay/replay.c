/* SPDX-License-Identifier: MIT
 *
 * replay: runs the front end over a sequence and prints a summary; with --out it writes all results to files.
 */
#define _POSIX_C_SOURCE 200809L /* isatty, clock_gettime */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "caption.h"
#include "dataset.h"
#include "disparity.h"
#include "fault_apply.h"
#include "fault_log.h"
#include "found.h"
#include "gyro_queue.h"
#include "live.h"
#include "loop_overlay.h"
#include "map_file.h"
#include "map_trajectory.h"
#include "map_plot.h"
#include "examples/common/message.h"
#include "motion.h"
#include "options.h"
#include "outputs.h"
#include "overlay.h"
#include "picture.h"
#include "plot.h"
#include "results.h"
#include "rectified.h"
#include "examples/recording/check.h"
#include "export.h"
#include "examples/recording/recorder.h"
#include "examples/recording/tables.h"
#include "state_plot.h"
#include "summary.h"

#define DISPARITY_FOLDER "disparity" /* in that of --out */
#define ENDLESS_FRAMES 60            /* of a data set without an end, without --frames */

static vfront_t vf;

/** State of a run. */
struct run {
    struct options *options;
    dataset_t *dataset;
    results_t *results;
    overlay_t *overlay;
    loop_overlay_t *loops;  /* NULL: there are none, or no overlays */
    overlay_what_t drawn;   /* layers of the overlay */
    rectified_t *rectified; /* NULL: overlays show the original pictures */
    vfront_camera_t seen;   /* camera 0 of the results, vfront_info_t.camera */
    motion_t motion;
    int has_states; /* 1: states are asked for */
    states_t states;
    map_plot_t map; /* empty: there is none */
    struct summary summary;
    fault_script_t script;      /* of --fault */
    fault_injector_t *injector; /* NULL: no faults */
    fault_log_t *fault_log;     /* NULL: not written */
    gyro_queue_t gyro;
    recorder_t *recorder; /* of --record, or NULL */
    int recorder_failed;  /* 1: reported */
    exported_t *exported; /* of --export mcap, or NULL */
    check_t check;        /* with the recording that is read */
    vfront_status_t last; /* of the last step */
    uint32_t frames;      /* UINT32_MAX: until the cameras end */
    double progress_s;    /* time of the last progress line [s] */
};

static double monotonic_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/** Progress line on a terminal, at most every 0.1 s; r is NULL at the end and clears it. */
static void print_progress(struct run *run, const vfront_result_t *r)
{
    const double now = monotonic_s();
    if (run->options->quiet || !isatty(STDERR_FILENO)) return;
    if (r && now - run->progress_s < 0.1) return;
    run->progress_s = now;
    if (!r) {
        fputs(MESSAGE_WIPE, stderr);
        return;
    }
    fprintf(stderr, "\rframe %" PRIu64, r->frame + 1);
    if (run->frames < UINT32_MAX) fprintf(stderr, " of %" PRIu32, run->frames);
    fprintf(stderr, ", %" PRIu32 " tracks, %" PRIu32 " key points, %.2f ms \033[K", r->tracks_count,
            r->keypoints_count[0], (double)r->timing.step_us * 1e-3);
}

static const char *draw(struct run *run, const vfront_frame_t *frame, const vfront_result_t *r)
{
    char line[CAPTION_LETTERS], stem[4400];
    int32_t width, height;
    caption_write(line, sizeof line, run->drawn, dataset_rig(run->dataset)->cameras, r);
    snprintf(stem, sizeof stem, "%s/overlay/%06" PRIu64, run->options->out, r->frame);
    if (run->rectified) frame = rectified_frame(run->rectified, frame);
    const uint8_t *rgb = overlay_draw(run->overlay, frame, r, line);
    overlay_size(run->overlay, &width, &height);
    const char *error = picture_write(stem, rgb, width, height, 3);
    if (error || !run->loops) return error;
    if (!loop_overlay_draw(run->loops, frame, r, &rgb, &width, &height)) return "no memory for overlays";
    snprintf(stem, sizeof stem, "%s/overlay/loop_%06" PRIu64, run->options->out, r->frame);
    return rgb ? picture_write(stem, rgb, width, height, 3) : NULL;
}

#if VFRONT_DENSE
static const char *write_disparities(const struct run *run, const vfront_result_t *r)
{
    char folder[4400];
    if (!run->options->out || outputs_no_pictures_of_disparities(run->options)) return NULL;
    snprintf(folder, sizeof folder, "%s/" DISPARITY_FOLDER, run->options->out);
    return disparity_write(folder, r->frame, &r->disparity);
}
#else
static const char *write_disparities(const struct run *run, const vfront_result_t *r)
{
    (void)run;
    (void)r;
    return NULL;
}
#endif

static int take_motion(struct run *run, uint32_t index, const vfront_result_t *r)
{
    pose_t truth;
    const int known = dataset_truth(run->dataset, index, &run->seen, &truth);
    return motion_add(&run->motion, r, known ? &truth : NULL);
}

static int take_state(struct run *run, uint32_t index, const vfront_result_t *r)
{
    const int has = state_is_valid(r->nav.state);
    const int64_t by_ns = has ? (int64_t)(r->nav.t_ns - r->t_ns) : dataset_rig(run->dataset)->imu_offset_ns;
    dataset_state_t truth;
    if (!run->has_states) return 1;
    const int known = dataset_truth_imu(run->dataset, index, by_ns, &truth);
    return state_add(&run->states, r->t_ns, &r->nav, known ? &truth : NULL, dataset_has_up(run->dataset));
}

/** Row of faults.csv. `result` is NULL for a frame that was not taken. */
static int log_frame(struct run *run, uint32_t index, uint64_t t_ns, const char *status, const vfront_result_t *result)
{
    if (!run->fault_log) return CONTINUE;
    const char *error = fault_log_row(run->fault_log, index, t_ns, fault_names(run->injector), status, result);
    return error ? message(EXIT_FAILED, "%s", error) : CONTINUE;
}

/** 1 for a status that concerns this frame alone: the next one can be taken. */
static int is_refusal(vfront_status_t status)
{
    switch (status) {
    case VFRONT_E_SIZE:
    case VFRONT_E_PITCH:
    case VFRONT_E_ALIGN:
    case VFRONT_E_FORMAT:
    case VFRONT_E_MEMORY_KIND:
    case VFRONT_E_MASK:
    case VFRONT_E_TIME:
    case VFRONT_E_GYRO:
    case VFRONT_E_IMU:
    case VFRONT_E_PRIOR: return 1;
    default: return 0;
    }
}

/** A frame that was not accepted: counted, and reported unless the one before was refused for the same reason. */
static int refuse(struct run *run, uint32_t index, uint64_t t_ns, vfront_status_t status)
{
    const int known = is_refusal(status), again = known && status == run->last;
    if (!again)
        message(CONTINUE, "%s: frame %" PRIu32 ": vfront_step: %s: %s", run->options->dataset, index,
                vfront_status_name(status), vfront_detail(&vf));
    if (!known) return EXIT_FAILED;
    if (status == VFRONT_E_GYRO || status == VFRONT_E_IMU) gyro_queue_clear(&run->gyro);
    export_log(run->exported, t_ns, 1, vfront_detail(&vf));
    summary_refuse(&run->summary, status);
    return log_frame(run, index, t_ns, vfront_status_name(status), NULL);
}

/** Reports, once, at which frame the host port took over from the GPU, and why. */
static void report_failover(struct run *run, uint32_t index, const vfront_result_t *result)
{
    vfront_info_t info;
    if (!result->timing.failed_over) return;
    if (!run->summary.failed_over && vfront_info(&vf, &info) == VFRONT_OK)
        message(CONTINUE, "%s: frame %" PRIu32 ": the host port took over: %s", run->options->dataset, index,
                info.failover);
    run->summary.failed_over++;
}

/** Into the file of --export mcap: with the pose of the state, or else that of the path. */
static void export_taken(const struct run *run, const vfront_frame_t *frame, const vfront_result_t *result)
{
    const state_frame_t *state = run->has_states ? state_last(&run->states) : NULL;
    if (!run->exported) return;
    if (state && state->has_state)
        export_frame(run->exported, frame, result, &state->pose, 1);
    else
        export_frame(run->exported, frame, result, state ? NULL : &motion_last(&run->motion)->pose, 0);
}

/** Frame that the front end took: into all outputs. */
static int take(struct run *run, uint32_t index, const vfront_frame_t *frame, const vfront_result_t *result)
{
    const char *error = NULL;
    gyro_queue_clear(&run->gyro);
    report_failover(run, index, result);
    if (!summary_add(&run->summary, result))
        return message(EXIT_FAILED, "no memory for the times of %" PRIu32 " frames", index);
    if (!take_motion(run, index, result))
        return message(EXIT_FAILED, "no memory for the path of %" PRIu32 " frames", index);
    if (!take_state(run, index, result))
        return message(EXIT_FAILED, "no memory for the states of %" PRIu32 " frames", index);
    if (VFRONT_MAP && run->options->tuning.map && !map_plot_add(&run->map, result))
        return message(EXIT_FAILED, "no memory for the map of %" PRIu32 " frames", index);
    if (run->has_states) correction_add(&run->states.corrections, &dataset_rig(run->dataset)->imu, frame, result);
    const state_frame_t *state = run->has_states ? state_last(&run->states) : NULL;
    if (run->results) error = results_frame(run->results, result, motion_last(&run->motion), state);
    if (!error) error = write_disparities(run, result);
    if (!error && run->overlay) error = draw(run, frame, result);
    if (error) return message(EXIT_FAILED, "%s", error);
    export_taken(run, frame, result);
    if (run->options->view) live_view(run->rectified, frame, result);
    print_progress(run, result);
    return log_frame(run, index, frame->t_ns, "ok", result);
}

/** The map that was loaded before the frame, in the run that was recorded. */
static vfront_status_t load_recorded_map(const struct run *run, uint32_t index, uint64_t t_ns)
{
    const uint8_t *image;
    size_t bytes;
    reader_t *reader = dataset_recording(run->dataset);
    const char *error = reader ? reader_map(reader, index, &image, &bytes) : NULL;
    if (error) message(CONTINUE, "%s", error);
    if (!reader || error || !image) return VFRONT_OK;
    recorder_map(run->recorder, t_ns, image, bytes);
    return vfront_map_load(&vf, image, bytes);
}

/** One step. With --pairs each frame begins anew, and its result gets the number that it would have had. */
static vfront_status_t run_step(const struct run *run, uint32_t index, const vfront_frame_t *frame,
                                const vfront_result_t **result)
{
    static vfront_result_t numbered;
    const int anew = (run->options->pairs && run->summary.frames) || dataset_after_reset(run->dataset);
    vfront_status_t status = anew ? vfront_reset(&vf) : VFRONT_OK;
    if (!status) status = load_recorded_map(run, index, frame->t_ns);
    recorder_frame(run->recorder, frame, anew);
    if (!status) status = vfront_step(&vf, frame, result);
    recorder_result(run->recorder, frame->t_ns, status, status ? NULL : *result);
    if (status || !run->options->pairs) return status;
    numbered = **result;
    numbered.frame = run->summary.frames;
    *result = &numbered;
    return status;
}

/** Compares with the recording that is read. */
static int compare(struct run *run, uint32_t index, vfront_status_t status, const vfront_result_t *result)
{
    const char *notice, *error = check_frame(&run->check, index, status, result, &notice);
    if (notice) message(CONTINUE, "%s: %s", run->options->dataset, notice);
    return error ? message(EXIT_FAILED, "%s", error) : CONTINUE;
}

static int deliver(struct run *run, uint32_t index, const vfront_frame_t *frame)
{
    const vfront_result_t *result = NULL;
    const vfront_status_t status = run_step(run, index, frame, &result);
    int code = compare(run, index, status, status ? NULL : result);
    if (code == CONTINUE) code = status ? refuse(run, index, frame->t_ns, status) : take(run, index, frame, result);
    const char *trouble = run->recorder_failed ? NULL : recorder_trouble(run->recorder);
    if (trouble) message(CONTINUE, "%s: the recording ends, the run goes on", trouble);
    run->recorder_failed |= trouble != NULL;
    run->last = status;
    return code;
}

/** Put the faults of the script into a frame. Returns how often it is delivered; -1: the injector cannot take it. */
static int put_faults(struct run *run, vfront_frame_t *frame)
{
    if (!run->injector) return 1;
    const int deliveries = fault_apply(run->injector, frame);
    if (deliveries < 0) return deliveries;
    run->summary.faulty += *fault_names(run->injector) != 0;
    run->summary.not_delivered += deliveries == 0;
    run->summary.twice += deliveries == 2;
    return deliveries;
}

static int step(struct run *run, uint32_t index)
{
    vfront_frame_t frame;
    int code = CONTINUE;
    const char *error = dataset_read(run->dataset, index, &frame);
    if (error) return message(EXIT_FAILED, "%s", error);
    if (dataset_has_ended(run->dataset)) {
        run->frames = index;
        return CONTINUE;
    }
    if (run->options->no_gyro) {
        frame.gyro = NULL;
        frame.imu = NULL;
        frame.gyro_count = frame.imu_count = 0;
    }
    const int deliveries = put_faults(run, &frame);
    if (deliveries < 0)
        return message(EXIT_FAILED,
                       "%s: frame %" PRIu32 ": --fault takes pictures of the rig's size in host memory only",
                       run->options->dataset, index);
    if (!dataset_recording(run->dataset) || run->injector) gyro_queue_add(&run->gyro, &frame); /* recorded as given */
    if (run->injector && *fault_names(run->injector)) {
        recorder_text(run->recorder, CHUNK_FAULT, frame.t_ns, fault_names(run->injector));
        export_log(run->exported, frame.t_ns, 0, fault_names(run->injector));
    }
    if (!deliveries) code = log_frame(run, index, frame.t_ns, "dropped", NULL);
    for (int i = 0; i < deliveries && code == CONTINUE; i++) code = deliver(run, index, &frame);
    return code;
}

/** Ask for states where all that they need is there, unless --set vio=0, for which the rendered flight has a gyro. */
static void ask_for_states(struct run *run)
{
    struct options *o = run->options;
    reader_t *recording = dataset_recording(run->dataset);
    if (recording) options_take_tuning(o, &reader_header(recording)->tuning);
    check_open(&run->check, recording, options_another_run(o), &o->tuning);
    if (o->tuning.vio || !o->vio_given) dataset_use_imu(run->dataset);
    run->has_states = !outputs_no_state(o, run->dataset);
    o->tuning.vio = run->has_states;
}

/** vfront_init(). Where nobody set deadline_us, that of the host port is the time from one frame to the next. */
static vfront_status_t init(struct run *run)
{
    struct options *o = run->options;
    const vfront_rig_t *rig = dataset_rig(run->dataset);
    const int is_given = dataset_recording(run->dataset) || options_sets(o, "deadline_us");
    vfront_info_t info;
    vfront_status_t status = vfront_init(&vf, rig, &o->tuning, o->port);
    if (status || is_given || vfront_info(&vf, &info) || info.port != VFRONT_PORT_HOST) return status;
    o->tuning.deadline_us = dataset_interval_us(run->dataset);
    vfront_shutdown(&vf);
    return vfront_init(&vf, rig, &o->tuning, VFRONT_PORT_HOST);
}

static int open_front_end(struct run *run)
{
    const struct options *o = run->options;
    vfront_info_t info;
    const vfront_status_t status = init(run);
    if (!status) {
        vfront_info(&vf, &info);
        if (o->tuning.failover && info.port == VFRONT_PORT_HOST)
            message(CONTINUE, "%s: failover has no effect: this is the host port already", o->dataset);
        return CONTINUE;
    }
    return message(status == VFRONT_E_TUNING ? EXIT_USAGE : EXIT_FAILED, "%s: vfront_init: %s: %s", o->dataset,
                   vfront_status_name(status), vfront_detail(&vf));
}

static const char *make_folder(const struct options *o, const char *name)
{
    char folder[4400];
    snprintf(folder, sizeof folder, "%s/%s", o->out, name);
    return results_folder(folder);
}

/** Rectified pictures, for overlays and the page. */
static const char *open_rectified(struct run *run)
{
    vfront_info_t info;
    vfront_info(&vf, &info);
    if (!info.rectified || !(run->options->overlay || run->options->view)) return NULL;
    run->rectified = rectified_open(dataset_rig(run->dataset), info.camera);
    return run->rectified ? NULL : "no memory for rectified pictures";
}

static const char *open_overlay(struct run *run)
{
    const vfront_rig_t *rig = dataset_rig(run->dataset);
    vfront_info_t info;
    const char *error = make_folder(run->options, "overlay");
    if (error) return error;
    vfront_info(&vf, &info);
    run->drawn = outputs_to_draw(run->options, rig);
    run->overlay = overlay_open(&info, rig->cameras, run->drawn, &run->options->tuning);
    if (VFRONT_MAP && run->options->tuning.map && !(run->loops = loop_overlay_open(&info.camera[0])))
        return "no memory for overlays";
    return run->overlay ? NULL : "no memory for overlays";
}

/** Files of --export. */
static const char *open_exports(struct run *run)
{
    const struct options *o = run->options;
    char path[4400];
    const char *error = NULL;
    if (o->exports & EXPORT_CSV) {
        snprintf(path, sizeof path, "%s/recording", o->out);
        if (!dataset_recording(run->dataset)) return "--export csv: there is no recording to take it from";
        error = results_folder(path);
        if (!error) error = tables_write(dataset_recording(run->dataset), path);
    }
    if (error || !(o->exports & EXPORT_MCAP)) return error;
    snprintf(path, sizeof path, "%s/replay.mcap", o->out);
    return export_open(&run->exported, path, dataset_rig(run->dataset));
}

static int open_outputs(struct run *run)
{
    const struct options *o = run->options;
    const vfront_rig_t *rig = dataset_rig(run->dataset);
    vfront_info_t info;
    vfront_info(&vf, &info);
    run->seen = info.camera[0];
    run->summary.matches_wanted = outputs_has_matches(o);
    run->summary.far_cm = 100u * (uint32_t)o->tuning.stixel_far_m;
    motion_start(&run->motion, outputs_metric_motion(o, rig), dataset_has_truth(run->dataset));
    outputs_warn(o, rig);
    const char *error = open_rectified(run);
    if (!error && o->view) error = live_view_open(o->view);
    if (error) return message(EXIT_FAILED, "%s", error);
    if (!o->out) return CONTINUE;
    error = results_open(&run->results, o->out, rig->cameras, outputs_to_write(o, run->dataset));
    if (!error && !outputs_no_pictures_of_disparities(o)) error = make_folder(o, DISPARITY_FOLDER);
    if (!error && o->overlay) error = open_overlay(run);
    if (!error) error = open_exports(run);
    if (!error && run->injector) error = fault_log_open(&run->fault_log, o->out);
    return error ? message(EXIT_FAILED, "%s", error) : CONTINUE;
}

/** Begin to record, with the rig and the tuning that vfront_init() was given. */
static int open_recorder(struct run *run)
{
    const struct options *o = run->options;
    static recording_header_t header;
    vfront_info_t info;
    if (!o->record) return CONTINUE;
    vfront_info(&vf, &info);
    header_make(&header, "replay", o->dataset, dataset_rig(run->dataset), &o->tuning, &info);
    const char *error = recorder_open(&run->recorder, o->record, o->record_bytes, &header);
    return error ? message(EXIT_FAILED, "%s", error) : CONTINUE;
}

static int close_recorder(struct run *run)
{
    recorder_counts_t n;
    recorder_counts(run->recorder, &n);
    if (n.frames_lost | n.others_lost)
        message(CONTINUE, "%s: the disk was too slow: %" PRIu32 " frames and %" PRIu32 " other chunks are not recorded",
                run->options->record, n.frames_lost, n.others_lost);
    const char *error = recorder_close(run->recorder);
    run->recorder = NULL;
    if (error && !run->recorder_failed) message(CONTINUE, "%s", error);
    return error ? EXIT_FAILED : CONTINUE;
}

static const char *open_faults(struct run *run)
{
    const char *path = run->options->fault, *error = path ? fault_script_read(&run->script, path) : NULL;
    if (!path || error) return error;
    for (uint32_t i = 0; i < run->script.count; i++)
        if (fault_needs_bench(&run->script.fault[i])) return "--fault: faults of link, cpu and gpu need hil-bench";
    return fault_open(&run->injector, &run->script, path, dataset_rig(run->dataset));
}

static int open_run(struct run *run)
{
    const struct options *o = run->options;
    const char *error = dataset_open(&run->dataset, o->dataset, o->mono ? 1 : VFRONT_CAMERAS, o->calibration, o->truth,
                                     &o->render);
    if (!error && o->render_given && !dataset_is_course(run->dataset))
        return message(EXIT_USAGE, "--render: %s is no trajectory", o->dataset);
    if (!error) error = open_faults(run);
    if (error) return message(EXIT_FAILED, "%s", error);
    run->frames = dataset_frames(run->dataset);
    if (!run->frames) run->frames = o->frames ? o->frames : dataset_is_live(run->dataset) ? UINT32_MAX : ENDLESS_FRAMES;
    if (o->frames && o->frames < run->frames) run->frames = o->frames;
    if (o->first_run) options_show_all(run->options);
    ask_for_states(run);
    int code = open_front_end(run);
    if (code == CONTINUE && o->map_load) code = map_file_load(&vf, o->map_load);
    if (code == CONTINUE) code = open_recorder(run);
    return code == CONTINUE ? open_outputs(run) : code;
}

/** Close all that is open; files written so far stay. Returns the exit code. */
static int close_run(struct run *run, int code)
{
    const int recorded = close_recorder(run);
    if (code == CONTINUE) code = recorded;
    const char *error = results_close(run->results);
    if (error && code == CONTINUE) code = message(EXIT_FAILED, "%s", error);
    error = export_close(run->exported);
    if (error && code == CONTINUE) code = message(EXIT_FAILED, "%s", error);
    error = fault_log_close(run->fault_log);
    if (error && code == CONTINUE) code = message(EXIT_FAILED, "%s", error);
    fault_close(run->injector);
    fault_script_free(&run->script);
    overlay_close(run->overlay);
    loop_overlay_close(run->loops);
    rectified_close(run->rectified);
    if (run->options->view) live_view_close();
    dataset_close(run->dataset);
    vfront_shutdown(&vf);
    trajectory_free(&run->motion.trajectory);
    state_free(&run->states);
    map_plot_free(&run->map);
    summary_free(&run->summary);
    if ((fflush(stdout) || ferror(stdout)) && code == CONTINUE)
        code = message(EXIT_FAILED, "standard output: %s", strerror(errno));
    return code == CONTINUE ? EXIT_DONE : code;
}

/** Plot of the trajectory, after the last frame. */
static int draw_trajectory(struct run *run)
{
    const struct options *o = run->options;
    motion_t *m = &run->motion;
    char path[4400], title[240];
    if (!o->out || outputs_no_motion(o, dataset_rig(run->dataset))) return CONTINUE;
    snprintf(path, sizeof path, "%s/trajectory.svg", o->out);
    snprintf(title, sizeof title, "%.80s (%s), %" PRIu64 " frames, %s", o->dataset, dataset_kind(run->dataset),
             run->summary.frames, m->trajectory.metric ? "two cameras" : "one camera");
    state_put_on_path(&run->states, &run->seen, &m->trajectory);
    const char *error = plot_write(path, title, &m->trajectory, m->compared ? &m->accuracy : NULL);
    return error ? message(EXIT_FAILED, "%s", error) : CONTINUE;
}

/** Plot of the states, after the last frame. */
static int draw_states(const struct run *run)
{
    const struct options *o = run->options;
    char path[4400], title[240];
    if (!o->out || !run->states.with_state) return CONTINUE;
    snprintf(path, sizeof path, "%s/state.svg", o->out);
    snprintf(title, sizeof title, "%.80s (%s), %" PRIu32 " of %" PRIu32 " frames with a state", o->dataset,
             dataset_kind(run->dataset), run->states.with_state, run->states.count);
    const char *error = state_plot(path, title, &run->states);
    return error ? message(EXIT_FAILED, "%s", error) : CONTINUE;
}

/** Plot of the map, after the last frame. */
static int draw_map(const struct run *run)
{
    const struct options *o = run->options;
    char path[4400], title[240];
    if (!o->out || !run->map.count) return CONTINUE;
    snprintf(path, sizeof path, "%s/map.svg", o->out);
    snprintf(title, sizeof title, "%.80s (%s), %" PRIu32 " frames", o->dataset, dataset_kind(run->dataset),
             run->map.count);
    const char *error = map_plot_write(path, title, &run->map);
    return error ? message(EXIT_FAILED, "%s", error) : CONTINUE;
}

/** Path in the map, after the last frame. */
static int write_map_trajectory(const struct run *run)
{
    char path[4400];
    if (!run->options->out || !run->map.count) return CONTINUE;
    snprintf(path, sizeof path, "%s/trajectory_map.txt", run->options->out);
    return map_trajectory_write(&vf, path, &run->map);
}

/** Exit code of a run whose frames are over: frames refused without a script are faults of the data. */
static int exit_code(const struct run *run)
{
    const uint32_t refused = summary_refused(&run->summary);
    if (!run->summary.frames) return message(EXIT_FAILED, "%s: not one frame was taken", run->options->dataset);
    if (run->check.reader) return run->check.differ ? EXIT_FAILED : CONTINUE; /* refused frames were recorded */
    return refused && !run->injector ? EXIT_FAILED : CONTINUE;
}

/** Reports pictures that are taken for a sequence and seem to be none. */
static void warn_no_sequence(const struct run *run)
{
    const struct summary *t = &run->summary;
    if (run->injector || !summary_no_sequence(t)) return;
    message(CONTINUE,
            "%s: hardly anything is followed from one picture to the next, in %" PRIu32 " of %" PRIu32
            " steps: with --pairs single pictures, or pairs, are taken for what they are",
            run->options->dataset, t->steps_lost, t->steps);
}

/** The last line of the summary. */
static void print_found(const struct run *run)
{
    found_t found;
    vfront_info_t info;
    vfront_info(&vf, &info);
    found_of(&found, &run->summary, &run->motion, &run->states,
             outputs_no_motion(run->options, dataset_rig(run->dataset)), outputs_no_state(run->options, run->dataset),
             dataset_rig(run->dataset)->cameras);
    found_print(&found, info.port == VFRONT_PORT_CUDA ? info.device : NULL);
}

/** Summary and plots, after the last frame. */
static int report(struct run *run)
{
    state_accuracy_t accuracy;
    print_progress(run, NULL);
    motion_finish(&run->motion);
    const int compared = run->has_states && state_accuracy_of(&run->states, &accuracy);
    summary_print(&vf, run->options, run->dataset, &run->summary, &run->motion, &run->states,
                  compared ? &accuracy : NULL);
    check_print(&run->check);
    print_found(run);
    warn_no_sequence(run);
    const int path = draw_trajectory(run), states = draw_states(run), map = draw_map(run),
              map_trajectory = write_map_trajectory(run);
    return path != CONTINUE ? path : states != CONTINUE ? states : map != CONTINUE ? map : map_trajectory;
}

int main(int count, char **word)
{
    struct options options;
    static struct run run;
    run.options = &options;
    live_begin();
    int code = options_read(&options, count, word);
    if (code == CONTINUE) code = open_run(&run);
    for (uint32_t i = 0; i < run.frames && code == CONTINUE; i++) code = step(&run, i);
    if (code == CONTINUE) code = exit_code(&run);
    if (run.summary.frames) {
        const int reported = report(&run);
        if (code == CONTINUE) code = reported;
    }
    if (code == CONTINUE && options.map_save) code = map_file_save(&vf, options.map_save);
    return close_run(&run, code);
}
