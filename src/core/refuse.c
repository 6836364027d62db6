/* SPDX-License-Identifier: MIT */
/* Refusals: names of the status values, and the text that vfront_detail() returns. */
#include "refuse.h"

const char *vfront_status_name(vfront_status_t status)
{
    switch (status) {
#define NAME(s)                                                                                                        \
    case s: return #s;
        NAME(VFRONT_OK)
        NAME(VFRONT_E_NULL)
        NAME(VFRONT_E_STATE)
        NAME(VFRONT_E_BUSY)
        NAME(VFRONT_E_CONFIG)
        NAME(VFRONT_E_SIZE)
        NAME(VFRONT_E_PITCH)
        NAME(VFRONT_E_ALIGN)
        NAME(VFRONT_E_FORMAT)
        NAME(VFRONT_E_MEMORY_KIND)
        NAME(VFRONT_E_MASK)
        NAME(VFRONT_E_TIME)
        NAME(VFRONT_E_CALIBRATION)
        NAME(VFRONT_E_TUNING)
        NAME(VFRONT_E_GYRO)
        NAME(VFRONT_E_PRIOR)
        NAME(VFRONT_E_PORT)
        NAME(VFRONT_E_NO_DEVICE)
        NAME(VFRONT_E_DRIVER)
        NAME(VFRONT_E_DEVICE_MEMORY)
        NAME(VFRONT_E_DEVICE)
        NAME(VFRONT_E_TIMEOUT)
        NAME(VFRONT_E_ABANDONED)
        NAME(VFRONT_E_STICKY)
        NAME(VFRONT_E_IMU)
        NAME(VFRONT_E_NAV)
        NAME(VFRONT_E_MAP)
        NAME(VFRONT_E_MAP_OTHER)
        NAME(VFRONT_E_MAP_TWICE)
#undef NAME
    }
    return "unknown status";
}

/* ---- the text ---------------------------------------------------------------------------------------------------- */

void vf_text_put(struct vf_text *t, const char *text)
{
    while (*text && t->to < t->end) *t->to++ = *text++;
    *t->to = 0;
}

void vf_text_number(struct vf_text *t, uint64_t number)
{
    char digit[21];
    int n = sizeof digit - 1;
    digit[n] = 0;
    do digit[--n] = (char)('0' + number % 10);
    while (number /= 10);
    vf_text_put(t, digit + n);
}

static void vf_text_signed(struct vf_text *t, int32_t number)
{
    if (number < 0) vf_text_put(t, "-");
    vf_text_number(t, number < 0 ? 0u - (uint32_t)number : (uint32_t)number);
}

struct vf_text vf_text_begin(struct vf_context *s)
{
    s->self = s;
    return (struct vf_text){s->detail, s->detail + sizeof s->detail - 1};
}

vfront_status_t vf_refuse(struct vf_context *s, vfront_status_t status, const char *what, int32_t index,
                          const char *rest)
{
    struct vf_text t = vf_text_begin(s);
    vf_text_put(&t, "");
    for (; *what; what++) {
        if (what[0] == '%' && what[1] == 'd') {
            vf_text_signed(&t, index);
            what++;
        } else if (what[0] == '%' && what[1] == 's') {
            vf_text_put(&t, rest);
            what++;
        } else {
            vf_text_put(&t, (const char[2]){*what});
        }
    }
    return status;
}

vfront_status_t vf_refuse_range(struct vf_context *s, vfront_status_t status, const char *what, int32_t index,
                                int32_t value, const int32_t range[2], const char *bound)
{
    vf_refuse(s, status, what, index, "");
    struct vf_text t = vf_text_begin(s);
    t.to += strlen(s->detail);
    vf_text_put(&t, " = ");
    vf_text_signed(&t, value);
    vf_text_put(&t, " is not in ");
    vf_text_signed(&t, range[0]);
    vf_text_put(&t, "..");
    vf_text_signed(&t, range[1]);
    vf_text_put(&t, ", ");
    vf_text_put(&t, bound);
    return status;
}

int vf_refuse_is_copy(const vfront_t *vf)
{
    for (size_t offset = 0; offset < 64; offset += 8) {
        const char *block = (const char *)vf + offset;
        uint64_t magic;
        const void *self;
        memcpy(&magic, block + offsetof(struct vf_context, magic), sizeof magic);
        memcpy(&self, block + offsetof(struct vf_context, self), sizeof self);
        if (magic == VF_MAGIC && self != block) return 1;
    }
    return 0;
}

const char *vfront_detail(const vfront_t *vf)
{
    if (!vf || (uintptr_t)vf % 8) return "";
    const struct vf_context *s = vf_context_of(vf);
    if (s->self == s) return s->detail;
    return vf_refuse_is_copy(vf) ? "copied or moved after vfront_init(): vfront_t" : "";
}
