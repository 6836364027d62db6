/* SPDX-License-Identifier: MIT */
/* Thresholds of normalised squares: quantiles of the chi-square distribution. VF_CHI2_n_E6: n degrees of freedom,
 * exceeded by chance once in 10^6, so what exceeds it contradicts. VF_CHI2_n_E2: once in 100, so what stays below it
 * fits. VF_NORMAL_E6: of the normal distribution, on one side. tests/house/constants.py computes all again. */
#ifndef VF_MATH_CHI2_H
#define VF_MATH_CHI2_H

#define VF_CHI2_1_E6 23.9281
#define VF_CHI2_2_E6 27.6310
#define VF_CHI2_3_E6 30.6648
#define VF_CHI2_6_E6 38.2583

#define VF_CHI2_1_E2 6.63490
#define VF_CHI2_2_E2 9.21034
#define VF_CHI2_6_E2 16.8119

#define VF_NORMAL_E6 4.75342

#endif
