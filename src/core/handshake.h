/* SPDX-License-Identifier: MIT */
/* Comparison of the values that application and library must agree on. */
#ifndef VF_HANDSHAKE_H
#define VF_HANDSHAKE_H

#include "vfront.h"

/** Compares the application's values with the library's. Returns VFRONT_E_CONFIG if one differs, or only one side has
 *  it. vfront_detail() then names the first such value, unless the application's vfront_t is too small for a text.
 *  Writes nothing else to the vfront_t. */
vfront_status_t vf_handshake(vfront_t *vf, const vfront_value_t *values, size_t count);

#endif
