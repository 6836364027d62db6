/* SPDX-License-Identifier: MIT
 *
 * Mappings of a YAML file, which JSON is, too: values of keys, with messages that name file, camera and key. Without
 * libyaml there are none.
 *
 * A function that can fail returns NULL, or a one-line message, valid until the next call.
 */
#ifndef CALIBRATION_SECTION_H
#define CALIBRATION_SECTION_H

#include "calibration_internal.h"

#ifdef HAVE_YAML
#include <yaml.h>

/** An open YAML file. */
struct yaml {
    text_t text;
    yaml_document_t document;
};

/** Mapping in it: the whole file, or one camera. */
struct section {
    yaml_document_t *document;
    const yaml_node_t *map;
    const char *path, *camera; /* camera: its key, or NULL */
};

/** Open a file; its root is a section. */
const char *section_open(struct yaml *y, struct section *root, const char *path);
void section_close(struct yaml *y);

/** Message with the names of file and camera before it. */
__attribute__((format(printf, 2, 3))) const char *section_fail(const struct section *p, const char *format, ...);

/** Text of a scalar node; NULL for a list or a mapping. */
const char *section_word(const yaml_node_t *n);

/** Value of a key of a mapping, or NULL. */
const yaml_node_t *section_find(const struct section *p, const yaml_node_t *map, const char *key);
int section_has(const struct section *p, const char *key);

/** Number of items in a list, -1: not a list; one of them. */
int section_length(const yaml_node_t *n);
const yaml_node_t *section_item(const struct section *p, const yaml_node_t *list, int index);

/** Numbers of a list node, or of the list of a key, least..most of them. `count` may be NULL. */
const char *section_numbers(const struct section *p, const char *key, const yaml_node_t *list, double *number, int min,
                            int max, int *count);
const char *section_list(const struct section *p, const char *key, double *number, int min, int max, int *count);

/** Rigid transform: a 4x4 matrix as 16 numbers, four lists of four, or either as `data` of a mapping (OpenCV). */
const char *section_pose(const struct section *p, const char *key, pose_t *pose);

/** Number least..most. */
const char *section_number(const struct section *p, const char *key, double *number, double min, double max);
#endif

#endif
