/* SPDX-License-Identifier: MIT */
/* What bridges that take tuning values as text share: "name=value name=value", and a line on what went wrong. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdlib.h>
#include <string.h>

#include "vfront.h"

static char detail[256];

const char *bridge_detail(void);

/** One line on why the last call failed. */
const char *bridge_detail(void) { return detail; }

static void set_detail(const char *text)
{
    strncpy(detail, text, sizeof detail - 1);
}

/** Takes "name=value name=value" over into the tuning. */
static vfront_status_t tune(vfront_tuning_t *t, const char *settings)
{
    while (*(settings += strspn(settings, " "))) {
        char name[64] = "";
        const size_t length = strcspn(settings, "= ");
        vfront_status_t status = VFRONT_E_TUNING;
        if (length < sizeof name && settings[length] == '=') {
            memcpy(name, settings, length);
            status = vfront_tuning_set(t, name, (int32_t)strtol(settings + length + 1, NULL, 10));
        }
        if (status) {
            set_detail(settings);
            return status;
        }
        settings += strcspn(settings, " ");
    }
    return VFRONT_OK;
}

#endif
