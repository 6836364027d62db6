/* SPDX-License-Identifier: MIT */
/* Compares the values that application and library must agree on: configuration, sizes of structs, ABI version. */
#include "handshake.h"

#include "refuse.h"

static const vfront_value_t own_value[] = {VFRONT_VALUES};
#define OWN_VALUES (sizeof own_value / sizeof *own_value)

/** Address of the value called `name` in a list of `count` values; NULL: none. */
static const uint64_t *value_of(const vfront_value_t *values, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(values[i].name, name)) return &values[i].value;
    return NULL;
}

/** First name whose value differs between application and library, or is missing in one of them; NULL: none. */
static const char *first_difference(const vfront_value_t *values, size_t count)
{
    for (size_t i = 0; i < OWN_VALUES; i++) {
        const uint64_t *theirs = value_of(values, count, own_value[i].name);
        if (!theirs || *theirs != own_value[i].value) return own_value[i].name;
    }
    for (size_t i = 0; i < count; i++)
        if (!value_of(own_value, OWN_VALUES, values[i].name)) return values[i].name;
    return NULL;
}

static void put_side(struct vf_text *t, const uint64_t *value, const char *side)
{
    if (value)
        vf_text_number(t, *value);
    else
        vf_text_put(t, "unknown");
    vf_text_put(t, side);
}

vfront_status_t vf_handshake(vfront_t *vf, const vfront_value_t *values, size_t count)
{
    struct vf_context *s = vf_context_of(vf);
    const uint64_t *bytes = value_of(values, count, "sizeof(vfront_t)");
    const char *name = first_difference(values, count);
    if (!name) return VFRONT_OK;
    if (!bytes || *bytes < (uint64_t)((char *)s - (char *)vf) + offsetof(struct vf_context, magic))
        return VFRONT_E_CONFIG;
    struct vf_text t = vf_text_begin(s);
    vf_text_put(&t, name);
    vf_text_put(&t, ": ");
    put_side(&t, value_of(values, count, name), " in the application, ");
    put_side(&t, value_of(own_value, OWN_VALUES, name), " in the library");
    return VFRONT_E_CONFIG;
}
