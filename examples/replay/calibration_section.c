/* SPDX-License-Identifier: MIT */
#include "calibration_section.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_YAML
/** Message with the names of file and camera before it. */
__attribute__((format(printf, 2, 3))) const char *section_fail(const struct section *p, const char *format, ...)
{
    char what[512];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    return calibration_fail("%s: %s%s%s", p->path, p->camera ? p->camera : "", p->camera ? ": " : "", what);
}

/** Text without its leading directives: libyaml rejects "%YAML:1.0", which OpenCV writes. */
static const char *after_directives(const char *content)
{
    while (*content == '%') {
        content += strcspn(content, "\n");
        content += *content == '\n';
    }
    return content;
}

/** Parse y->text into y->document. */
static const char *parse(struct yaml *y)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) return calibration_fail("%s: libyaml cannot be started", y->text.path);
    const char *content = after_directives(y->text.content), *error = NULL;
    yaml_parser_set_input_string(&parser, (const unsigned char *)content, strlen(content));
    if (!yaml_parser_load(&parser, &y->document)) {
        int line = 1 + (int)parser.problem_mark.line;
        for (const char *c = y->text.content; c < content; c++) line += *c == '\n';
        error = calibration_fail("%s:%d: not YAML: %s", y->text.path, line,
                                 parser.problem ? parser.problem : "no memory");
    }
    yaml_parser_delete(&parser);
    return error;
}

const char *section_open(struct yaml *y, struct section *root, const char *path)
{
    const char *error = text_open(&y->text, path);
    if (!error) error = parse(y);
    if (error) {
        text_close(&y->text);
        return error;
    }
    root->document = &y->document;
    root->map = yaml_document_get_root_node(&y->document);
    root->path = path;
    root->camera = NULL;
    return NULL;
}

void section_close(struct yaml *y)
{
    yaml_document_delete(&y->document);
    text_close(&y->text);
}

/** Text of a scalar node; NULL for a list or a mapping. */
const char *section_word(const yaml_node_t *n)
{
    return n && n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : NULL;
}

/** Value of a key, or NULL. */
const yaml_node_t *section_find(const struct section *p, const yaml_node_t *map, const char *key)
{
    if (!map || map->type != YAML_MAPPING_NODE) return NULL;
    for (const yaml_node_pair_t *pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top; pair++) {
        const char *word = section_word(yaml_document_get_node(p->document, pair->key));
        if (word && strcmp(word, key) == 0) return yaml_document_get_node(p->document, pair->value);
    }
    return NULL;
}

int section_has(const struct section *p, const char *key) { return section_find(p, p->map, key) != NULL; }

/** Number of items in a list; -1: not a list. */
int section_length(const yaml_node_t *n)
{
    return n && n->type == YAML_SEQUENCE_NODE ? (int)(n->data.sequence.items.top - n->data.sequence.items.start) : -1;
}

const yaml_node_t *section_item(const struct section *p, const yaml_node_t *list, int index)
{
    return yaml_document_get_node(p->document, list->data.sequence.items.start[index]);
}

/** Numbers of a list node, least..most of them. `count` may be NULL. */
const char *section_numbers(const struct section *p, const char *key, const yaml_node_t *list, double *number, int min,
                            int max, int *count)
{
    const int length = section_length(list);
    if (length < 0) return section_fail(p, "%s is no list of numbers", key);
    if (length < min || length > max)
        return section_fail(p, "%s has %d numbers instead of %d", key, length, length < min ? min : max);
    for (int i = 0; i < length; i++) {
        const char *word = section_word(section_item(p, list, i));
        char *end = NULL;
        number[i] = word ? strtod(word, &end) : 0.0;
        if (!word || end == word || *end || !isfinite(number[i]))
            return section_fail(p, "%s: \"%.40s\" is not a finite number", key, word ? word : "a list");
    }
    if (count) *count = length;
    return NULL;
}

const char *section_list(const struct section *p, const char *key, double *number, int min, int max, int *count)
{
    const yaml_node_t *list = section_find(p, p->map, key);
    return list ? section_numbers(p, key, list, number, min, max, count) : section_fail(p, "no %s", key);
}

/** 4x4 matrix: 16 numbers, four lists of four, or either as `data` of a mapping (OpenCV). */
static const char *read_matrix(const struct section *p, const char *key, double T[16])
{
    const yaml_node_t *n = section_find(p, p->map, key);
    if (!n) return section_fail(p, "no %s", key);
    if (n->type == YAML_MAPPING_NODE) n = section_find(p, n, "data");
    if (section_length(n) < 1 || section_length(section_item(p, n, 0)) < 0)
        return section_numbers(p, key, n, T, 16, 16, NULL);
    if (section_length(n) != 4) return section_fail(p, "%s has %d rows instead of 4", key, section_length(n));
    const char *error = NULL;
    for (int r = 0; r < 4 && !error; r++) error = section_numbers(p, key, section_item(p, n, r), &T[4 * r], 4, 4, NULL);
    return error;
}

const char *section_pose(const struct section *p, const char *key, pose_t *pose)
{
    double T[16];
    const char *error = read_matrix(p, key, T);
    if (error) return error;
    for (int i = 0; i < 9; i++) pose->R[i] = T[i / 3 * 4 + i % 3];
    for (int r = 0; r < 3; r++) pose->t[r] = T[4 * r + 3];
    if (T[12] != 0.0 || T[13] != 0.0 || T[14] != 0.0 || T[15] != 1.0)
        return section_fail(p, "the last row of %s is not 0 0 0 1", key);
    return pose_is_rotation(pose->R) ? NULL : section_fail(p, "%s: its 3x3 part is not a rotation", key);
}

/** Number least..most. */
const char *section_number(const struct section *p, const char *key, double *number, double min, double max)
{
    const char *word = section_word(section_find(p, p->map, key));
    char *end = NULL;
    if (!section_has(p, key)) return section_fail(p, "no %s", key);
    *number = word ? strtod(word, &end) : 0.0;
    if (!word || end == word || *end)
        return section_fail(p, "%s: \"%.40s\" is not a number", key, word ? word : "a list");
    return *number >= min && *number <= max ? NULL : section_fail(p, "%s is not in %g..%g", key, min, max);
}
#endif
