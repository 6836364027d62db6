/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* getaddrinfo, getifaddrs, MSG_NOSIGNAL, IFF_LOOPBACK */
#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <math.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "examples/common/message.h"

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

/** Takes PORT, ADDRESS:PORT or [ADDRESS]:PORT apart. Returns 0 where it is none of them. */
static int split(const char *where, char address[64], char port[8])
{
    const char *colon = strrchr(where, ':'), *digits = colon ? colon + 1 : where;
    size_t length = colon ? (size_t)(colon - where) : 0;
    if (strlen(digits) < 1 || strlen(digits) > 5 || strspn(digits, "0123456789") != strlen(digits) ||
        strtol(digits, NULL, 10) > 65535)
        return 0;
    if (colon && length > 1 && where[0] == '[' && where[length - 1] == ']') where++, length -= 2;
    if (colon && (!length || length > 63)) return 0;
    snprintf(address, 64, "%.*s", colon ? (int)length : 9, colon ? where : "127.0.0.1");
    snprintf(port, 8, "%s", digits);
    return 1;
}

/** Listens without ever waiting. */
static const char *listen_on(view_t *v, const struct addrinfo *at, const char *where)
{
    struct sockaddr_storage bound;
    socklen_t bytes = sizeof bound;
    const int yes = 1;
    char digits[8];
    v->listener = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (v->listener < 0) return message_text("--view %.80s: no socket: %s", where, strerror(errno));
    setsockopt(v->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (fcntl(v->listener, F_SETFL, O_NONBLOCK) != 0 || bind(v->listener, at->ai_addr, at->ai_addrlen) != 0 ||
        listen(v->listener, VIEW_CLIENTS) != 0)
        return message_text("--view %.80s: %s", where, strerror(errno));
    if (getsockname(v->listener, (struct sockaddr *)&bound, &bytes) == 0 &&
        getnameinfo((struct sockaddr *)&bound, bytes, NULL, 0, digits, sizeof digits, NI_NUMERICSERV) == 0)
        sscanf(digits, "%d", &v->port);
    return NULL;
}

/** 1 for what may be a host name. */
static int is_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    return *name && strlen(name) < VIEW_NAME && name[strspn(name, letters)] == '\0';
}

const char *view_open(view_t *v, const char *where, const char *name)
{
    char address[64], port[8];
    if (name && !is_name(name)) return message_text("--view-name %.80s: not a host name", name);
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    if (!split(where, address, port) || getaddrinfo(address, port, &wanted, &found) != 0)
        return message_text("--view %.80s: not PORT or ADDRESS:PORT, in numbers", where);
    const char *error = listen_on(v, found, where);
    freeaddrinfo(found);
    if (!error && pthread_mutex_init(&v->lock, NULL) != 0) error = "--view: no mutex";
    if (error && v->listener >= 0) close(v->listener);
    if (error) return error;
    for (int i = 0; i < VIEW_CLIENTS; i++) v->client[i].fd = -1;
    snprintf(v->name, sizeof v->name, "%s", name ? name : "");
    v->newest = -1;
    v->trajectory_stride = 1;
    v->is_open = 1;
    return NULL;
}

/** This machine's first address of a family that others reach. 0: none. */
static int find_address(int family, char text[VIEW_URL / 2])
{
    struct ifaddrs *all = NULL;
    int found = 0;
    if (getifaddrs(&all) != 0) return 0;
    for (const struct ifaddrs *a = all; a && !found; a = a->ifa_next) {
        if (!a->ifa_addr || a->ifa_addr->sa_family != family || a->ifa_flags & IFF_LOOPBACK) continue;
        const socklen_t bytes = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
        found = getnameinfo(a->ifa_addr, bytes, text, VIEW_URL / 2, NULL, 0, NI_NUMERICHOST) == 0;
    }
    freeifaddrs(all);
    return found;
}

