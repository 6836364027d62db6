/* SPDX-License-Identifier: MIT
 *
 * A finding: one value of a calibration as the recording shows it, beside what it would be if the calibration were
 * right, and the decision. The decision is a probability, not a length: that of a deviation as large as this one, where
 * the calibration has the errors of a good one (`tolerance`) and the recording shows the value with `sigma`.
 */
#ifndef FINDING_H
#define FINDING_H

#include <stdio.h>

#define FINDING_LIMIT 0.001 /* probability below which a calibration is called wrong */
#define FINDING_VAGUE 3.0   /* a deviation of this many tolerances would not be seen: unknown */
#define FINDINGS 24

typedef enum decision { FINDING_GOOD, FINDING_WRONG, FINDING_UNKNOWN } decision_t;

typedef struct finding {
    const char *name, *unit; /* "time offset of camera and IMU", "ms" */
    double value, expected;  /* as the recording shows it; if the calibration is right */
    double sigma;            /* of value, by the recording; INFINITY: not seen */
    double tolerance;        /* standard deviation of that error in a good calibration */
    double dof;              /* degrees of freedom of sigma: stretches less one */
    int axes;                /* number of values judged together: the probability is that of any of them */
    double probability;
    decision_t decision;
    char text[240];   /* what it means, in a sentence; "" */
    char advice[360]; /* what to do; "" */
} finding_t;

typedef struct findings {
    finding_t of[FINDINGS];
    int count;
} findings_t;

/** Add a finding and judge it. It belongs to `all`, for text and advice. */
finding_t *finding_add(findings_t *all, const finding_t *f);

/** One that the recording cannot show, and why not. */
finding_t *finding_unknown(findings_t *all, const char *name, const char *why, const char *advice);

/** Deviation that would be called wrong [unit]. */
double finding_limit(const finding_t *f);

/** Probability of |t| or more in Student's distribution; dof may be INFINITY. */
double finding_student(double t, double dof);

/** Table, then what each finding means and what to do, then one line on all. Returns 1 if one is wrong. */
int findings_print(FILE *f, const findings_t *all);

#endif
