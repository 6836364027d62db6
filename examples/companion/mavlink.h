/* SPDX-License-Identifier: MIT
 *
 * MAVLink 2: the messages between a companion and an autopilot, encoder and parser. Fields, their order on the wire and
 * the extra byte of the checksum are those of common.xml, of EKF_STATUS_REPORT of ardupilotmega.xml; meanings and units
 * of fields are in those documents.
 *
 * Frame: 0xFD, length, incompatibility flags, compatibility flags, sequence, system, component, id (3 bytes, low byte
 * first), payload without its trailing zeros (one byte at least), CRC-16/MCRF4XX over all but the first byte and over
 * the extra byte. Fields behind | in the lists below are extensions: the extra byte does not cover them.
 */
#ifndef MAVLINK_H
#define MAVLINK_H

#include <stddef.h>
#include <stdint.h>

#define MAVLINK_SIGNED 1      /* incompatibility flag of a frame with a signature */
#define MAVLINK_FRAME_MAX 280 /* bytes of a frame: header, 255 bytes of payload, checksum 2, signature 13 */

/* clang-format off */
/* Fields in the order of the wire: F(message, type, name, elements), E() of an extension; S goes through to them. */
#define MAVLINK_HEARTBEAT_FIELDS(F, E, S) \
    F(S, u32, custom_mode, 1) F(S, u8, type, 1) F(S, u8, autopilot, 1) F(S, u8, base_mode, 1) \
    F(S, u8, system_status, 1) F(S, u8, mavlink_version, 1)
#define MAVLINK_PARAM_REQUEST_READ_FIELDS(F, E, S) \
    F(S, i16, param_index, 1) F(S, u8, target_system, 1) F(S, u8, target_component, 1) F(S, char, param_id, 16)
#define MAVLINK_PARAM_REQUEST_LIST_FIELDS(F, E, S) F(S, u8, target_system, 1) F(S, u8, target_component, 1)
#define MAVLINK_PARAM_VALUE_FIELDS(F, E, S) \
    F(S, f32, param_value, 1) F(S, u16, param_count, 1) F(S, u16, param_index, 1) F(S, char, param_id, 16) \
    F(S, u8, param_type, 1)
#define MAVLINK_PARAM_SET_FIELDS(F, E, S) \
    F(S, f32, param_value, 1) F(S, u8, target_system, 1) F(S, u8, target_component, 1) F(S, char, param_id, 16) \
    F(S, u8, param_type, 1)
#define MAVLINK_RAW_IMU_FIELDS(F, E, S) \
    F(S, u64, time_usec, 1) F(S, i16, xacc, 1) F(S, i16, yacc, 1) F(S, i16, zacc, 1) F(S, i16, xgyro, 1) \
    F(S, i16, ygyro, 1) F(S, i16, zgyro, 1) F(S, i16, xmag, 1) F(S, i16, ymag, 1) F(S, i16, zmag, 1) E(S, u8, id, 1) \
    E(S, i16, temperature, 1)
#define MAVLINK_ATTITUDE_FIELDS(F, E, S) \
    F(S, u32, time_boot_ms, 1) F(S, f32, roll, 1) F(S, f32, pitch, 1) F(S, f32, yaw, 1) F(S, f32, rollspeed, 1) \
    F(S, f32, pitchspeed, 1) F(S, f32, yawspeed, 1)
#define MAVLINK_LOCAL_POSITION_NED_FIELDS(F, E, S) \
    F(S, u32, time_boot_ms, 1) F(S, f32, x, 1) F(S, f32, y, 1) F(S, f32, z, 1) F(S, f32, vx, 1) F(S, f32, vy, 1) \
    F(S, f32, vz, 1)
#define MAVLINK_SET_GPS_GLOBAL_ORIGIN_FIELDS(F, E, S) \
    F(S, i32, latitude, 1) F(S, i32, longitude, 1) F(S, i32, altitude, 1) F(S, u8, target_system, 1) \
    E(S, u64, time_usec, 1)
#define MAVLINK_COMMAND_LONG_FIELDS(F, E, S) \
    F(S, f32, param1, 1) F(S, f32, param2, 1) F(S, f32, param3, 1) F(S, f32, param4, 1) F(S, f32, param5, 1) \
    F(S, f32, param6, 1) F(S, f32, param7, 1) F(S, u16, command, 1) F(S, u8, target_system, 1) \
    F(S, u8, target_component, 1) F(S, u8, confirmation, 1)
#define MAVLINK_COMMAND_ACK_FIELDS(F, E, S) \
    F(S, u16, command, 1) F(S, u8, result, 1) E(S, u8, progress, 1) E(S, i32, result_param2, 1) \
    E(S, u8, target_system, 1) E(S, u8, target_component, 1)
#define MAVLINK_LOCAL_POSITION_NED_SYSTEM_GLOBAL_OFFSET_FIELDS(F, E, S) \
    F(S, u32, time_boot_ms, 1) F(S, f32, x, 1) F(S, f32, y, 1) F(S, f32, z, 1) F(S, f32, roll, 1) F(S, f32, pitch, 1) \
    F(S, f32, yaw, 1)
