/* SPDX-License-Identifier: MIT
 *
 * Web page for people who look on: what the autopilot gets, the pictures, that of camera 0 with tracks and stixels, the
 * path, the state with its sigmas, health, clocks, obstacles, and times of steps as a histogram, 5 times a second. A
 * small HTTP/1.1 server of two answers:
 *   GET /      the page: view.html, one file without any other
 *   GET /now   what it draws: a line of JSON, then the pictures, grey, a byte a pixel, their sizes in the JSON
 * It gives what it shows to whoever reaches its port, takes no orders, and is on this machine alone unless set
 * otherwise. Answers lie in three buffers of fixed size: one that is the newest, and two that slow readers may still
 * hold; with all of them held a picture is passed over. Nothing is made while nobody looks.
 *
 * The thread that has the cameras calls view_is_due() and view_update(), after all messages of the frame are out; the
 * thread of the links calls view_fds() and view_service(). Neither waits.
 */
#ifndef COMPANION_VIEW_H
#define COMPANION_VIEW_H

#include <poll.h>
#include <pthread.h>
#include <stddef.h>

#include "vfront.h"

#define VIEW_CLIENTS 4             /* at a time; another one takes the place of the slowest, or is turned away */
#define VIEW_PERIOD_NS 190000000u  /* least time between two pictures: 5 Hz */
#define VIEW_ACTIVE_NS 2000000000u /* time after a request during which someone looks */
#define VIEW_IDLE_NS 10000000000u  /* a connection on which nothing goes on for that long is closed */
#define VIEW_TOTAL_NS 20000000000u /* longest time of a request and its answer: 20 KB a second */
#define VIEW_SLOW_NS 2000000000u   /* after which a request, or a pause, gives way to another client */
#define VIEW_WIDTH 640             /* picture at most; larger ones are made smaller by a whole factor */
#define VIEW_HEIGHT 480
#define VIEW_TEXT 65536 /* bytes of JSON at most */
#define VIEW_REQUEST 2048
#define VIEW_TRAJECTORY 512 /* points of the path; when full, every second one is dropped */
#define VIEW_BUFFERS 3
#define VIEW_PEERS 4
#define VIEW_NAME 64
#define VIEW_URL 96
#define VIEW_TIMES                                                                                                     \
    52 /* bins of the histogram: four a factor of two, from 64 us to 0.5 s; first and last take the rest */

/** An answer to GET /now, with its head. */
typedef struct view_buffer {
    int readers; /**< Connections that send it. */
    size_t bytes;
    char content[256 + VIEW_TEXT + 2 * VIEW_WIDTH * VIEW_HEIGHT];
} view_buffer_t;

/** Connection. */
typedef struct view_client {
    int fd; /**< -1: none. */
    char request[VIEW_REQUEST];
    size_t request_bytes;
    const char *out; /**< Rest of the answer under way. */
    size_t out_bytes;
    int buffer;  /**< Held by it; -1: none. */
    int is_last; /**< 1: closed after this answer. */
    uint64_t seen_ns;
    uint64_t begin_ns; /**< Of the request under way; 0: none. */
} view_client_t;

/** Autopilot at the end of a link, and its clock. */
typedef struct view_peer {
    const char *name;
    int is_armed;
    double trip_ms, clock_sigma_ms; /**< Shortest round trip of late; deviation of its clock; NaN: not known. */
} view_peer_t;

/** Pictures and their company, beside the result. */
typedef struct view_frame {
    const vfront_picture_t *picture;   /**< Of camera 0, the one that the result is of; in host memory. */
    const vfront_picture_t *picture_1; /**< Of camera 1; NULL: there is none. */
    const char *links;                 /**< What each link carries; NULL or empty: not known. */
    const view_peer_t *peer;
    int peers;
    const char *rejection;        /**< Why the state is not sent; NULL: it is. */
    const char *waits;            /**< What is waited for, while there are no results; NULL: nothing. */
    const double *euler_rad;      /**< Roll, pitch, yaw of the body, as ODOMETRY has them; NULL: not known. */
    const double *map_local;      /**< Local frame in the map: x, y, z [m], yaw [rad]; NULL: not known. */
    const uint16_t *obstacles_cm; /**< As OBSTACLE_DISTANCE has them, VFRONT_OBSTACLE_BINS; NULL: none are sent. */
} view_frame_t;

/** Server. Zero it; view_open() opens it. Without that all calls do nothing. */
typedef struct view {
    int is_open, listener;
    int port;             /**< That it listens on. */
    char name[VIEW_NAME]; /**< Of this machine, under which it is asked for, too; empty: by numbers alone. */
    pthread_mutex_t lock;
    view_client_t client[VIEW_CLIENTS];
    uint64_t requested_ns; /**< Last request for GET /now. */
    int newest;            /**< Buffer; -1: none yet. */
    view_buffer_t buffer[VIEW_BUFFERS];
    /* of the thread of the cameras */
    uint64_t made_ns;
    float trajectory_m[VIEW_TRAJECTORY][2];
    uint32_t trajectory_count, trajectory_stride,
        trajectory_skipped; /**< One frame in trajectory_stride is on the path. */
    uint32_t times[VIEW_TIMES];
    uint64_t steps;
} view_t;

/** Opens PORT, on this machine alone, or ADDRESS:PORT, [IPv6]:PORT; port 0: any that is free. name: a host name under
 *  which the page may be asked for beside addresses in numbers; NULL: none. Returns NULL, or a one-line message. */
const char *view_open(view_t *view, const char *where, const char *name);
void view_close(view_t *view);

/** Address of the page, for people: by the name if there is one, else by the machine's first address where it listens
 *  on all of them. */
void view_url(const view_t *view, char url[VIEW_URL]);

/** Adds a result to path and histogram. Returns 1 where someone looks and the next picture is due. */
int view_is_due(view_t *view, const vfront_result_t *result, uint64_t now_ns);

/** The same without a result. */
int view_is_wanted(view_t *view, uint64_t now_ns);

/** Makes the picture. */
void view_update(view_t *view, const vfront_result_t *result, const view_frame_t *frame, uint64_t now_ns);

/** How sharp the middle quarter of a picture is: root mean square of its Laplacian, at full size [grey levels]; NaN: no
 *  picture, or under 12 pixels a side. */
double view_sharpness(const vfront_picture_t *picture);

/** JSON of a result in one line of VIEW_TEXT bytes at most, where lists end early. `size`: columns, rows of each
 *  picture, and the factor by which it is smaller than the camera's. Returns its bytes. */
size_t view_text(char *text, const view_t *view, const vfront_result_t *result, const view_frame_t *frame,
                 const int32_t size[2][3]);

/** Descriptors to poll, 1 + VIEW_CLIENTS at most. Returns their number. */
int view_fds(view_t *view, struct pollfd *fds);

/** Takes connections, reads requests and sends answers, as far as sockets take them. */
void view_service(view_t *view, uint64_t now_ns);

/** view.html. */
extern const char view_page[];
extern const size_t view_page_bytes;

#endif
