/* SPDX-License-Identifier: MIT
 *
 * Diagrams in an SVG: begin of the file, axes with ticks, text.
 */
#ifndef DIAGRAM_H
#define DIAGRAM_H

#include <stdio.h>

/** Diagram with two axes: value v of the horizontal axis is drawn at left + (v - from[0]) * px[0]. */
struct diagram {
    double left, top, width, height;
    double from[2], to[2], px[2];
    const char *name[2]; /* NULL: the axis has no name */
};

/** Place of a value on an axis [px]. */
double diagram_x(const struct diagram *p, double v);
double diagram_y(const struct diagram *p, double v);

/** Largest of 1, 2 or 5 times a power of ten that fits at least `parts` times into an extent. */
double diagram_step(double extent, double parts);

/** Decimals needed to print multiples of a step. */
int diagram_decimals(double step);

/** Begin a white picture with a title; "</svg>" ends it. */
void diagram_begin(FILE *f, int width, int height, double left, const char *title);

/** Text, with what XML does not take as it is. */
void diagram_text(FILE *f, const char *text);

/** Frame, lines at round values, their numbers, names of the axes. */
void diagram_axes(FILE *f, const struct diagram *p);

#endif