#define MAVLINK_VISION_POSITION_ESTIMATE_FIELDS(F, E, S) \
    F(S, u64, usec, 1) F(S, f32, x, 1) F(S, f32, y, 1) F(S, f32, z, 1) F(S, f32, roll, 1) F(S, f32, pitch, 1) \
    F(S, f32, yaw, 1) E(S, f32, covariance, 21) E(S, u8, reset_counter, 1)
#define MAVLINK_HIGHRES_IMU_FIELDS(F, E, S) \
    F(S, u64, time_usec, 1) F(S, f32, xacc, 1) F(S, f32, yacc, 1) F(S, f32, zacc, 1) F(S, f32, xgyro, 1) \
    F(S, f32, ygyro, 1) F(S, f32, zgyro, 1) F(S, f32, xmag, 1) F(S, f32, ymag, 1) F(S, f32, zmag, 1) \
    F(S, f32, abs_pressure, 1) F(S, f32, diff_pressure, 1) F(S, f32, pressure_alt, 1) F(S, f32, temperature, 1) \
    F(S, u16, fields_updated, 1) E(S, u8, id, 1)
#define MAVLINK_TIMESYNC_FIELDS(F, E, S) \
    F(S, i64, tc1, 1) F(S, i64, ts1, 1) E(S, u8, target_system, 1) E(S, u8, target_component, 1)
#define MAVLINK_EKF_STATUS_REPORT_FIELDS(F, E, S) \
    F(S, f32, velocity_variance, 1) F(S, f32, pos_horiz_variance, 1) F(S, f32, pos_vert_variance, 1) \
    F(S, f32, compass_variance, 1) F(S, f32, terrain_alt_variance, 1) F(S, u16, flags, 1) \
    E(S, f32, airspeed_variance, 1)
#define MAVLINK_ESTIMATOR_STATUS_FIELDS(F, E, S) \
    F(S, u64, time_usec, 1) F(S, f32, vel_ratio, 1) F(S, f32, pos_horiz_ratio, 1) F(S, f32, pos_vert_ratio, 1) \
    F(S, f32, mag_ratio, 1) F(S, f32, hagl_ratio, 1) F(S, f32, tas_ratio, 1) F(S, f32, pos_horiz_accuracy, 1) \
    F(S, f32, pos_vert_accuracy, 1) F(S, u16, flags, 1)
#define MAVLINK_STATUSTEXT_FIELDS(F, E, S) \
    F(S, u8, severity, 1) F(S, char, text, 50) E(S, u16, id, 1) E(S, u8, chunk_seq, 1)
#define MAVLINK_OBSTACLE_DISTANCE_FIELDS(F, E, S) \
    F(S, u64, time_usec, 1) F(S, u16, distances, 72) F(S, u16, min_distance, 1) F(S, u16, max_distance, 1) \
    F(S, u8, sensor_type, 1) F(S, u8, increment, 1) E(S, f32, increment_f, 1) E(S, f32, angle_offset, 1) \
    E(S, u8, frame, 1)
#define MAVLINK_ODOMETRY_FIELDS(F, E, S) \
    F(S, u64, time_usec, 1) F(S, f32, x, 1) F(S, f32, y, 1) F(S, f32, z, 1) F(S, f32, q, 4) F(S, f32, vx, 1) \
    F(S, f32, vy, 1) F(S, f32, vz, 1) F(S, f32, rollspeed, 1) F(S, f32, pitchspeed, 1) F(S, f32, yawspeed, 1) \
    F(S, f32, pose_covariance, 21) F(S, f32, velocity_covariance, 21) F(S, u8, frame_id, 1) \
    F(S, u8, child_frame_id, 1) E(S, u8, reset_counter, 1) E(S, u8, estimator_type, 1) E(S, i8, quality, 1)

/* Every message: M(name, id, extra byte of the checksum, member of the union). */
#define MAVLINK_MESSAGES(M) \
    M(HEARTBEAT, 0, 50, heartbeat) \
    M(PARAM_REQUEST_READ, 20, 214, param_read) \
    M(PARAM_REQUEST_LIST, 21, 159, param_list) \
    M(PARAM_VALUE, 22, 220, param_value) \
    M(PARAM_SET, 23, 168, param_set) \
    M(RAW_IMU, 27, 144, raw_imu) \
    M(ATTITUDE, 30, 39, attitude) \
    M(LOCAL_POSITION_NED, 32, 185, local_position) \
    M(SET_GPS_GLOBAL_ORIGIN, 48, 41, origin) \
    M(COMMAND_LONG, 76, 152, command) \
    M(COMMAND_ACK, 77, 143, ack) \
    M(LOCAL_POSITION_NED_SYSTEM_GLOBAL_OFFSET, 89, 231, frame_offset) \
    M(VISION_POSITION_ESTIMATE, 102, 158, vision_position) \
    M(HIGHRES_IMU, 105, 93, highres_imu) \
    M(TIMESYNC, 111, 34, timesync) \
    M(EKF_STATUS_REPORT, 193, 71, ekf) \
    M(ESTIMATOR_STATUS, 230, 163, estimator) \
    M(STATUSTEXT, 253, 83, text) \
    M(OBSTACLE_DISTANCE, 330, 23, obstacles) \
    M(ODOMETRY, 331, 91, odometry)
