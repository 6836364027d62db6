#ifndef VF_PER
#define VF_PER
#include "pose.h"
struct vf_perspective_work { float x; };
VF_FN int vf_perspective_three(struct vf_perspective_work *w, const float point[3][3], const float bearing[3][3], struct vf_pose pose[4]){(void)w;(void)point;(void)bearing;(void)pose;return 0;}
#endif
