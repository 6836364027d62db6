/* SPDX-License-Identifier: MIT
 *
 * Cameras and videos as a data set of replay, by the companion's sources: v4l2:0,1, gst:PIPELINE, and video files by
 * GStreamer. The companion's page shows any run (view.h).
 */
#ifndef LIVE_H
#define LIVE_H

#include "rectified.h"
#include "vfront.h"

/** Make dataset_open() know cameras and videos. SIGINT ends them as their end does; a second one ends the program. */
void live_begin(void);

/** Open the page: PORT, on this machine alone, or ADDRESS:PORT. Returns NULL, or a message. */
const char *live_view_open(const char *where);
void live_view_close(void);

/** Show a result, where someone looks. `rectified`: NULL, or what results refer to. Without a page nothing is done. */
void live_view(rectified_t *rectified, const vfront_frame_t *frame, const vfront_result_t *result);

#endif
