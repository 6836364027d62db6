/* SPDX-License-Identifier: MIT */
#include "fault_log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fault_log {
    FILE *file;
    char path[4400];
};

static const char *fail(const struct fault_log *log)
{
    static char message[4600];
    snprintf(message, sizeof message, "%s: %s", log->path, strerror(errno));
    return message;
}

const char *fault_log_open(fault_log_t **out, const char *folder)
{
    static struct fault_log failed; /* keeps the path of a message */
    struct fault_log *log = calloc(1, sizeof *log);
    *out = NULL;
    if (!log) return "faults.csv: no memory";
    snprintf(log->path, sizeof log->path, "%s/faults.csv", folder);
    log->file = fopen(log->path, "w");
    if (!log->file) {
        failed = *log;
        free(log);
        return fail(&failed);
    }
    *out = log;
    fputs("input,t_ns,faults,status,frame\n", log->file);
    return fflush(log->file) ? fail(log) : NULL;
}

const char *fault_log_row(fault_log_t *log, uint32_t input, uint64_t t_ns, const char *faults, const char *status,
                          const vfront_result_t *result)
{
    errno = 0;
    fprintf(log->file, "%" PRIu32 ",%" PRIu64 ",%s,%s,", input, t_ns, faults, status);
    if (result) fprintf(log->file, "%" PRIu64, result->frame);
    fputc('\n', log->file);
    return fflush(log->file) || ferror(log->file) ? fail(log) : NULL;
}

const char *fault_log_close(fault_log_t *log)
{
    if (!log) return NULL;
    const char *error = fclose(log->file) ? fail(log) : NULL;
    free(log);
    return error;
}
