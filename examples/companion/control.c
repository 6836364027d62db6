/* SPDX-License-Identifier: MIT */
#include "control.h"

#include <string.h>

#include "peer.h"

/* Values of MAVLink's enumerations. */
enum { TYPE_REAL32 = 9, RESULT_ACCEPTED = 0, RESULT_DENIED = 2, RESULT_UNSUPPORTED = 3 };

/** A setting and its range. */
static const struct setting {
    const char name[CONTROL_NAME];
    double min, max;
    int is_whole;
} settings[CONTROL_SETTINGS] = {[CONTROL_RATE] = {"VF_RATE", 1.0, 100.0, 0},
                                [CONTROL_CARRY] = {"VF_CARRY", 0.0, 1.0, 1},
                                [CONTROL_VISION_POSITION] = {"VF_VISION_POS", 0.0, 1.0, 1},
                                [CONTROL_STAMP_MS] = {"VF_STAMP_MS", 0.0, 100.0, 0},
                                [CONTROL_ANSWERS] = {"VF_ANSWERS", -1.0, 100000.0, 1},
                                [CONTROL_IMU_DELAY_MS] = {"VF_IMU_DELAY_MS", -1.0, 200.0, 0},
                                [CONTROL_IMU_HZ] = {"VF_IMU_HZ", 10.0, 1000.0, 0},
                                [CONTROL_OBSTACLES_M] = {"VF_OBSTACLES_M", 0.1, 50.0, 0},
                                [CONTROL_LATITUDE] = {"VF_ORIGIN_LAT", -90.0, 90.0, 0},
                                [CONTROL_LONGITUDE] = {"VF_ORIGIN_LON", -180.0, 180.0, 0},
                                [CONTROL_ALTITUDE] = {"VF_ORIGIN_ALT", -1000.0, 100000.0, 0}};

const char *control_name(control_setting_t setting) { return settings[setting].name; }

static void fill_value(const control_t *c, int at, mavlink_message_t *out)
{
    memset(out, 0, sizeof *out);
    out->id = MAVLINK_PARAM_VALUE;
    out->as.param_value.param_value[0] = (float)c->value[at];
    out->as.param_value.param_count[0] = CONTROL_SETTINGS;
    out->as.param_value.param_index[0] = (uint16_t)at;
    memcpy(out->as.param_value.param_id, settings[at].name, sizeof out->as.param_value.param_id);
    out->as.param_value.param_type[0] = TYPE_REAL32;
}

/** Setting of a name that ends with its 16 bytes, or with a zero; -1: none. */
static int find(const char name[16])
{
    for (int i = 0; i < CONTROL_SETTINGS; i++)
        if (strncmp(settings[i].name, name, 16) == 0) return i;
    return -1;
}

/** 1: it is for this program; `all`: or for all of the vehicle. */
static int is_for_us(uint8_t system, uint8_t component, uint8_t ours, int all)
{
    return system == ours && (component == PEER_COMPONENT || (all && !component));
}

static control_result_t take_command(control_t *c, const mavlink_message_t *m, int may, mavlink_message_t *out)
{
    const int is_reset = m->as.command.command[0] == CONTROL_RESET;
    memset(out, 0, sizeof *out);
    out->id = MAVLINK_COMMAND_ACK;
    out->as.ack.command[0] = m->as.command.command[0];
    out->as.ack.result[0] = !may ? RESULT_DENIED : is_reset ? RESULT_ACCEPTED : RESULT_UNSUPPORTED;
    out->as.ack.target_system[0] = m->system;
    out->as.ack.target_component[0] = m->component;
    if (may && is_reset) c->is_reset_wanted = 1;
    c->refused += !may;
    return may && is_reset ? CONTROL_RESETS : CONTROL_NOTHING;
}

/** The answer is the value in force, whatever became of it. */
static control_result_t take_setting(control_t *c, const mavlink_message_t *m, int is_armed, mavlink_message_t *out,
                                     int *count, control_setting_t *setting)
{
    const int at = find(m->as.param_set.param_id);
    const double value = (double)m->as.param_set.param_value[0];
    if (at < 0) return CONTROL_NOTHING;
    const struct setting *s = &settings[at];
    const int is_fixed = at == CONTROL_OBSTACLES_M && (!(c->value[at] > 0.0) || !(value > 0.0)); /* as it began */
    const int is_good = !is_armed && !is_fixed && value >= s->min && value <= s->max &&
                        (!s->is_whole || value == (double)(int)value);
    const int is_new = is_good && value != c->value[at];
    if (is_good) c->value[at] = value;
    c->refused += !is_good;
    *setting = (control_setting_t)at;
    fill_value(c, at, out);
    *count = 1;
    return is_new ? CONTROL_CHANGED : is_good ? CONTROL_NOTHING : CONTROL_REFUSED;
}

static void take_request(const control_t *c, const mavlink_message_t *m, mavlink_message_t *out, int *count)
{
    const int index = m->as.param_read.param_index[0], at = index < 0 ? find(m->as.param_read.param_id) : index;
    if (at < 0 || at >= CONTROL_SETTINGS) return;
    fill_value(c, at, out);
    *count = 1;
}

control_result_t control_receive(control_t *c, const mavlink_message_t *m, const control_sender_t *sender,
                                 mavlink_message_t out[CONTROL_MESSAGES], int *count, control_setting_t *setting)
{
    const int may = sender->is_autopilot || m->is_signed;
    const uint8_t ours = sender->system;
    *count = 0;
    switch (m->id) {
    case MAVLINK_COMMAND_LONG:
        if (!is_for_us(m->as.command.target_system[0], m->as.command.target_component[0], ours, 0)) break;
        *count = 1;
        return take_command(c, m, may, out);
    case MAVLINK_PARAM_SET:
        if (!is_for_us(m->as.param_set.target_system[0], m->as.param_set.target_component[0], ours, 0)) break;
        if (may) return take_setting(c, m, sender->is_armed, out, count, setting);
        c->refused++;
        break;
    case MAVLINK_PARAM_REQUEST_READ:
        if (may && is_for_us(m->as.param_read.target_system[0], m->as.param_read.target_component[0], ours, 0))
            take_request(c, m, out, count);
        break;
    case MAVLINK_PARAM_REQUEST_LIST:
        if (may && is_for_us(m->as.param_list.target_system[0], m->as.param_list.target_component[0], ours, 1))
            c->listed[sender->link] = 1;
        break;
    default: break;
    }
    return CONTROL_NOTHING;
}

int control_next(control_t *c, int link, mavlink_message_t *out)
{
    if (!c->listed[link]) return 0;
    fill_value(c, c->listed[link] - 1, out);
    c->listed[link] = c->listed[link] == CONTROL_SETTINGS ? 0 : c->listed[link] + 1;
    return 1;
}
