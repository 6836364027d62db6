/* SPDX-License-Identifier: MIT */
/* IMU readings over frames: their ranges; those kept from frame to frame; those of a step; what is wrong with them.
 *
 * In      readings of each frame (vfront_imu_t), checked; middles of exposure of two frames on the IMU's clock
 * Out     readings of the step between them, as rates for a rotation prior, and bits of vfront_health_t.imu
 * Rule    a step has the readings from the last one up to its start to the first one from its end on. When its frame is
 *         accepted, all from the last one up to its end on are kept for the next. Frames are refused before
 *         vf_readings_take(); only a device fault comes later, and a host port that stands by takes the same again
 * Exact   integers; of the rest detection squares and sums in double precision, compared only
 * Memory  struct vf_readings, in the vf_state: host only, bounded by VFRONT_IMU_SAMPLES
 */
#ifndef VF_READINGS_H
#define VF_READINGS_H

#include "core/vf.h"

/** Time of rest that says in which unit forces are [ns]. */
#define VF_READINGS_REST_NS 1000000000u

/** Kind of a reading of an IMU at rest, by the magnitude of its force. */
enum vf_rest { VF_REST_NONE = 0, VF_REST_RIGHT, VF_REST_IN_G, VF_REST_NO_GRAVITY };

/** Knowledge of an IMU by its readings one after the other. */
struct vf_readings_watch {
    uint32_t gyro_run, accel_run; /* last readings that are equal to the bit */
    uint32_t rest;                /* vf_rest of the last readings, since since_ns */
    uint32_t verdict;             /* of the last ones that were so for VF_READINGS_REST_NS */
    uint64_t since_ns;
};

/** Readings kept, and those of the frame to be submitted. */
struct vf_readings {
    vfront_imu_t reading[VFRONT_IMU_SAMPLES]; /* kept ones, and behind them those taken */
    uint32_t kept;                            /* from accepted frames */
    uint32_t begun;                           /* 1: an accepted frame had an IMU */
    struct vf_readings_watch watch;           /* over all that were kept */
    /* of the frame to be submitted; what comes of it when it is accepted */
    uint32_t total, next_begun, ahead; /* ahead: readings that were dropped */
    struct vf_readings_watch next;
    uint64_t from_ns, to_ns; /* the step, on the clock of the readings; no time: it has no readings */
    uint32_t first, count;   /* its readings */
};

/** 1 if a value lies in least..most; 0 also for NaN. */
VF_FN int vf_within(double value, double least, double most) { return value >= least && value <= most; }

/** 1 if all of n values have a magnitude of at most `most`; 0 also for NaN. */
VF_FN int vf_all_within(const double *value, int n, double most)
{
    int good = 1;
    for (int i = 0; i < n; i++) good &= vf_within(value[i], -most, most);
    return good;
}

/** First value of an IMU's errors that is out of its range, or NULL. */
VF_FN const char *vf_imu_noise_wrong(const vfront_imu_noise_t *n)
{
    return !vf_within(n->gyro_density, 0.0, 1.0)                          ? "gyro_density"
           : !vf_within(n->accel_density, 0.0, 10.0)                      ? "accel_density"
           : !vf_within(n->gyro_walk, 0.0, 1.0)                           ? "gyro_walk"
           : !vf_within(n->accel_walk, 0.0, 10.0)                         ? "accel_walk"
           : !vf_within(n->gyro_limit_rad_s, 0.1, VFRONT_GYRO_MOST_RAD_S) ? "gyro_limit_rad_s"
           : !vf_within(n->accel_limit_m_s2, 1.0, VFRONT_ACCEL_MOST_M_S2) ? "accel_limit_m_s2"
           : !vf_within(n->rate_hz, 10.0, 20000.0)                        ? "rate_hz"
           : !vf_within(n->gravity_m_s2, 0.0, 30.0)                       ? "gravity_m_s2"
                                                                          : NULL;
}

/** 1 if an IMU's errors are not known: all 0. */
VF_FN int vf_imu_noise_none(const vfront_imu_noise_t *n)
{
    return n->gyro_density == 0.0 && n->accel_density == 0.0 && n->gyro_walk == 0.0 && n->accel_walk == 0.0 &&
           n->gyro_limit_rad_s == 0.0 && n->accel_limit_m_s2 == 0.0 && n->rate_hz == 0.0 && n->gravity_m_s2 == 0.0;
}

/** Ranges of a reading's values. */
VF_FN int vf_imu_gyro_valid(const vfront_imu_t *imu)
{
    return vf_all_within(imu->gyro_rad_s, 3, VFRONT_GYRO_MOST_RAD_S);
}
VF_FN int vf_imu_accel_valid(const vfront_imu_t *imu)
{
    return vf_all_within(imu->accel_m_s2, 3, VFRONT_ACCEL_MOST_M_S2);
}

/** Sum of a time and an offset [ns]; 0 or UINT64_MAX where it lies beyond. */
VF_FN uint64_t vf_time_plus(uint64_t t_ns, int64_t offset_ns)
{
    if (offset_ns < 0) {
        const uint64_t less = 0 - (uint64_t)offset_ns;
        return t_ns > less ? t_ns - less : 0;
    }
    return t_ns < UINT64_MAX - (uint64_t)offset_ns ? t_ns + (uint64_t)offset_ns : UINT64_MAX;
}

/** Takes the readings of a frame that is to be submitted, behind those kept, up to last_ns. anew: a first frame, for
 *  which all that was kept counts no more. n: at most VFRONT_IMU_SAMPLES with those kept. given: 1 if the frame has an
 *  IMU. */
void vf_readings_take(struct vf_readings *r, const vfront_imu_noise_t *noise, const vfront_imu_t *imu, uint32_t n,
                      uint64_t last_ns, int given, int anew);

/** Sets the step, and its readings. No time, or none that goes on: no readings. */
void vf_readings_step(struct vf_readings *r, uint64_t from_ns, uint64_t to_ns);

/** 1 if two readings in a row of the step are over VFRONT_IMU_GAP_NS apart: nothing is known of the time between. */
int vf_readings_apart(const struct vf_readings *r);

/** 1 if more than most_ns of the step have no reading: before the first, between two, or after the last one. */
int vf_readings_gap(const struct vf_readings *r, uint64_t most_ns);

/** Bits of vfront_health_t.imu of the step. stuck: gyro_stuck_readings. */
uint32_t vf_readings_faults(const struct vf_readings *r, const vfront_imu_noise_t *noise, uint32_t stuck);

/** Keeps what the next step needs; the frame was accepted. */
void vf_readings_keep(struct vf_readings *r);

#endif
