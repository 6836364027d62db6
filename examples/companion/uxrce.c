/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* CLOCK_REALTIME */
#include "uxrce.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "examples/common/message.h"

#ifdef HAVE_DDS
#include <dds/dds.h>
#endif

enum { LOCAL_NED = 1, POSE_NED = 1, POSE_FRD = 2, VELOCITY_BODY_FRD = 3 }; /* of MAVLink; of VehicleOdometry */
enum { X = 0, Y = 6, Z = 11, ROLL = 15, PITCH = 18, YAW = 20 }; /* variances in the covariances of ODOMETRY */

static const char prefix[] = "dds:";

int uxrce_is(const char *specification) { return strncmp(specification, prefix, sizeof prefix - 1) == 0; }

static void set3(float out[3], float a, float b, float c)
{
    out[0] = a;
    out[1] = b;
    out[2] = c;
}

void uxrce_convert(uxrce_odometry_t *out, const mavlink_message_t *message, uint64_t now_us, int64_t ahead_us)
{
    const float *pose = message->as.odometry.pose_covariance, *motion = message->as.odometry.velocity_covariance;
    memset(out, 0, sizeof *out);
    out->timestamp = now_us;
    out->timestamp_sample = message->as.odometry.time_usec[0] + (uint64_t)ahead_us;
    out->pose_frame = message->as.odometry.frame_id[0] == LOCAL_NED ? POSE_NED : POSE_FRD;
    set3(out->position, message->as.odometry.x[0], message->as.odometry.y[0], message->as.odometry.z[0]);
    memcpy(out->q, message->as.odometry.q, sizeof out->q);
    out->velocity_frame = VELOCITY_BODY_FRD;
    set3(out->velocity, message->as.odometry.vx[0], message->as.odometry.vy[0], message->as.odometry.vz[0]);
    set3(out->angular_velocity, message->as.odometry.rollspeed[0], message->as.odometry.pitchspeed[0],
         message->as.odometry.yawspeed[0]);
    set3(out->position_variance, pose[X], pose[Y], pose[Z]);
    set3(out->orientation_variance, pose[ROLL], pose[PITCH], pose[YAW]);
    set3(out->velocity_variance, motion[X], motion[Y], motion[Z]);
    out->reset_counter = message->as.odometry.reset_counter[0];
    out->quality = message->as.odometry.quality[0];
}

#ifdef HAVE_DDS

#define AT(field) offsetof(uxrce_odometry_t, field)
#define REALS (DDS_OP_ADR | DDS_OP_TYPE_ARR | DDS_OP_SUBTYPE_4BY | DDS_OP_FLAG_FP)
#define BYTE (DDS_OP_ADR | DDS_OP_TYPE_1BY)
#define STAMP (DDS_OP_ADR | DDS_OP_TYPE_8BY)

/** What is serialized, as idlc would have it; the topic has the type's name alone, as those of the client have. */
/* clang-format off */
static const uint32_t fields[] = {
    STAMP, AT(timestamp),
    STAMP, AT(timestamp_sample),
    BYTE, AT(pose_frame),
    REALS, AT(position), 3,
    REALS, AT(q), 4,
    BYTE, AT(velocity_frame),
    REALS, AT(velocity), 3,
    REALS, AT(angular_velocity), 3,
    REALS, AT(position_variance), 3,
    REALS, AT(orientation_variance), 3,
    REALS, AT(velocity_variance), 3,
    BYTE, AT(reset_counter),
    BYTE | DDS_OP_FLAG_SGN, AT(quality),
    DDS_OP_RTS
};
/* clang-format on */

static const dds_topic_descriptor_t type = {.m_size = sizeof(uxrce_odometry_t),
                                            .m_align = _Alignof(uxrce_odometry_t),
                                            .m_flagset = DDS_TOPIC_FIXED_SIZE,
                                            .m_typename = "px4_msgs::msg::dds_::VehicleOdometry_",
                                            .m_nops = 14,
                                            .m_ops = fields,
                                            .m_meta = ""};

