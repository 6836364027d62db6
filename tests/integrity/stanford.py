# SPDX-License-Identifier: MIT
"""Stanford diagrams as SVG: frames by error and by protection level, both logarithmic.

A frame is alarmed where the result has an alert or the level is over the alert limit; these are shown apart where the error is beyond the level. Of
the others, it is nominal where the error is within the level, else misleading, and hazardously misleading where the error is over the limit, too."""
import numpy as np

BINS, BIN_A_DECADE, LEAST = 80, 10, 1e-4
QUANTITIES = {"p": ("position", "m", 1.0, 1), "a": ("attitude", "deg", 5.0, 180 / np.pi), "v": ("velocity", "m/s", 1.0, 1)}
COLOURS = {"nominal": "#3465a4", "alarmed": "#9a9a9a", "alarmed, beyond": "#c4a000", "misleading": "#f57900", "hazardously misleading": "#cc0000"}
DECADES, SIDE, LEFT, TOP = (-4, 3), 420, 64, 80


def parse(texts):
    """Counts [quantity, error, level, alert] of the columns `diagram` of all runs."""
    counts = np.zeros((3, BINS, BINS, 2), int)
    for text in texts:
        for cell in text.split():
            x, y, alert, n = cell[1:].split(":")
            counts["pav".index(cell[0]), int(x), int(y), int(alert)] += int(n)
    return counts


def regions(key):
    """Names of the regions [error, level, alert]. Limit and bins are those of drawn_integrity.h."""
    _, _, limit, unit = QUANTITIES[key]
    middle = LEAST * 10 ** ((np.arange(BINS) + 0.5) / BIN_A_DECADE)
    error, level = np.meshgrid(middle, middle, indexing="ij")
    limit /= unit
    names = np.where(error <= level, "nominal", np.where(error > limit, "hazardously misleading", "misleading")).astype(object)
    alarmed = np.where(error <= level, "alarmed", "alarmed, beyond").astype(object)
    names[level > limit] = alarmed[level > limit]
    return np.stack((names, alarmed), axis=-1)


def shares(counts, key):
    """Frames of each region."""
    names, cells = regions(key), counts["pav".index(key)]
    return {name: int(cells[names == name].sum()) for name in COLOURS}


def place(value, unit, vertical):
    """Pixel of a value in the quantity's unit of the diagram."""
    at = (np.log10(value / unit) - DECADES[0]) / (DECADES[1] - DECADES[0]) * SIDE
    return TOP + SIDE - at if vertical else LEFT + at


def cell(x, y, frames, most):
    size = SIDE // (DECADES[1] - DECADES[0]) // BIN_A_DECADE
    shade = 0.25 + 0.75 * np.log1p(frames) / np.log1p(most)
    return f'<path d="M{LEFT + x * size} {TOP + SIDE - (y + 1) * size}h{size}v{size}h-{size}z" fill-opacity="{shade:.2g}"/>'


def axes(key):
    name, shown, limit, unit = QUANTITIES[key]
    lines = [f'<rect x="{LEFT}" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#000"/>']
    for decade in range(DECADES[0], DECADES[1] + 1):
        x, y = place(10.0**decade, 1, False), place(10.0**decade, 1, True)
        label = f"{unit * 10.0**decade:.3g}"
        lines.append(f'<text x="{x:.0f}" y="{TOP + SIDE + 16}" text-anchor="middle">{label}</text>')
        lines.append(f'<text x="{LEFT - 6}" y="{y + 4:.0f}" text-anchor="end">{label}</text>')
    x, y = place(limit, unit, False), place(limit, unit, True)
    lines.append(f'<path d="M{LEFT} {TOP + SIDE}L{LEFT + SIDE} {TOP}M{LEFT} {y:.1f}H{LEFT + SIDE}M{x:.1f} {TOP}V{TOP + SIDE}" stroke="#000" stroke-dasharray="4 3"/>')
    lines.append(f'<text x="{LEFT + SIDE / 2}" y="{TOP + SIDE + 34}" text-anchor="middle">error of the {name} [{shown}]</text>')
    lines.append(f'<text transform="translate(14 {TOP + SIDE / 2}) rotate(-90)" text-anchor="middle">level [{shown}]</text>')
    return lines


def write(path, counts, key, title):
    cells, names = counts["pav".index(key)], regions(key)
    most, drawn = max(1, cells.max()), []
    last = (DECADES[1] - DECADES[0]) * BIN_A_DECADE - 1
    shown = {}
    for x, y, alert in zip(*np.nonzero(cells)):
        at = (min(x, last), min(y, last), names[x, y, alert])
        shown[at] = shown.get(at, 0) + int(cells[x, y, alert])
    for name, colour in sorted(COLOURS.items(), key=lambda item: not item[0].startswith("alarmed")):
        drawn.append(f'<g fill="{colour}">')
        drawn += [cell(x, y, frames, most) for (x, y, of), frames in sorted(shown.items()) if of == name]
        drawn.append("</g>")
    of = shares(counts, key)
    total = max(1, sum(of.values()))
    legend = [f'<tspan x="{LEFT + 210 * (i % 2)}" y="{30 + 16 * (i // 2)}" fill="{COLOURS[n]}">{n}: {100 * of[n] / total:.2f} %</tspan>' for i, n in enumerate(COLOURS)]
    with open(path, "w") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + SIDE + 20}" height="{TOP + SIDE + 44}" font-family="sans-serif" font-size="12">\n')
        file.write(f'<rect width="100%" height="100%" fill="#fff"/>\n<text x="{LEFT}" y="14">{title}</text>\n<text>{"".join(legend)}</text>\n')
        file.write("\n".join(drawn + axes(key)) + "\n</svg>\n")
