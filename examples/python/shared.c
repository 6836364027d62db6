/* SPDX-License-Identifier: MIT */
/* What the package vfront needs of a shared library beside the calls of vfront.h: vfront_init() as a symbol, and the
 * values by which its reading of the header is compared with the compiler's. */
#include "vfront.h"

#pragma GCC visibility push(default)
extern const vfront_value_t vfront_python_values[];
extern const size_t vfront_python_values_count;
vfront_status_t vfront_python_init(vfront_t *vf, const vfront_rig_t *rig, const vfront_tuning_t *tuning,
                                   vfront_port_t port);
#pragma GCC visibility pop

const vfront_value_t vfront_python_values[] = {VFRONT_VALUES};
const size_t vfront_python_values_count = sizeof vfront_python_values / sizeof *vfront_python_values;

vfront_status_t vfront_python_init(vfront_t *vf, const vfront_rig_t *rig, const vfront_tuning_t *tuning,
                                   vfront_port_t port)
{
    return vfront_init(vf, rig, tuning, port);
}