/** As the reader of PX4's client: best effort, volatile, the last sample. NULL: no memory. */
static dds_qos_t *quality_of_service(void)
{
    static const dds_data_representation_id_t plain = DDS_DATA_REPRESENTATION_XCDR1;
    dds_qos_t *qos = dds_create_qos();
    if (!qos) return NULL;
    dds_qset_reliability(qos, DDS_RELIABILITY_BEST_EFFORT, 0);
    dds_qset_durability(qos, DDS_DURABILITY_VOLATILE);
    dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 1);
    dds_qset_writer_data_lifecycle(qos, false); /* its end is no sample */
    dds_qset_data_representation(qos, 1, &plain);
    return qos;
}

static int32_t create_writer(int32_t participant)
{
    dds_qos_t *qos = quality_of_service();
    int32_t made = dds_create_topic(participant, &type, "rt/fmu/in/vehicle_visual_odometry", qos, NULL);
    if (made > 0) made = dds_create_writer(participant, made, qos, NULL);
    dds_delete_qos(qos);
    return made;
}

static const char *create(uxrce_t *u, const char *name, uint32_t domain)
{
    u->participant = dds_create_participant(domain, NULL, NULL);
    if (u->participant < 0)
        return message_text("--link %s: no participant of DDS: %s", name, dds_strretcode(u->participant));
    u->writer = create_writer(u->participant);
    return u->writer > 0 ? NULL : message_text("--link %s: no writer of DDS: %s", name, dds_strretcode(u->writer));
}

void uxrce_close(uxrce_t *u)
{
    if (u->participant > 0) dds_delete(u->participant); /* and all that is of it */
    u->participant = u->writer = 0;
}

int uxrce_has_reader(const uxrce_t *u)
{
    dds_publication_matched_status_t status;
    return u->writer > 0 && dds_get_publication_matched_status(u->writer, &status) == 0 && status.current_count > 0;
}

static int write_odometry(const uxrce_t *u, const uxrce_odometry_t *odometry)
{
    return dds_write(u->writer, odometry) == 0;
}

#else

static const char *create(uxrce_t *u, const char *name, uint32_t domain)
{
    (void)u;
    (void)domain;
    return message_text("--link %s: this build has no Cyclone DDS, package cyclonedds-dev", name);
}

void uxrce_close(uxrce_t *u) { (void)u; }

int uxrce_has_reader(const uxrce_t *u)
{
    (void)u;
    return 0;
}

static int write_odometry(const uxrce_t *u, const uxrce_odometry_t *odometry)
{
    (void)u;
    (void)odometry;
    return 0;
}

#endif

const char *uxrce_open(uxrce_t *u, link_t *l, const char *specification)
{
    char *end;
    const char *text = specification + sizeof prefix - 1;
    memset(l, 0, sizeof *l);
    memset(u, 0, sizeof *u);
    l->fd = l->last_sequence = l->last_sender = -1;
    snprintf(l->name, sizeof l->name, "%.95s", specification);
    const unsigned long domain = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || domain > UXRCE_DOMAIN_MAX)
        return message_text("--link %s: not dds:DOMAIN, 0..%d", l->name, UXRCE_DOMAIN_MAX);
    const char *fault = create(u, l->name, (uint32_t)domain);
    if (fault)
        uxrce_close(u);
    else
        l->kind = LINK_DDS;
    return fault;
}

static uint64_t realtime_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int uxrce_send(const uxrce_t *u, link_t *l, const mavlink_message_t *message)
{
    uxrce_odometry_t odometry;
    uint8_t frame[MAVLINK_FRAME_MAX];
    mavlink_message_t m = *message;
    if (m.id != MAVLINK_ODOMETRY) return 0;
    l->states++;
    const uint64_t now_ns = clock_ns(), unix_ns = realtime_ns();
    uxrce_convert(&odometry, &m, unix_ns / 1000u, (int64_t)(unix_ns - now_ns) / 1000);
    if (!write_odometry(u, &odometry)) return l->errors++, 0;
    m.sequence = l->sequence++;
    recorder_mavlink(l->recorder, now_ns, l->number, 1, frame, mavlink_encode(frame, &m));
    l->sent++;
    l->sent_bytes += sizeof odometry;
    l->states_sent++;
    l->state_age_ns = now_ns - m.as.odometry.time_usec[0] * 1000u;
    return 1;
}
