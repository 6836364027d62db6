/* SPDX-License-Identifier: MIT */
/* Assertions that compare each memory size stated in vfront_cfg.h with the size of the struct that it stands for. */
#include "context.h"

/** Asserts that the stated size `value` is at least the real size, and at most 2 % larger. */
#define HOLDS(value, real)                                                                                             \
    VF_STATIC_ASSERT((real) <= (value) && 50 * (value) <= 51 * (real),                                                 \
                     "vfront: " #value " is not the real size, or over 2 % above it")
#define SIZE(type) sizeof(struct type)
#define MEMBER(type, member) sizeof((struct type *)0)->member

HOLDS(VFRONT_NODE_BYTES, MEMBER(vf_bearing_memory, node[0][0]));
HOLDS(VFRONT_TILE_BYTES, MEMBER(vf_pyramid_memory, tile[0][0]));
HOLDS(VFRONT_CULL_BYTES, 2 * (MEMBER(vf_detect_memory, best[0][0][0]) + MEMBER(vf_detect_memory, second[0][0][0])));
HOLDS(VFRONT_CELL_BYTES, 2 * MEMBER(vf_detect_memory, corner[0][0][0]));
HOLDS(VFRONT_TRACK_BYTES *VFRONT_TRACKS + VFRONT_START_BYTES * VFRONT_CELLS,
      SIZE(vf_track_memory) + SIZE(vf_refill_memory));
HOLDS(VFRONT_POINT_BYTES, MEMBER(vf_select_memory, key[0][0]) + 2 * MEMBER(vf_bearing_memory, point[0][0][0]));
HOLDS(VFRONT_SAMPLE_BYTES, sizeof(vfront_imu_t));
HOLDS(VFRONT_CONTEXT_BYTES, SIZE(vf_context) - SIZE(vf_nav) - MEMBER(vf_samples, buffer));
HOLDS(VFRONT_SMALL_BYTES, SIZE(vf_vio_request) + 2 * SIZE(vf_params) + SIZE(vf_predict_memory) +
                              SIZE(vf_freeze_memory) + SIZE(vf_report_memory) + MEMBER(vf_memory, clock) +
                              MEMBER(vf_pinned, clock));
#if VFRONT_RECTIFY
HOLDS(VFRONT_REMAP_BYTES, MEMBER(vf_rectify_memory, remap[0][0]));
#endif
#if VFRONT_DESCRIPTORS
HOLDS(VFRONT_DESCRIBED_BYTES *VFRONT_KEYPOINTS *VFRONT_CAMERAS, SIZE(vf_describe_memory));
#endif
#if VFRONT_STEREO
HOLDS(VFRONT_PARTNER_BYTES *VFRONT_TRACKS, SIZE(vf_partner_memory));
HOLDS(VFRONT_EXPECT_BYTES,
      MEMBER(vf_stereo_memory, expected) + MEMBER(vf_stereo_memory, pair) + SIZE(vf_epipolar_memory));
HOLDS(VFRONT_DEPTH_BYTES *VFRONT_KEYPOINTS + VFRONT_EXPECT_BYTES,
      SIZE(vf_stereo_memory) + SIZE(vf_stereo_scratch) + SIZE(vf_epipolar_memory));
#endif
#if VFRONT_MATCHES
HOLDS(VFRONT_MATCH_BYTES *VFRONT_KEYPOINTS, offsetof(struct vf_match_memory, count));
#endif
#if VFRONT_EGO
HOLDS(VFRONT_MOTION_BYTES, SIZE(vf_ego_memory));
HOLDS(VFRONT_HYPOTHESIS_BYTES,
      VF_SEARCHES *(SIZE(vf_pose) + MEMBER(vf_ego_memory, score[0][0])) + MEMBER(vf_ego_memory, alternative[0]));
HOLDS(VFRONT_EGO_BYTES, SIZE(vf_ego_memory) - VFRONT_CORRESPONDENCE_BYTES * VFRONT_CORRESPONDENCES -
                            VFRONT_HYPOTHESIS_BYTES * VFRONT_HYPOTHESES);
#endif
#if VFRONT_VIO
HOLDS(VFRONT_VIO_BYTES, SIZE(vf_vio_memory) + SIZE(vf_observe_memory) + SIZE(vf_vio_report));
HOLDS(VFRONT_NAV_BYTES, SIZE(vf_nav) + VFRONT_SAMPLE_BYTES * VF_SAMPLES_EARLIER);
#endif
#if VFRONT_MAP
HOLDS(VFRONT_KEYFRAME_BYTES *VFRONT_KEYFRAMES + VFRONT_PLACES_BYTES,
      SIZE(vf_keyframe_memory) + SIZE(vf_map_memory) + SIZE(vf_recall_memory) + SIZE(vf_relpose_memory) +
          SIZE(vf_loop_memory));
HOLDS(VFRONT_PLACES_BYTES, SIZE(vf_keyframe_memory) + SIZE(vf_map_memory) + SIZE(vf_recall_memory) +
                               SIZE(vf_relpose_memory) + SIZE(vf_loop_memory) -
                               VFRONT_KEYFRAME_BYTES * VFRONT_KEYFRAMES);
#endif
#if VFRONT_DENSE
HOLDS(VFRONT_DISPARITY_BYTES, SIZE(vf_dense_memory) + 3 * SIZE(vf_dense_copy) + SIZE(vf_dense_scratch));
#endif
#if VFRONT_STIXELS
HOLDS(VFRONT_STIXEL_BYTES, SIZE(vf_stixel_memory));
VF_STATIC_ASSERT(SIZE(vf_stixel_scratch) <= SIZE(vf_dense_scratch),
                 "vfront: VFRONT_STIXELS works where VFRONT_DENSE does");
#endif
#if VFRONT_HOST
HOLDS(VFRONT_STANDBY_BYTES, SIZE(vf_standby_port));
#endif
VF_STATIC_ASSERT(50 * VFRONT_BLOCK_BYTES <= 51 * SIZE(vf_block), "vfront: VFRONT_BLOCK_BYTES is over 2 % too large");
