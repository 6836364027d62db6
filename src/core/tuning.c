/* SPDX-License-Identifier: MIT */
#include "base/vf.h"

#define VF_ENTRY(name, standard, least, most, meaning) {#name, meaning, standard, least, most},
static const vfront_tuning_entry_t entry[] = {VFRONT_TUNING(VF_ENTRY)};
#undef VF_ENTRY

#define VF_OFFSET(name, standard, least, most, meaning) offsetof(vfront_tuning_t, name),
static const size_t offset[] = {VFRONT_TUNING(VF_OFFSET)};
#undef VF_OFFSET

#define VF_CHECK(name, standard, least, most, meaning)                                                                 \
    VF_STATIC_ASSERT((least) <= (standard) && (standard) <= (most),                                                    \
                     "vfront: standard value of " #name " out of its range");
VFRONT_TUNING(VF_CHECK)
#undef VF_CHECK

void vfront_tuning_default(vfront_tuning_t *tuning)
{
    if (!tuning) return;
    for (size_t i = 0; i < sizeof entry / sizeof *entry; i++)
        memcpy((char *)tuning + offset[i], &entry[i].standard, sizeof(int32_t));
}

/** Most hypotheses of each motion in a step for the state. Motions of tracks alone start an estimate, and are
 *  compared with samples. */
enum { STATE_HYPOTHESES = 64 };

static int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }

void vfront_tuning_state(vfront_tuning_t *tuning)
{
    if (!tuning) return;
    tuning->vio = VFRONT_VIO;
    tuning->detect_levels = 1;
    tuning->select_points = tuning->describe = tuning->stereo = tuning->match = tuning->map = 0;
    tuning->ego_hypotheses = least(tuning->ego_hypotheses, STATE_HYPOTHESES);
    tuning->ego_metric_hypotheses = least(tuning->ego_metric_hypotheses, STATE_HYPOTHESES);
}

const vfront_tuning_entry_t *vfront_tuning_entry(size_t index)
{
    return index < sizeof entry / sizeof *entry ? &entry[index] : NULL;
}

vfront_status_t vfront_tuning_set(vfront_tuning_t *tuning, const char *name, int32_t value)
{
    if (!tuning || !name) return VFRONT_E_NULL;
    for (size_t i = 0; i < sizeof entry / sizeof *entry; i++) {
        if (strcmp(entry[i].name, name) != 0) continue;
        if (value < entry[i].least || value > entry[i].most) return VFRONT_E_TUNING;
        memcpy((char *)tuning + offset[i], &value, sizeof value);
        return VFRONT_OK;
    }
    return VFRONT_E_TUNING;
}