void view_url(const view_t *v, char url[VIEW_URL])
{
    struct sockaddr_storage bound;
    socklen_t bytes = sizeof bound;
    char host[VIEW_URL / 2] = "";
    const int is_known = getsockname(v->listener, (struct sockaddr *)&bound, &bytes) == 0 &&
                         getnameinfo((struct sockaddr *)&bound, bytes, host, sizeof host, NULL, 0, NI_NUMERICHOST) == 0;
    const int is_any = strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
    if (is_known && is_any && !find_address(AF_INET, host)) find_address(AF_INET6, host);
    const int is_wide = strchr(host, ':') != NULL;
    if (*v->name)
        snprintf(url, VIEW_URL, "http://%.50s:%d/", v->name, v->port);
    else
        snprintf(url, VIEW_URL, "http://%s%s%s:%d/", is_wide ? "[" : "", host, is_wide ? "]" : "", v->port);
}

/** Ends a connection. Under the lock. */
static void end(view_t *v, view_client_t *c)
{
    if (c->buffer >= 0 && c->fd >= 0) v->buffer[c->buffer].readers--;
    if (c->fd >= 0) close(c->fd);
    memset(c, 0, sizeof *c);
    c->fd = c->buffer = -1;
}

void view_close(view_t *v)
{
    if (!v->is_open) return;
    for (int i = 0; i < VIEW_CLIENTS; i++) end(v, &v->client[i]);
    close(v->listener);
    pthread_mutex_destroy(&v->lock);
    v->is_open = 0;
}

/* ---- requests, under the lock ------------------------------------------------------------------------------------ */

/** An answer without content, or with a line of text. */
static void answer_line(view_client_t *c, const char *status, const char *more, const char *line)
{
    /* the request has been read: its buffer takes the answer */
    const int n = snprintf(c->request, sizeof c->request,
                           "HTTP/1.1 %s\r\n%sContent-Type: text/plain\r\nContent-Length: %zu\r\n"
                           "Connection: close\r\n\r\n%s",
                           status, more, strlen(line), line);
    c->out = c->request;
    c->out_bytes = (size_t)n;
    c->is_last = 1;
}

/** The page, a constant with its head before it. */
static void answer_page(view_client_t *c)
{
    c->out = view_page;
    c->out_bytes = view_page_bytes;
}

static void answer_now(view_t *v, view_client_t *c, uint64_t now_ns)
{
    v->requested_ns = now_ns;
    if (v->newest < 0) {
        answer_line(c, "503 Service Unavailable", "Retry-After: 1\r\n", "no frame yet\n");
        return;
    }
    view_buffer_t *b = &v->buffer[v->newest];
    b->readers++;
    c->buffer = v->newest;
    c->out = b->content;
    c->out_bytes = b->bytes;
}

/** 1: a Host of `length` bytes is a name, whatever its port. */
static int is_host(const char *host, size_t length, const char *name)
{
    const size_t own = strlen(name);
    return own && length >= own && strncasecmp(host, name, own) == 0 && (length == own || host[own] == ':');
}

/** 1: the head's Host is an address in numbers, localhost or the name that was set. Any other name could be that of a
 *  foreign page, which has it point here to read what is shown. */
static int is_asked_for(const view_t *v, const char *head)
{
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, "host:", 5) != 0) continue;
        line += 5 + strspn(line + 5, " \t");
        const size_t length = strcspn(line, "\r\n");
        if (is_host(line, length, "localhost") || is_host(line, length, v->name)) return 1;
        return line[0] == '[' ? strspn(line, "[]0123456789abcdefABCDEF:.%") == length
                              : strspn(line, "0123456789.:") == length;
    }
    return 1;
}

static int is_for(const char *request, const char *path)
{
    const size_t length = strlen(path);
    return strncmp(request, path, length) == 0 && (request[length] == ' ' || request[length] == '?');
}

