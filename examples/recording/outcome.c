/* SPDX-License-Identifier: MIT */
#include "outcome.h"

#include "bytes.h"

void outcome_of(outcome_t *o, vfront_status_t status, const vfront_result_t *r)
{
    memset(o, 0, sizeof *o);
    o->status = status;
    if (!r) return;
    o->port = r->timing.port;
    o->failed_over = r->timing.failed_over;
    o->step_us = (uint32_t)r->timing.step_us;
    o->frame = r->frame;
    o->rest = vfront_digest_parts(r, VFRONT_PART_REST);
    for (size_t i = 0; i < VFRONT_STAGES; i++) o->stage[i] = vfront_digest_stage(r, i);
}

void outcome_write(const outcome_t *o, uint8_t to[OUTCOME_BYTES])
{
    bytes_t b = bytes_of(to, OUTCOME_BYTES);
    bytes_put(&b, (uint32_t)o->status, 4);
    bytes_put(&b, o->port, 4);
    bytes_put(&b, o->failed_over, 4);
    bytes_put(&b, o->step_us, 4);
    bytes_put(&b, o->frame, 8);
    bytes_put(&b, o->rest, 8);
    bytes_put(&b, VFRONT_STAGES, 4);
    for (size_t i = 0; i < VFRONT_STAGES; i++) bytes_put(&b, o->stage[i], 8);
}

const char *outcome_read(outcome_t *o, uint8_t *payload, size_t bytes)
{
    bytes_t b = bytes_of(payload, bytes);
    memset(o, 0, sizeof *o);
    o->status = (int32_t)bytes_get(&b, 4);
    o->port = (uint32_t)bytes_get(&b, 4);
    o->failed_over = (uint32_t)bytes_get(&b, 4);
    o->step_us = (uint32_t)bytes_get(&b, 4);
    o->frame = bytes_get(&b, 8);
    o->rest = bytes_get(&b, 8);
    const uint64_t stages = bytes_get(&b, 4);
    for (size_t i = 0; i < VFRONT_STAGES; i++) o->stage[i] = bytes_get(&b, 8);
    return stages != VFRONT_STAGES || b.short_of || bytes_left(&b) ? "digests of other stages than this build has"
                                                                   : NULL;
}

const char *outcome_difference(const outcome_t *one, const outcome_t *other, int dense)
{
    if (one->status != other->status) return "status";
    const int spared = !dense && one->failed_over != other->failed_over;
    for (size_t i = 0; i < VFRONT_STAGES; i++) {
        if (spared && (i == VFRONT_STAGE_dense || i == VFRONT_STAGE_stixel || i == VFRONT_STAGE_report)) continue;
        if (one->stage[i] != other->stage[i]) return vfront_stage_name(i);
    }
    return spared && one->rest != other->rest ? "report" : NULL;
}
