/* SPDX-License-Identifier: MIT */
/* Maps saved and loaded: between the caller's buffer, as an image (map/image.h), and the ring of keyframes in the
 * arena, through the port that runs. */
#ifndef VF_MAP_H
#define VF_MAP_H

#include "port/port.h"

/** Parts of vfront_map_save() and vfront_map_load() behind the checks of their arguments. Nothing is under way. After
 *  any status but VFRONT_OK of vf_map_load() nothing has changed, unless the device failed. */
vfront_status_t vf_map_save(struct vf_state *state, void *buffer, size_t bytes, size_t *used);
vfront_status_t vf_map_load(struct vf_state *state, const void *buffer, size_t bytes);

#endif
