/* SPDX-License-Identifier: MIT */
/* Saving and loading of maps. A map image in the caller's buffer (map/serialize.h) is exchanged with the ring of
 * keyframes in the device arena, through the active port. */
#ifndef VF_MAP_H
#define VF_MAP_H

#include "context.h"

/** Implementation of vfront_map_save(), after the check of its arguments. Requires that no frame is under way. */
vfront_status_t vf_map_save(struct vf_context *context, void *buffer, size_t bytes, size_t *used);
/** Implementation of vfront_map_load(), after the check of its arguments. Requires that no frame is under way. With a
 *  status other than VFRONT_OK keyframes and map are unchanged, unless the device failed. */
vfront_status_t vf_map_load(struct vf_context *context, const void *buffer, size_t bytes);

#endif
