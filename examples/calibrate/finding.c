/* SPDX-License-Identifier: MIT */
#include "finding.h"

#include <math.h>
#include <string.h>

/** Continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1.0, d = 1.0 - (a + b) * x / (a + 1.0);
    d = 1.0 / (fabs(d) < tiny ? tiny : d);
    double h = d;
    for (int m = 1; m <= 400; m++) {
        const double term[2] = {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                                -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))};
        double factor = 1.0;
        for (int i = 0; i < 2; i++) {
            d = 1.0 + term[i] * d;
            c = 1.0 + term[i] / c;
            d = 1.0 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            factor = c * d;
            h *= factor;
        }
        if (fabs(factor - 1.0) < 1e-14) break;
    }
    return h;
}

/** Regularised incomplete beta function. */
static double beta(double a, double b, double x)
{
    if (x <= 0.0 || x >= 1.0) return x <= 0.0 ? 0.0 : 1.0;
    const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1.0) / (a + b + 2.0) ? front * beta_fraction(a, b, x) / a
                                         : 1.0 - front * beta_fraction(b, a, 1.0 - x) / b;
}

double finding_student(double t, double dof)
{
    if (dof > 1e6) return erfc(fabs(t) / sqrt(2.0));
    return beta(0.5 * dof, 0.5, dof / (dof + t * t));
}

/** Deviation of value and tolerance together, and its degrees of freedom (Welch and Satterthwaite): the tolerance is
 *  known, the deviation by the recording is an estimate. */
static double total(const finding_t *f, double *dof)
{
    const double sum = hypot(f->sigma, f->tolerance), share = f->sigma / sum;
    *dof = f->sigma > 0.0 ? f->dof / (share * share * share * share) : HUGE_VAL;
    return sum;
}

static double probability(const finding_t *f, double deviation)
{
    double dof;
    const double sum = total(f, &dof), p = f->axes * finding_student(deviation / sum, dof);
    return p < 1.0 ? p : 1.0;
}

double finding_limit(const finding_t *f)
{
    double least = 0.0, most = 1e3 * hypot(f->sigma, f->tolerance);
    for (int i = 0; i < 80; i++) {
        const double middle = 0.5 * (least + most);
        *(probability(f, middle) > FINDING_LIMIT ? &least : &most) = middle;
    }
    return most;
}

finding_t *finding_add(findings_t *all, const finding_t *f)
{
    finding_t *to = &all->of[all->count < FINDINGS ? all->count++ : FINDINGS - 1];
    *to = *f;
    to->axes = f->axes > 1 ? f->axes : 1;
    to->probability = isfinite(f->sigma) ? probability(to, fabs(f->value - f->expected)) : 1.0;
    to->decision = to->probability < FINDING_LIMIT               ? FINDING_WRONG
                   : !(f->sigma <= FINDING_VAGUE * f->tolerance) ? FINDING_UNKNOWN
                                                                 : FINDING_GOOD;
    return to;
}

finding_t *finding_unknown(findings_t *all, const char *name, const char *why, const char *advice)
{
    finding_t f = {.name = name, .unit = "", .sigma = HUGE_VAL, .tolerance = 1.0, .dof = 1.0};
    finding_t *to = finding_add(all, &f);
    snprintf(to->text, sizeof to->text, "%s", why);
    snprintf(to->advice, sizeof to->advice, "%s", advice);
    return to;
}

static void print_row(FILE *f, const finding_t *x)
{
    static const char *const decision[] = {"good", "WRONG", "unknown"};
    if (!isfinite(x->sigma)) {
        fprintf(f, "  %-34s %-46s %s\n", x->name, "-", decision[x->decision]);
        return;
    }
    char found[48], bound[32], chance[16];
    snprintf(found, sizeof found, "%.4g +- %.2g %s", x->value, x->sigma, x->unit);
    snprintf(bound, sizeof bound, "%.4g +- %.2g", x->expected, finding_limit(x));
    snprintf(chance, sizeof chance, x->probability < 1e-4 ? "< 0.0001" : "%.4f", x->probability);
    fprintf(f, "  %-34s %-22s %-15s %8s %s\n", x->name, found, bound, chance, decision[x->decision]);
}

int findings_print(FILE *f, const findings_t *all)
{
    int wrong = 0, unknown = 0;
    fprintf(f, "  %-34s %-22s %-15s %8s %s\n", "check", "found", "right", "chance", "verdict");
    for (int i = 0; i < all->count; i++) print_row(f, &all->of[i]);
    for (int i = 0; i < all->count; i++) {
        const finding_t *x = &all->of[i];
        wrong += x->decision == FINDING_WRONG;
        unknown += x->decision == FINDING_UNKNOWN;
        if (x->decision == FINDING_GOOD || !(*x->text || *x->advice)) continue;
        fprintf(f, "\n%s: %s%s%s\n", x->name, x->text, *x->text && *x->advice ? "\n  " : "", x->advice);
    }
    fprintf(f, "\n\"chance\": that a good calibration shows this much or more; below %g it is called wrong.\n",
            FINDING_LIMIT);
    fputs(wrong ? "the calibration does not fit the recording:" : "the calibration fits the recording", f);
    for (int i = 0, named = 0; i < all->count; i++)
        if (all->of[i].decision == FINDING_WRONG) fprintf(f, "%s %s", named++ ? "," : "", all->of[i].name);
    if (unknown) fprintf(f, "; %d of %d checks need more than it shows", unknown, all->count);
    fputc('\n', f);
    return wrong > 0;
}
