/* SPDX-License-Identifier: MIT
 *
 * Pictures of the rendered flight: filtered texture, antialiased edges, exposure and noise.
 */
#include "renderer.h"

/** Bilinear sample of one mip level [grey level * 256], at coordinates in 1/65536 texel of level 0. */
static int32_t sample_level(const synthetic_t *f, enum texture texture, int level, int32_t s_q16, int32_t t_q16)
{
    const uint8_t *grey = f->texture[texture] + f->level_offset[level];
    const int32_t mask = (TEXTURE_SIZE >> level) - 1;
    const int32_t s = (s_q16 >> level) - 32768, t = (t_q16 >> level) - 32768; /* a texel's centre is half a texel in */
    const int32_t x0 = (s >> 16) & mask, x1 = (x0 + 1) & mask, y0 = (t >> 16) & mask, y1 = (y0 + 1) & mask;
    const int32_t wx = (s >> 8) & 255, wy = (t >> 8) & 255;
    const uint8_t *top = grey + (size_t)y0 * (size_t)(mask + 1), *bottom = grey + (size_t)y1 * (size_t)(mask + 1);
    const int32_t upper = top[x0] * (256 - wx) + top[x1] * wx, lower = bottom[x0] * (256 - wx) + bottom[x1] * wx;
    return (upper * (256 - wy) + lower * wy) >> 8;
}

/** Sample between two mip levels, level_q8 in 1/256 level [grey level * 256]. */
static int32_t sample(const synthetic_t *f, enum texture texture, int32_t level_q8, int32_t s_q16, int32_t t_q16)
{
    const int level = level_q8 >> 8;
    const int32_t blend = level_q8 & 255;
    const int32_t fine = sample_level(f, texture, level, s_q16, t_q16);
    if (!blend) return fine;
    return fine + ((sample_level(f, texture, level + 1, s_q16, t_q16) - fine) * blend >> 8);
}

/** log2(sqrt(v)) * 256 from the bits of v, at least 0: exact at powers of two, linear between. */
static int32_t half_log2_q8(double v)
{
    if (!(v > 1.0)) return 0;
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    const int32_t level_q8 = (int32_t)((int64_t)(bits >> 44) - (1023 << 8)) >> 1;
    const int32_t max = (TEXTURE_LEVELS - 1) << 8;
    return level_q8 < max ? level_q8 : max;
}

/** Texture coordinate [texel] in 1/65536 texel; clamped, because it is unbounded outside of its panel. */
static int32_t texels_q16(double v) { return (int32_t)((!(v > 256.0) ? 256.0 : v > 32000.0 ? 32000.0 : v) * 65536.0); }

/**
 * Brightness of a panel at a position of the picture [grey level * 256], by anisotropic filtering. `pixel` is the
 * side of the filtered area [px]. Its footprint on the texture is elongated at grazing angles: the mip level follows
 * from its shorter axis, up to eight samples lie along its longer one.
 */
static int32_t shade(const synthetic_t *f, int32_t panel, double x, double y, double pixel)
{
    const struct projected_panel *v = &f->projected[panel];
    const struct panel *p = &f->panel[panel];
    const double depth = 1.0 / value_at(&v->inverse_depth, x, y), by = depth * pixel;
    const double s = value_at(&v->s, x, y) * depth, t = value_at(&v->t, x, y) * depth;
    double along[2] = {(v->s.k[0] - s * v->inverse_depth.k[0]) * by, (v->t.k[0] - t * v->inverse_depth.k[0]) * by};
    double across[2] = {(v->s.k[1] - s * v->inverse_depth.k[1]) * by, (v->t.k[1] - t * v->inverse_depth.k[1]) * by};
    double longer = along[0] * along[0] + along[1] * along[1], shorter = across[0] * across[0] + across[1] * across[1];
    if (shorter > longer) {
        const double swap = longer;
        longer = shorter;
        shorter = swap;
        memcpy(along, across, sizeof along);
    }
    const double wide = shorter > longer / 64.0 ? shorter : longer / 64.0;
    const int32_t level_q8 = half_log2_q8(wide);
    int taps = 1;
    while (taps < 8 && longer > (double)(taps * taps) * (wide > 1.0 ? wide : 1.0)) taps++;
    int32_t sum = 0;
    for (int i = 0; i < taps; i++) {
        const double shift = (i + 0.5) / taps - 0.5;
        sum += sample(f, p->texture, level_q8, texels_q16(s + along[0] * shift), texels_q16(t + along[1] * shift));
    }
    return sum / taps * p->shade_q8 >> 8;
}

