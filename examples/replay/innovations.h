/* SPDX-License-Identifier: MIT */
/* Tests of the state, as rows of text. */
#ifndef INNOVATIONS_H
#define INNOVATIONS_H

#include <stdio.h>

#include "vfront.h"

/** Header of innovations.csv, and a row for each test of a result's state. Values that were not compared are empty. */
void innovations_header(FILE *file);
void innovations_rows(FILE *file, const vfront_result_t *result);

#endif