/* clang-format on */

typedef uint8_t mavlink_u8;
typedef int8_t mavlink_i8;
typedef uint16_t mavlink_u16;
typedef int16_t mavlink_i16;
typedef uint32_t mavlink_u32;
typedef int32_t mavlink_i32;
typedef uint64_t mavlink_u64;
typedef int64_t mavlink_i64;
typedef float mavlink_f32;
typedef char mavlink_char;

/** Ids, MAVLINK_ODOMETRY... */
enum {
#define MAVLINK_ID(name, id, extra, member) MAVLINK_##name = id,
    MAVLINK_MESSAGES(MAVLINK_ID)
#undef MAVLINK_ID
};

/** A message, without what the frame adds. */
typedef struct mavlink_message {
    uint32_t id;       /**< MAVLINK_ODOMETRY... */
    uint8_t system;    /**< Of the sender. */
    uint8_t component; /**< Of the sender. */
    uint8_t sequence;  /**< Rises by one with each message of a sender on a link, modulo 256. */
    uint8_t is_signed; /**< 1: it came with a signature that is right. */
    union {
#define MAVLINK_MEMBER(message, type, name, elements) mavlink_##type name[elements];
#define MAVLINK_STRUCT(name, id, extra, member)                                                                        \
    struct {                                                                                                           \
        MAVLINK_##name##_FIELDS(MAVLINK_MEMBER, MAVLINK_MEMBER, member)                                                \
    } member;
        MAVLINK_MESSAGES(MAVLINK_STRUCT)
#undef MAVLINK_STRUCT
#undef MAVLINK_MEMBER
    } as; /**< Every field is an array, of one element where the document has none. */
} mavlink_message_t;

/** Parser of a stream of bytes. Zero it before the first byte. Nothing it counts stops it. */
typedef struct mavlink_parser {
    uint8_t frame[MAVLINK_FRAME_MAX + 1]; /**< Bytes that may be a frame, and the one behind it. */
    uint32_t held;                        /**< Their number. */
    uint64_t bytes;                       /**< Bytes taken so far. */
    uint64_t messages;                    /**< Messages handed out. */
    uint64_t unknown;                     /**< Frames of other ids, passed over once another frame follows. */
    uint64_t damaged;                     /**< Frames whose checksum is wrong. */
    uint64_t is_signed;                   /**< Frames refused: with a signature that nothing checks, or by `accept`. */
    uint64_t incompatible;                /**< Frames with an incompatibility flag that is not known. */
    uint64_t version1;                    /**< First bytes of frames of MAVLink 1 seen between frames. */
    uint64_t noise;                       /**< Bytes before the first byte of a frame. */
    int (*accept)(void *of, const uint8_t *frame, size_t bytes); /**< Whether a frame may be taken; NULL: all without a
                                                                      signature. Set by the caller. */
    void *of;                                                    /**< Its first argument. */
} mavlink_parser_t;

/**
 * Encodes a message.
 * @param[out] frame  Bytes for the wire.
 * @return Their number, or 0 where message->id is none of the above.
 */
size_t mavlink_encode(uint8_t frame[MAVLINK_FRAME_MAX], const mavlink_message_t *message);

/** The same with incompatibility flags, without the signature. */
size_t mavlink_encode_flagged(uint8_t frame[MAVLINK_FRAME_MAX], const mavlink_message_t *message, uint8_t flags);

/**
 * Takes bytes up to the end of the next message.
 * @param[in,out] bytes    Moved on past the bytes taken.
 * @param[in,out] count    Bytes left.
 * @param[out]    message  Message, all fields set, those that the frame lacks to 0. Undefined when 0 is returned.
 * @return 1: a message, call again; 0: all bytes are taken.
 */
int mavlink_parse(mavlink_parser_t *parser, const uint8_t **bytes, size_t *count, mavlink_message_t *message);

/** Name of an id ("ODOMETRY"), or NULL. */
const char *mavlink_name(uint32_t id);

/** CRC-16/MCRF4XX of bytes, begun with `crc`; 0xffff to begin with. */
uint16_t mavlink_crc(uint16_t crc, const uint8_t *bytes, size_t count);

/** Field of a message, for tests and for programs that print messages. */
typedef struct mavlink_field {
    const char *name;
    const char *type;      /**< "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "char". */
    uint8_t bytes;         /**< Of an element. */
    uint8_t elements;      /**< 1 where it is no array. */
    uint8_t is_extension;  /**< 1: behind the fields that the extra byte covers. */
    uint16_t offset_bytes; /**< From the begin of `as`. */
} mavlink_field_t;

/** Fields of an id in the order of the wire; `count` is their number. NULL: id unknown. */
const mavlink_field_t *mavlink_fields(uint32_t id, size_t *count);

#endif
