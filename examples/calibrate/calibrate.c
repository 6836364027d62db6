/* SPDX-License-Identifier: MIT
 *
 * calibrate: checks a calibration on a recording: cameras with each other, with the gyro, with the accelerometer.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accel_check.h"
#include "camera_check.h"
#include "chart.h"
#include "examples/common/message.h"
#include "gyro_check.h"

enum { EXIT_WRONG = 3 };

static const char help[] =
    "usage: calibrate [options] DATASET\n"
    "\n"
    "Check a calibration on a recording of one's own: what each value is by the recording, how sure that is, whether "
    "a\n"
    "good calibration can show so much, and what to do. examples/calibrate/README.md says how to record, and how to\n"
    "calibrate. DATASET is any that replay reads.\n"
    "\n"
    "  --calibration=FILE  instead of the data set's, as for replay\n"
    "  --out FILE.svg      write a picture of what was found\n"
    "  --frames N          stop after N frames\n"
    "  --mono              camera 0 only\n"
    "  --quiet             no progress line\n"
    "  --help              print this help\n"
    "\n"
    "exit code: 0 nothing is wrong, 1 data, disk or library failed, 2 wrong usage, 3 the calibration does not fit\n";

struct options {
    struct gather_options data;
    const char *out;
};

/** Value of an option: of `--name=value` or the next word; NULL: it is another option. */
static const char *value_of(const char *name, int count, char **word, int *i)
{
    const size_t length = strlen(name);
    if (strncmp(word[*i], name, length)) return NULL;
    if (word[*i][length] == '=') return word[*i] + length + 1;
    if (word[*i][length]) return NULL;
    return *i + 1 < count ? word[++*i] : "";
}

static int read_word(struct options *o, int count, char **word, int *i)
{
    const char *value;
    if (!strcmp(word[*i], "--mono"))
        o->data.mono = 1;
    else if (!strcmp(word[*i], "--quiet"))
        o->data.quiet = 1;
    else if ((value = value_of("--calibration", count, word, i)) != NULL)
        o->data.calibration = value;
    else if ((value = value_of("--out", count, word, i)) != NULL)
        o->out = value;
    else if ((value = value_of("--frames", count, word, i)) != NULL) {
        char *end;
        const long frames = strtol(value, &end, 10);
        if (*end || end == value || frames < 2 || frames > 10000000)
            return message(EXIT_USAGE, "--frames %s: a number from 2 to 10000000 is expected", value);
        o->data.frames = (uint32_t)frames;
    } else if (word[*i][0] == '-' || o->data.dataset)
        return message(EXIT_USAGE, "%s: unknown option, or a second DATASET; --help lists the options", word[*i]);
    else
        o->data.dataset = word[*i];
    return CONTINUE;
}

static int read_options(struct options *o, int count, char **word)
{
    int code = CONTINUE;
    memset(o, 0, sizeof *o);
    for (int i = 1; i < count; i++)
        if (!strcmp(word[i], "--help")) {
            fputs(help, stdout);
            return EXIT_DONE;
        }
    for (int i = 1; i < count && code == CONTINUE; i++) code = read_word(o, count, word, &i);
    if (code == CONTINUE &&
        (!o->data.dataset || (o->out && !*o->out) || (o->data.calibration && !*o->data.calibration)))
        code = message(EXIT_USAGE, "%s; --help lists the options",
                       o->data.dataset ? "an option lacks its value" : "no DATASET is given");
    return code;
}

int main(int count, char **word)
{
    static gathered_t data;
    static findings_t all;
    static camera_map_t map[2];
    struct options o;
    gyro_fit_t gyro;
    message_program = "calibrate";
    int code = read_options(&o, count, word);
    if (code != CONTINUE) return code;
    const char *error = gather(&data, &o.data);
    if (error) return message(EXIT_FAILED, "%s", error);
    printf("%s (%s): %" PRIu32 " frames, %.1f s, %zu correspondences between the cameras, %zu samples of the IMU\n",
           o.data.dataset, data.kind, data.frames, 1e-9 * (double)(data.to_ns - data.from_ns), data.pairs,
           data.samples);
    if (data.refused) printf("%" PRIu32 " frames were refused\n", data.refused);
    const int lost = camera_check(&all, &data, map);
    if (data.samples)
        gyro_check(&all, &data, &gyro);
    else {
        memset(&gyro, 0, sizeof gyro);
        finding_unknown(&all, "camera 0 and gyro",
                        "There are no samples of an IMU, or no pose of it in the calibration.",
                        "Record the IMU, too, and calibrate both together.");
    }
    accel_check(&all, &data, &gyro, !lost);
    const int wrong = findings_print(stdout, &all);
    if (o.out) error = chart_write(o.out, o.data.dataset, &data, &all, map, &gyro);
    free(gyro.attitude);
    free(data.pair);
    free(data.step);
    free(data.imu);
    if (error) return message(EXIT_FAILED, "%s", error);
    return wrong ? EXIT_WRONG : EXIT_DONE;
}
