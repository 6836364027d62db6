/* SPDX-License-Identifier: MIT */
/* IMU samples across frames: value ranges, samples kept between frames, samples of a step, faults.
 *
 * In      checked samples of each frame (vfront_imu_t); middles of exposure of two frames on the IMU clock
 * Out     samples of the step between these frames, also as rates for the rotation prior; bits of vfront_health_t.imu
 * Rule    a step has the samples from the last one at or before its start to the first one at or after its end. After a
 *         frame the next step's samples are kept: from the last one at or before this step's end on, and
 *         VF_SAMPLES_EARLIER samples before them. Frames are rejected before vf_samples_append(); only a device fault
 *         comes later, and then the host port on standby appends the same samples again.
 * Exact   integers; the stationary test compares squares and sums in double precision
 * Memory  struct vf_samples in vf_context: host only, bounded by VFRONT_IMU_SAMPLES
 */
#ifndef VF_SAMPLES_H
#define VF_SAMPLES_H

#include "base/vf.h"

/** Time that the IMU must be stationary before the unit of its forces is decided [ns]. */
#define VF_SAMPLES_STATIONARY_NS 1000000000u

/** Unit of the specific force of a stationary IMU, by its magnitude. NONE: moving, or no unit fits. */
enum vf_stationary { VF_STATIONARY_NONE = 0, VF_STATIONARY_IN_M_S2, VF_STATIONARY_IN_G, VF_STATIONARY_NO_GRAVITY };

/** Detects stuck samples and the unit of the forces, sample by sample. */
struct vf_samples_monitor {
    uint32_t gyro_run, accel_run; /* number of newest samples with bit-equal rates, with bit-equal forces */
    uint32_t stationary;          /* enum vf_stationary of all samples from since_ns on */
    uint32_t confirmed;           /* last value of `stationary` that lasted VF_SAMPLES_STATIONARY_NS */
    uint64_t since_ns;            /* time of the first sample with the current value of `stationary` [ns] */
};

/** Number of samples kept from before the first sample of a step. They give the rate of change of the motion where
 *  samples of the step are missing. */
#define VF_SAMPLES_EARLIER (VFRONT_VIO ? 15 : 0)

/** Samples kept from earlier frames, and samples of the frame being submitted. Indices count from the first kept
 *  sample: vf_samples_at(). */
struct vf_samples {
    /* in this order: samples before the kept ones, up to index VF_SAMPLES_EARLIER - 1; kept samples; samples of the
     * frame */
    vfront_imu_t buffer[VF_SAMPLES_EARLIER + VFRONT_IMU_SAMPLES];
    uint32_t kept;                     /* number of samples kept from completed frames */
    uint32_t earlier;                  /* number of samples in `buffer` directly before the kept ones */
    uint32_t has_imu;                  /* 1: a completed frame had an IMU */
    struct vf_samples_monitor monitor; /* state after the newest kept sample */
    /* State after the frame being submitted. When the frame is done, it replaces kept, has_imu and monitor. */
    uint32_t total,   /* number of stored samples: the kept ones, and those of the frame up to last_ns */
        next_has_imu, /* value of has_imu once the frame is done; 1: this frame or a completed one had an IMU */
        ahead;        /* number of samples of the frame later than last_ns, which are not stored */
    uint32_t restart; /* 1: samples before the frame are ignored */
    struct vf_samples_monitor next;
    uint64_t from_ns, to_ns; /* time range of the step on the IMU clock [ns]; the step has no samples if it is empty */
    uint32_t first, count;   /* samples of the step: index of the first one, and their number */
};

/** Sample i, counted from the first kept one. The first sample of the frame has index `kept`. */
VF_FN const vfront_imu_t *vf_samples_at(const struct vf_samples *r, uint32_t i)
{
    return &r->buffer[VF_SAMPLES_EARLIER + i];
}

/** 1 if low <= value <= high; 0 for NaN. */
VF_FN int vf_within(double value, double low, double high) { return value >= low && value <= high; }

/** 1 if all n values have a magnitude of at most `high`; 0 for NaN. */
VF_FN int vf_all_within(const double *value, int n, double high)
{
    int good = 1;
    for (int i = 0; i < n; i++) good &= vf_within(value[i], -high, high);
    return good;
}

/** Name of the first member of an IMU error model that is out of range, or NULL. */
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

/** 1 if the noise is unspecified: all members 0. */
VF_FN int vf_imu_noise_none(const vfront_imu_noise_t *n)
{
    return n->gyro_density == 0.0 && n->accel_density == 0.0 && n->gyro_walk == 0.0 && n->accel_walk == 0.0 &&
           n->gyro_limit_rad_s == 0.0 && n->accel_limit_m_s2 == 0.0 && n->rate_hz == 0.0 && n->gravity_m_s2 == 0.0;
}

/** 1 if the rates of a sample are finite and at most VFRONT_GYRO_MOST_RAD_S. vf_imu_accel_valid(): forces, at most
 *  VFRONT_ACCEL_MOST_M_S2. */
VF_FN int vf_imu_gyro_valid(const vfront_imu_t *imu)
{
    return vf_all_within(imu->gyro_rad_s, 3, VFRONT_GYRO_MOST_RAD_S);
}
VF_FN int vf_imu_accel_valid(const vfront_imu_t *imu)
{
    return vf_all_within(imu->accel_m_s2, 3, VFRONT_ACCEL_MOST_M_S2);
}

/** Time plus offset [ns], clamped to 0..UINT64_MAX. */
VF_FN uint64_t vf_time_plus(uint64_t t_ns, int64_t offset_ns)
{
    if (offset_ns < 0) {
        const uint64_t less = 0 - (uint64_t)offset_ns;
        return t_ns > less ? t_ns - less : 0;
    }
    return t_ns < UINT64_MAX - (uint64_t)offset_ns ? t_ns + (uint64_t)offset_ns : UINT64_MAX;
}

/** Appends the samples of a frame up to last_ns to the kept ones. restart 1: first frame, kept samples are discarded.
 *  n: number of samples; with the kept ones at most VFRONT_IMU_SAMPLES. given: 1 if the frame has an IMU. */
void vf_samples_append(struct vf_samples *r, const vfront_imu_noise_t *noise, const vfront_imu_t *imu, uint32_t n,
                       uint64_t last_ns, int given, int restart);

/** Sets the step from_ns..to_ns and its samples. An empty range has no samples. */
void vf_samples_select(struct vf_samples *r, uint64_t from_ns, uint64_t to_ns);

/** 1 if two consecutive samples of the step are more than VFRONT_IMU_GAP_NS apart. */
int vf_samples_inner_gap(const struct vf_samples *r);

/** 1 if a part of the step longer than max_ns has no sample: at its start, between two samples, or at its end. */
int vf_samples_gap(const struct vf_samples *r, uint64_t max_ns);

/** Bits of vfront_health_t.imu for the step. stuck: tuning value gyro_stuck_samples; 0: no test for stuck samples. */
uint32_t vf_samples_faults(const struct vf_samples *r, const vfront_imu_noise_t *noise, uint32_t stuck);

/** Samples of the step and those around it: at most VF_SAMPLES_EARLIER before its first sample, and all later ones.
 *  *count: their number; 0 for a step without samples. The address is valid until vf_samples_keep(). */
const vfront_imu_t *vf_samples_around(const struct vf_samples *r, uint32_t *count);

/** Keeps the samples that the next step needs; called when the frame is done. */
void vf_samples_keep(struct vf_samples *r);

#endif