/** Distinct panels at a pixel and its eight neighbours. Returns their number. */
static int panels_around(const synthetic_t *f, int32_t x, int32_t y, int32_t found[9])
{
    int count = 0;
    for (int32_t v = y > 0 ? y - 1 : 0; v <= y + 1 && v < f->height; v++)
        for (int32_t u = x > 0 ? x - 1 : 0; u <= x + 1 && u < f->width; u++) {
            const int32_t panel = f->visible[(size_t)v * (size_t)f->width + (size_t)u];
            int i = 0;
            while (i < count && found[i] != panel) i++;
            if (i == count) found[count++] = panel;
        }
    return count;
}

/** 1 if a pixel's panel differs from that of one of its four neighbours. */
static int is_on_panel_edge(const synthetic_t *f, int32_t x, int32_t y)
{
    const uint8_t *at = f->visible + (size_t)y * (size_t)f->width + (size_t)x;
    return (x > 0 && at[-1] != at[0]) || (x + 1 < f->width && at[1] != at[0]) || (y > 0 && at[-f->width] != at[0]) ||
           (y + 1 < f->height && at[f->width] != at[0]);
}

/** Brightness of a pixel on the edge of a panel: mean of 4 x 4 rays [grey level * 256]. */
static int32_t shade_edge(const synthetic_t *f, int32_t x, int32_t y)
{
    int32_t around[9], sum = 0;
    const int count = panels_around(f, x, y, around);
    for (int i = 0; i < 16; i++) {
        const double u = x + ((i & 3) - 1.5) * 0.25, v = y + ((i >> 2) - 1.5) * 0.25;
        double nearest = 0.0;
        int32_t panel = NO_PANEL;
        for (int k = 0; k < count; k++) {
            const double inverse_depth = around[k] == NO_PANEL ? 0.0 : inverse_depth_at(&f->projected[around[k]], u, v);
            if (!(inverse_depth > nearest)) continue;
            nearest = inverse_depth;
            panel = around[k];
        }
        if (panel == NO_PANEL)
            panel = f->visible[(size_t)y * (size_t)f->width + (size_t)x]; /* just outside of an outer edge */
        if (panel != NO_PANEL) sum += shade(f, panel, u, v, 0.25);
    }
    return sum / 16;
}

/** Noise of two neighbouring pixels [grey level * 256], nearly normal with a standard deviation of 1.3 grey levels. */
static void pixel_pair_noise(uint64_t key, int32_t noise_q8[2])
{
    const uint64_t r = synthetic_hash(key);
    for (int i = 0; i < 2; i++) {
        const uint32_t four = (uint32_t)(r >> 32 * i);
        const int32_t sum = (int32_t)((four & 255) + (four >> 8 & 255) + (four >> 16 & 255) + (four >> 24));
        noise_q8[i] = (sum - 510) * 9 / 4;
    }
}

/** Light on a pixel [grey level * 256]. */
static int32_t irradiance_at(const synthetic_t *f, int32_t x, int32_t y)
{
    const int32_t panel = f->visible[(size_t)y * (size_t)f->width + (size_t)x];
    return is_on_panel_edge(f, x, y) ? shade_edge(f, x, y) : panel == NO_PANEL ? 0 : shade(f, panel, x, y, 1.0);
}

/** One row of a picture. exposure_q8: gain [1/4096] and offset [grey level * 256]. */
static void render_row(const synthetic_t *f, int32_t y, uint64_t key, const int32_t exposure_q8[2], uint8_t *row)
{
    int32_t noise_q8[2] = {0, 0};
    for (int32_t x = 0; x < f->width; x++) {
        if (x % 2 == 0) pixel_pair_noise(key + (uint64_t)y * 4096 + (uint64_t)x, noise_q8);
        const int32_t grey_q8 = irradiance_at(f, x, y) * exposure_q8[0] / 4096 + exposure_q8[1] + noise_q8[x % 2] + 128;
        row[x] = (uint8_t)(grey_q8 < 0 ? 0 : grey_q8 > 65535 ? 255 : grey_q8 >> 8);
    }
}

