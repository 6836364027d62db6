/* SPDX-License-Identifier: MIT */
/* What people read of the links. */
#include "links.h"

#include <math.h>
#include <stdio.h>

#include "clock.h"

/** What one of them gets. */
static void summarize(const links_t *l, int i, uint64_t now_ns, char text[LINKS_SUMMARY / LINKS_MAX])
{
    const peer_t *p = &l->peer[i];
    const link_rate_t *rate = &l->rate[i];
    char why[PEER_TEXT], decision[PEER_DECISION];
    const size_t size = LINKS_SUMMARY / LINKS_MAX - 2;
    const char *silence = peer_silence(p, now_ns, why);
    const int has_estimator = p->link.kind != LINK_FILE && p->link.kind != LINK_DDS;
    if (p->settings.is_map)
        snprintf(text, size, "link %d: %s", i + 1, l->map_ns ? "gets the place in the map" : "not located in the map");
    else if (silence || (rate->is_known && !(rate->sent_hz > 0.0)))
        snprintf(text, size, "link %d: %s gets nothing: %s", i + 1, peer_name(p),
                 silence          ? silence
                 : rate->hz > 0.0 ? "the link is too slow"
                                  : "no state is sent");
    else if (!rate->is_known)
        snprintf(text, size, "link %d: %s: rate not known yet", i + 1, peer_name(p));
    else
        snprintf(text, size, "link %d: %s gets %.0f of %.0f Hz, %.0f ms old%s%s", i + 1, peer_name(p), rate->sent_hz,
                 rate->hz, 1e-6 * (double)p->link.state_age_ns, has_estimator ? "; " : "",
                 has_estimator ? peer_decision(p, now_ns, decision) : "");
}

void links_summary(links_t *l, char text[LINKS_SUMMARY])
{
    char one[LINKS_SUMMARY / LINKS_MAX];
    size_t used = 0;
    *text = '\0';
    pthread_mutex_lock(&l->lock);
    if (!l->count) snprintf(text, LINKS_SUMMARY, "no link");
    for (int i = 0; i < l->count; i++) {
        summarize(l, i, clock_ns(), one);
        used += (size_t)snprintf(text + used, LINKS_SUMMARY - used, "%s%s", used ? "; " : "", one);
    }
    pthread_mutex_unlock(&l->lock);
}

int links_peers(links_t *l, view_peer_t out[LINKS_MAX])
{
    const uint64_t now_ns = clock_ns();
    int n = 0;
    pthread_mutex_lock(&l->lock);
    for (int i = 0; i < l->count; i++) {
        const peer_t *p = &l->peer[i];
        uint64_t local_ns;
        double sigma_s;
        if (!p->has_autopilot) continue;
        const int knows = timesync_local(&p->sync, p->sync.base_ns + (int64_t)now_ns, now_ns, &local_ns, &sigma_s);
        out[n++] = (view_peer_t){.name = peer_name(p),
                                 .is_armed = p->is_armed,
                                 .trip_ms = p->sync.count ? 1e3 * timesync_trip_s(&p->sync) : (double)NAN,
                                 .clock_sigma_ms = knows ? 1e3 * sigma_s : (double)NAN};
    }
    pthread_mutex_unlock(&l->lock);
    return n;
}
