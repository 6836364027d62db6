/* SPDX-License-Identifier: MIT */
#include "innovations.h"

#include <inttypes.h>
#include <math.h>

void innovations_header(FILE *f)
{
    fputs("frame,t_ns,test,ratio,px,py,pz,rx_rad,ry_rad,rz_rad,vx,vy,vz,sigma_px,sigma_py,sigma_pz,sigma_rx_rad,"
          "sigma_ry_rad,sigma_rz_rad,sigma_vx,sigma_vy,sigma_vz\n",
          f);
}

/** Values that were compared, or their deviations. */
static void write_compared(FILE *f, const vfront_innovation_t *test, int sigmas)
{
    for (int k = 0; k < 9; k++)
        if (test->variance[k] > 0.0)
            fprintf(f, ",%.17g", sigmas ? sqrt(test->variance[k]) : test->value[k]);
        else
            fputc(',', f);
}

void innovations_rows(FILE *f, const vfront_result_t *r)
{
    static const char *const name[VFRONT_TESTS] = {"motion", "all", "no-accel", "no-imu"};
    for (int i = 0; i < VFRONT_TESTS; i++) {
        const vfront_innovation_t *test = &r->innovation[i];
        if (!(test->test_ratio > 0.0)) continue;
        fprintf(f, "%" PRIu64 ",%" PRIu64 ",%s,%.17g", r->frame, r->t_ns, name[i], test->test_ratio);
        write_compared(f, test, 0);
        write_compared(f, test, 1);
        fputc('\n', f);
    }
}
