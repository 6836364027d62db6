#ifndef VF_ESS
#define VF_ESS
#include "pose.h"
struct vf_essential_work { float E[10][9]; };
VF_FN int vf_essential_five(struct vf_essential_work *w, const float before[][3], const float now[][3]){(void)w;(void)before;(void)now;return 0;}
VF_FN int vf_essential_seven(struct vf_essential_work *w, const float before[][3], const float now[][3]){(void)w;(void)before;(void)now;return 0;}
VF_FN int vf_essential_eight(struct vf_essential_work *w, const float before[][3], const float now[][3]){(void)w;(void)before;(void)now;return 0;}
VF_FN int vf_essential_pose(const float E[9], const float before[][3], const float now[][3], int n, struct vf_pose *pose){(void)E;(void)before;(void)now;(void)n;(void)pose;return 0;}
#endif
