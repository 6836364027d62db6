#ifndef VF_POSE_H
#define VF_POSE_H
#include "vf.h"
struct vf_pose { float R[9]; float t[3]; };
VF_FN void vf_pose_turn(float R[9], const float w[3]){ (void)R;(void)w; }
#endif