void synthetic_render_from(synthetic_t *f, uint32_t frame, const double R_world_cam[9], const double t_world_cam[3],
                           int32_t camera, uint8_t *pixels, size_t pitch_bytes)
{
    double gain, offset_grey;
    synthetic_photometric(frame, camera, &gain, &offset_grey);
    const int32_t exposure[2] = {(int32_t)(gain * 4096.0), (int32_t)(offset_grey * 256.0)};
    synthetic_project_panels(f, R_world_cam, t_world_cam, camera);
    for (int32_t y = 0; y < f->height; y++) synthetic_resolve_row(f, y);
    const uint64_t key = synthetic_hash((uint64_t)frame * SYNTHETIC_CAMERAS + (uint64_t)camera);
    for (int32_t y = 0; y < f->height; y++) render_row(f, y, key, exposure, pixels + (size_t)y * pitch_bytes);
}

void synthetic_render(synthetic_t *f, uint32_t frame, int32_t camera, uint8_t *pixels, size_t pitch_bytes)
{
    double R[9], t[3];
    synthetic_pose(frame, R, t);
    synthetic_render_from(f, frame, R, t, camera, pixels, pitch_bytes);
}

/* ---- exposures of other flights ---------------------------------------------------------------------------------- */

void synthetic_gather(synthetic_t *f, const double R_world_cam[9], const double t_world_cam[3], int32_t camera,
                      uint32_t *irradiance)
{
    synthetic_project_panels(f, R_world_cam, t_world_cam, camera);
    for (int32_t y = 0; y < f->height; y++) synthetic_resolve_row(f, y);
    for (int32_t y = 0; y < f->height; y++)
        for (int32_t x = 0; x < f->width; x++) *irradiance++ += (uint32_t)irradiance_at(f, x, y);
}

/** Deviations of the noise by grey level, relative to that of pixel_pair_noise() [1/256]. */
static void sensor_noise(const synthetic_sensor_t *sensor, int32_t factor_q8[256])
{
    for (int i = 0; i < 256; i++) {
        const double read = sensor->gain * sensor->read_grey;
        const double photons = sensor->electrons > 0.0 ? sensor->gain * 255.0 * i / sensor->electrons : 0.0;
        factor_q8[i] = (int32_t)(square_root(read * read + photons + 1e-6) / 1.3 * 256.0);
    }
}

void synthetic_expose(const synthetic_t *f, const uint32_t *irradiance, uint32_t moments,
                      const synthetic_sensor_t *sensor, uint8_t *pixels, size_t pitch_bytes)
{
    const int64_t gain_q12 = (int64_t)(sensor->gain * 4096.0), offset_q8 = (int64_t)(sensor->offset_grey * 256.0) + 128;
    int32_t factor_q8[256], noise_q8[2] = {0, 0};
    sensor_noise(sensor, factor_q8);
    for (int32_t y = 0; y < f->height; y++)
        for (int32_t x = 0; x < f->width; x++) {
            if (x % 2 == 0) pixel_pair_noise(sensor->key + (uint64_t)y * 4096 + (uint64_t)x, noise_q8);
            const int64_t clean_q8 = (int64_t)(*irradiance++ / moments) * gain_q12 / 4096 + offset_q8;
            const int32_t level = clean_q8 < 0 ? 0 : clean_q8 > 65535 ? 255 : (int32_t)(clean_q8 >> 8);
            const int64_t grey_q8 = clean_q8 + noise_q8[x % 2] * factor_q8[level] / 256;
            pixels[(size_t)y * pitch_bytes + (size_t)x] = (uint8_t)(grey_q8 < 0       ? 0
                                                                    : grey_q8 > 65535 ? 255
                                                                                      : grey_q8 >> 8);
        }
}
