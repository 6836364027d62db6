/* SPDX-License-Identifier: MIT
 *
 * Files of maps: images of vfront_map_save() as they are.
 */
#ifndef MAP_FILE_H
#define MAP_FILE_H

#include "vfront.h"

/** Load a map, or save one: beside the file first, so that it is a whole one or the old one whatever happens. Prints a
 *  message and returns an exit code (message.h), or CONTINUE. */
int map_file_load(vfront_t *vf, const char *path);
int map_file_save(vfront_t *vf, const char *path);

#endif