/** Answers a whole request, a head without content; whatever comes behind it is dropped. */
static void answer(view_t *v, view_client_t *c, uint64_t now_ns)
{
    c->request_bytes = 0;
    if (strncmp(c->request, "GET ", 4) != 0)
        answer_line(c, "405 Method Not Allowed", "Allow: GET\r\n", "GET alone\n");
    else if (!is_asked_for(v, c->request))
        answer_line(c, "403 Forbidden", "", "by address, or by the name of --view-name\n");
    else if (is_for(c->request + 4, "/now"))
        answer_now(v, c, now_ns);
    else if (is_for(c->request + 4, "/"))
        answer_page(c);
    else
        answer_line(c, "404 Not Found", "", "GET / or GET /now\n");
}

/** Reads on; 0: the connection has ended. */
static int read_input(view_t *v, view_client_t *c, uint64_t now_ns)
{
    const ssize_t n = recv(c->fd, c->request + c->request_bytes, sizeof c->request - 1 - c->request_bytes, 0);
    if (n == 0) return 0;
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    c->seen_ns = now_ns;
    if (!c->begin_ns) c->begin_ns = now_ns;
    c->request_bytes += (size_t)n;
    c->request[c->request_bytes] = '\0';
    if (memchr(c->request, '\0', c->request_bytes)) return 0;
    if (strstr(c->request, "\r\n\r\n"))
        answer(v, c, now_ns);
    else if (c->request_bytes == sizeof c->request - 1)
        answer_line(c, "431 Request Header Fields Too Large", "", "too long\n");
    return 1;
}

