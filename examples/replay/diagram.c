/* SPDX-License-Identifier: MIT */
#include "diagram.h"

#include <math.h>

double diagram_x(const struct diagram *p, double v) { return p->left + (v - p->from[0]) * p->px[0]; }

double diagram_y(const struct diagram *p, double v) { return p->top + p->height - (v - p->from[1]) * p->px[1]; }

double diagram_step(double extent, double parts)
{
    static const double round[3] = {5.0, 2.0, 1.0};
    double power = pow(10.0, floor(log10(extent / parts)));
    for (int i = 0; i < 3; i++)
        if (round[i] * power <= extent / parts) return round[i] * power;
    return power;
}

int diagram_decimals(double step)
{
    const int power = (int)floor(log10(step) + 1e-9);
    return power < 0 ? -power : 0;
}

void diagram_text(FILE *f, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", f);
        else if (*text == '&')
            fputs("&amp;", f);
        else if ((unsigned char)*text >= ' ')
            fputc(*text, f);
    }
}

void diagram_begin(FILE *f, int width, int height, double left, const char *title)
{
    fprintf(f,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' viewBox='0 0 %d %d' font-family='DejaVu "
            "Sans,Helvetica,"
            "Arial,sans-serif' font-size='12' fill='#222'>\n<rect width='100%%' height='100%%' fill='#fff'/>\n",
            width, height, width, height);
    fprintf(f, "<text x='%.1f' y='32' font-size='16'>", left);
    diagram_text(f, title);
    fputs("</text>\n", f);
}

static void draw_ticks(FILE *f, const struct diagram *p, int axis)
{
    const double step = diagram_step(p->to[axis] - p->from[axis], axis || p->width < 400 ? 5 : 7);
    const int decimals = diagram_decimals(step);
    for (double i = ceil(p->from[axis] / step); i * step <= p->to[axis]; i++) {
        const double v = i * step + 0.0, x = diagram_x(p, v), y = diagram_y(p, v); /* never -0 */
        if (axis)
            fprintf(
                f,
                "<path d='M%.1f %.1fh%.1f' stroke='#e4e4e4'/><text x='%.1f' y='%.1f' text-anchor='end'>%.*f</text>\n",
                p->left, y, p->width, p->left - 7, y + 4, decimals, v);
        else
            fprintf(f,
                    "<path d='M%.1f %.1fv%.1f' stroke='#e4e4e4'/><text x='%.1f' y='%.1f' "
                    "text-anchor='middle'>%.*f</text>\n",
                    x, p->top, p->height, x, p->top + p->height + 17, decimals, v);
    }
}

void diagram_axes(FILE *f, const struct diagram *p)
{
    draw_ticks(f, p, 0);
    draw_ticks(f, p, 1);
    fprintf(f, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='none' stroke='#888'/>\n", p->left, p->top,
            p->width, p->height);
    if (p->name[0])
        fprintf(f, "<text x='%.1f' y='%.1f' text-anchor='middle'>%s</text>\n", p->left + p->width / 2,
                p->top + p->height + 36, p->name[0]);
    if (p->name[1])
        fprintf(f, "<text transform='translate(%.1f %.1f) rotate(-90)' text-anchor='middle'>%s</text>\n", p->left - 54,
                p->top + p->height / 2, p->name[1]);
}
