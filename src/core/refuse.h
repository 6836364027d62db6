/* SPDX-License-Identifier: MIT */
/* Refusals: the reason why a call was refused or failed, for vfront_detail(). Called by all of core/ and by the
 * ports. */
#ifndef VF_REFUSE_H
#define VF_REFUSE_H

#include "context.h"

/** Stores the reason of a refusal or failure for vfront_detail(). Returns `status`. what: format with at most one %d,
 *  replaced by `index`, then at most one %s, replaced by `rest`. */
vfront_status_t vf_refuse(struct vf_context *context, vfront_status_t status, const char *what, int32_t index,
                          const char *rest);

/** Stores the reason that a number is out of range, for vfront_detail(). Returns `status`. what: name of the number,
 *  with %d for `index`; bound: name of the configuration value that is the upper limit. */
vfront_status_t vf_refuse_range(struct vf_context *context, vfront_status_t status, const char *what, int32_t index,
                                int32_t value, const int32_t range[2], const char *bound);

/** 1 if *vf is a copy of an initialised front end. The context is searched at offsets 0 .. 56 [bytes], because in a
 *  copy it has the offset of the original. */
int vf_refuse_is_copy(const vfront_t *vf);

/** Text that is written into vf_context.detail, from `to` on, and truncated at `end`. */
struct vf_text {
    char *to, *end;
};
struct vf_text vf_text_begin(struct vf_context *context);
void vf_text_put(struct vf_text *t, const char *text);
void vf_text_number(struct vf_text *t, uint64_t number);

#endif
