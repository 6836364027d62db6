/* SPDX-License-Identifier: MIT */
/* vfront for C++11 and later: a handle that shuts down, and views of results. No allocation, no exceptions; every
 * status is returned.
 *
 *     static vfront_t memory;              // large: static storage
 *     vf::handle flight(memory);
 *     if (flight.init(rig)) return fail(flight.detail());
 *     vf::result found;
 *     if (!flight.step(frame, found)) for (const vfront_track_t &t : found.tracks()) use(t);
 */
#ifndef VFRONT_HPP
#define VFRONT_HPP

#include "vfront.h"

namespace vf
{

/** Elements that lie somewhere else, for as long as they do. */
template <class T> class view
{
  public:
    view() : first_(nullptr), size_(0) {}
    view(const T *first, size_t size) : first_(first), size_(size) {}
    const T *begin() const { return first_; }
    const T *end() const { return first_ + size_; }
    const T *data() const { return first_; }
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const T &operator[](size_t i) const { return first_[i]; }

  private:
    const T *first_;
    size_t size_;
};

/** Result of a step, valid until the next but one submit. Its members: found->nav; its lists, as far as they are
 *  filled. */
class result
{
  public:
    explicit result(const vfront_result_t *r = nullptr) : r_(r) {}
    explicit operator bool() const { return r_ != nullptr; }
    const vfront_result_t *operator->() const { return r_; }
    const vfront_result_t *get() const { return r_; }
    view<vfront_track_t> tracks() const { return {r_->tracks, r_->tracks_count}; }
    view<vfront_lost_t> lost() const { return {r_->lost, r_->lost_count}; }
    view<vfront_keypoint_t> keypoints(int camera) const { return {r_->keypoints[camera], r_->keypoints_count[camera]}; }
#if VFRONT_DESCRIPTORS
    view<vfront_descriptor_t> descriptors(int camera) const
    {
        return {r_->descriptors[camera], r_->descriptors_count[camera]};
    }
#endif
#if VFRONT_STEREO
    view<vfront_depth_t> depths() const { return {r_->depths, r_->depths_count}; }
#endif
#if VFRONT_MATCHES
    view<vfront_match_t> matches() const { return {r_->matches, r_->matches_count}; }
#endif
#if VFRONT_MAP
    view<vfront_loop_t> loops() const { return {r_->loops, r_->loops_count}; }
    view<vfront_loop_pair_t> loop_pairs() const { return {r_->loop_pairs, r_->loop_pairs_count}; }
#endif
#if VFRONT_DENSE
    /** Row of disparities [1/16 px]; empty unless `dense` is 1. */
    view<uint16_t> disparities(int32_t row) const
    {
        const vfront_disparity_t &d = r_->disparity;
        return d.px16 ? view<uint16_t>(d.px16 + static_cast<size_t>(row) * static_cast<size_t>(d.pitch),
                                       static_cast<size_t>(d.width_px))
                      : view<uint16_t>();
    }
#endif
#if VFRONT_STIXELS
    view<vfront_stixel_t> stixels(uint32_t column) const { return {r_->stixels[column], r_->stixels_count[column]}; }
    view<uint16_t> obstacles_cm() const { return {r_->obstacles_cm, VFRONT_OBSTACLE_BINS}; }
#endif

  private:
    const vfront_result_t *r_;
};

/** A vision system in memory of the caller's; vfront_shutdown() at the end of its life. */
class handle
{
  public:
    explicit handle(vfront_t &memory) : vf_(memory) {}
    ~handle() { vfront_shutdown(&vf_); }
    handle(const handle &) = delete;
    handle &operator=(const handle &) = delete;

    vfront_status_t init(const vfront_rig_t &rig, const vfront_tuning_t *tuning = nullptr,
                         vfront_port_t port = VFRONT_PORT_AUTO)
    {
        return vfront_init(&vf_, &rig, tuning, port);
    }
    vfront_status_t submit(const vfront_frame_t &frame) { return vfront_submit(&vf_, &frame); }
    vfront_status_t wait(result &found, uint32_t timeout_us = UINT32_MAX)
    {
        const vfront_result_t *r = nullptr;
        const vfront_status_t status = vfront_wait(&vf_, timeout_us, &r);
        found = result(r);
        return status;
    }
    vfront_status_t step(const vfront_frame_t &frame, result &found)
    {
        const vfront_status_t status = submit(frame);
        found = result();
        return status ? status : wait(found);
    }
    vfront_status_t reset() { return vfront_reset(&vf_); }
    vfront_status_t shutdown() { return vfront_shutdown(&vf_); }
    vfront_status_t info(vfront_info_t &info) const { return vfront_info(&vf_, &info); }
    const char *detail() const { return vfront_detail(&vf_); }
    vfront_t *get() { return &vf_; } /* for all other calls of vfront.h */

  private:
    vfront_t &vf_;
};

/** A picture of rows of bytes. */
inline vfront_picture_t grey8(const uint8_t *data, int32_t width_px, int32_t height_px, uint32_t pitch_bytes)
{
    vfront_picture_t made = vfront_picture_t();
    made.data = data;
    made.width_px = width_px;
    made.height_px = height_px;
    made.pitch_bytes = pitch_bytes;
    return made;
}

} /* namespace vf */
#endif