/** Sends on; 0: the connection has ended. */
static int write_output(view_t *v, view_client_t *c, uint64_t now_ns)
{
    const ssize_t n = send(c->fd, c->out, c->out_bytes, MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    c->seen_ns = now_ns;
    c->out += n;
    c->out_bytes -= (size_t)n;
    if (c->out_bytes) return 1;
    if (c->buffer >= 0) v->buffer[c->buffer].readers--;
    c->buffer = -1;
    c->out = NULL;
    c->begin_ns = 0;
    return !c->is_last;
}

/** Place for a client: a free one, else that of the client that has been longest at its request, or without one. NULL:
 *  all of them go on. */
static view_client_t *find_place(view_t *v, uint64_t now_ns)
{
    view_client_t *slowest = NULL;
    uint64_t longest_ns = VIEW_SLOW_NS;
    for (int i = 0; i < VIEW_CLIENTS; i++) {
        view_client_t *c = &v->client[i];
        if (c->fd < 0) return c;
        const uint64_t since_ns = now_ns - (c->begin_ns ? c->begin_ns : c->seen_ns);
        if (since_ns < longest_ns) continue;
        longest_ns = since_ns;
        slowest = c;
    }
    if (slowest) end(v, slowest);
    return slowest;
}

static void take_connections(view_t *v, uint64_t now_ns)
{
    for (int tries = 0; tries < 2 * VIEW_CLIENTS; tries++) {
        const int fd = accept(v->listener, NULL, NULL);
        if (fd < 0) return;
        view_client_t *c = find_place(v, now_ns);
        if (!c || fcntl(fd, F_SETFL, O_NONBLOCK) != 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
            close(fd);
            continue;
        }
        c->fd = fd;
        c->buffer = -1;
        c->seen_ns = now_ns;
    }
}

void view_service(view_t *v, uint64_t now_ns)
{
    if (!v->is_open) return;
    pthread_mutex_lock(&v->lock);
    take_connections(v, now_ns);
    for (int i = 0; i < VIEW_CLIENTS; i++) {
        view_client_t *c = &v->client[i];
        if (c->fd < 0) continue;
        int good = now_ns < c->seen_ns + VIEW_IDLE_NS && (!c->begin_ns || now_ns < c->begin_ns + VIEW_TOTAL_NS);
        if (good && !c->out_bytes) good = read_input(v, c, now_ns);
        if (good && c->out_bytes) good = write_output(v, c, now_ns);
        if (!good) end(v, c);
    }
    pthread_mutex_unlock(&v->lock);
}

int view_fds(view_t *v, struct pollfd *fds)
{
    int n = 0;
    if (!v->is_open) return 0;
    fds[n++] = (struct pollfd){.fd = v->listener, .events = POLLIN};
    for (int i = 0; i < VIEW_CLIENTS; i++) /* of the same thread as view_service() */
        if (v->client[i].fd >= 0)
            fds[n++] = (struct pollfd){.fd = v->client[i].fd, .events = v->client[i].out_bytes ? POLLOUT : POLLIN};
    return n;
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

/** Adds a place to the path, of which the last point is always the last place. */
static void add_to_trajectory(view_t *v, const vfront_nav_t *nav)
{
    float *last = v->trajectory_m[v->trajectory_count ? v->trajectory_count - 1 : 0];
    if (!v->trajectory_count || v->trajectory_skipped >= v->trajectory_stride) {
        if (v->trajectory_count == VIEW_TRAJECTORY) {
            for (uint32_t i = 0; i < VIEW_TRAJECTORY / 2; i++)
                memcpy(v->trajectory_m[i], v->trajectory_m[2 * i], sizeof *v->trajectory_m);
            v->trajectory_count = VIEW_TRAJECTORY / 2;
            v->trajectory_stride *= 2;
        }
        last = v->trajectory_m[v->trajectory_count++];
        v->trajectory_skipped = 0;
    }
    v->trajectory_skipped++;
    for (int k = 0; k < 2; k++) last[k] = (float)nav->position_m[k];
}

/** Bin of a time: four a factor of two, of equal width within it. */
static uint32_t bin_of(double us)
{
    uint32_t octave = 0;
    for (us /= 64.0; us >= 2.0 && octave < VIEW_TIMES / 4; us /= 2.0) octave++;
    const uint32_t bin = 4 * octave + (us > 1.0 && us < 2.0 ? (uint32_t)(4.0 * (us - 1.0)) : 0);
    return bin < VIEW_TIMES ? bin : VIEW_TIMES - 1;
}

int view_is_due(view_t *v, const vfront_result_t *r, uint64_t now_ns)
{
    if (!v->is_open) return 0;
    if (r->nav.t_ns) add_to_trajectory(v, &r->nav);
    v->times[bin_of((double)r->timing.step_us)]++;
    v->steps++;
    return view_is_wanted(v, now_ns);
}

int view_is_wanted(view_t *v, uint64_t now_ns)
{
    if (!v->is_open || now_ns < v->made_ns + VIEW_PERIOD_NS) return 0;
    if (pthread_mutex_trylock(&v->lock) != 0) return 0; /* the next frame will do */
    const int looks = v->requested_ns && now_ns < v->requested_ns + VIEW_ACTIVE_NS;
    pthread_mutex_unlock(&v->lock);
    return looks || v->newest < 0;
}

/** Bytes from pixel to pixel, and the shift that leaves 8 bits; 0: no picture. */
static int pixel_of(const vfront_picture_t *p, int *shift)
{
    *shift = p->format == VFRONT_GREY10 ? 2 : p->format == VFRONT_GREY12 ? 4 : p->format == VFRONT_GREY16 ? 8 : 0;
    if (!p->data || p->memory == VFRONT_DEVICE_MEMORY || p->format == VFRONT_NO_PICTURE) return 0;
    return p->format == VFRONT_GREY8 || p->format == VFRONT_NV12 ? 1 : 2;
}

static uint32_t grey_at(const uint8_t *row, int32_t x, int bytes, int shift)
{
    uint16_t wide;
    if (bytes == 1 || !shift) return row[bytes * x];
    memcpy(&wide, row + 2 * x, 2);
    const uint32_t grey = (uint32_t)wide >> shift;
    return grey < 255 ? grey : 255;
}

/** Row of a picture; from it grey_at() reads. */
static const uint8_t *row_of(const vfront_picture_t *p, int32_t y)
{
    return (const uint8_t *)p->data + (size_t)y * p->pitch_bytes;
}

/** Means of squares of `times` pixels a side. */
static void make_smaller(uint8_t *out, const vfront_picture_t *p, int32_t width, int32_t height, int32_t times)
{
    int shift;
    const int bytes = pixel_of(p, &shift);
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++) {
            uint32_t sum = 0;
            for (int32_t j = 0; j < times; j++) {
                const uint8_t *row = row_of(p, y * times + j);
                for (int32_t i = 0; i < times; i++) sum += grey_at(row, x * times + i, bytes, shift);
            }
            *out++ = (uint8_t)(sum / (uint32_t)(times * times));
        }
}

double view_sharpness(const vfront_picture_t *p)
{
    int shift;
    const int bytes = p ? pixel_of(p, &shift) : 0;
    double sum = 0.0;
    if (!bytes || p->width_px < 12 || p->height_px < 12) return (double)NAN;
    const int32_t left = p->width_px / 4, right = p->width_px - left, top = p->height_px / 4, base = p->height_px - top;
    for (int32_t y = top; y < base; y++) {
        const uint8_t *row = row_of(p, y), *above = row_of(p, y - 1), *below = row_of(p, y + 1);
        for (int32_t x = left; x < right; x++) {
            const int32_t edge = 4 * (int32_t)grey_at(row, x, bytes, shift) -
                                 (int32_t)grey_at(row, x - 1, bytes, shift) -
                                 (int32_t)grey_at(row, x + 1, bytes, shift) - (int32_t)grey_at(above, x, bytes, shift) -
                                 (int32_t)grey_at(below, x, bytes, shift);
            sum += (double)(edge * edge);
        }
    }
    return sqrt(sum / ((double)(right - left) * (double)(base - top)));
}

/** A buffer that nobody reads and that is not the newest; -1: none. */
static int free_buffer(view_t *v)
{
    int found = -1;
    pthread_mutex_lock(&v->lock);
    for (int i = 0; i < VIEW_BUFFERS; i++)
        if (i != v->newest && !v->buffer[i].readers) found = i;
    pthread_mutex_unlock(&v->lock);
    return found;
}

/** Size of a picture as it is shown, at most `width` by `height`, and the factor by which that is smaller; 0, 0, 1: no
 *  picture. */
static void set_size(int32_t size[3], const vfront_picture_t *p, int32_t width, int32_t height)
{
    int shift;
    const int has = p && pixel_of(p, &shift);
    size[2] = 1;
    while (has && (p->width_px / size[2] > width || p->height_px / size[2] > height)) size[2]++;
    size[0] = has ? p->width_px / size[2] : 0;
    size[1] = has ? p->height_px / size[2] : 0;
}

void view_update(view_t *v, const vfront_result_t *r, const view_frame_t *frame, uint64_t now_ns)
{
    static const char head[] =
        "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\nContent-Length: ";
    const vfront_picture_t *const picture[2] = {frame->picture, frame->picture_1};
    const int found = v->is_open ? free_buffer(v) : -1;
    int32_t size[2][3];
    if (found < 0) return;
    for (int i = 0; i < 2; i++) set_size(size[i], picture[i], VIEW_WIDTH >> i, VIEW_HEIGHT >> i);
    view_buffer_t *b = &v->buffer[found];
    char *text = b->content + 256; /* the length before it is known when it is written */
    size_t all = view_text(text, v, r, frame, (const int32_t(*)[3])size);
    for (int i = 0; i < 2; i++) {
        if (size[i][0]) make_smaller((uint8_t *)text + all, picture[i], size[i][0], size[i][1], size[i][2]);
        all += (size_t)size[i][0] * (size_t)size[i][1];
    }
    b->bytes = (size_t)snprintf(b->content, 256, "%s%zu\r\n\r\n", head, all);
    memmove(b->content + b->bytes, text, all);
    b->bytes += all;
    v->made_ns = now_ns;
    pthread_mutex_lock(&v->lock);
    v->newest = found;
    pthread_mutex_unlock(&v->lock);
}
