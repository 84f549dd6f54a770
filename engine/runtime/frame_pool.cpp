#include "engine/runtime/frame_pool.h"

#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LOCKSTEP_FRAMES_NOT_KEPT
#endif
#endif

namespace lockstep::engine::detail {

FrameLists::~FrameLists() {
    for (Free* list : lists_) {
        while (list != nullptr) {
            Free* const next = list->next;
            ::operator delete(list);
            list = next;
        }
    }
}

void* FrameLists::take(std::size_t bytes) {
    if (bytes > kLargest) return ::operator new(bytes);
    const std::size_t size = rounded(bytes);
    Free*& list = lists_[size / kGrain];
    if (list == nullptr) return ::operator new(size);
    Free* const frame = list;
    list = frame->next;
    kept_ -= size;
    return frame;
}

void FrameLists::give_back(void* frame, std::size_t bytes) noexcept {
    const std::size_t size = rounded(bytes);
    if (bytes > kLargest || kept_ + size > kKeptMax) {
        ::operator delete(frame);
        return;
    }
    Free*& list = lists_[size / kGrain];
    list = new (frame) Free{list};
    kept_ += size;
}

#ifdef LOCKSTEP_FRAMES_NOT_KEPT

void* take_frame(std::size_t bytes) { return ::operator new(bytes); }
void give_back_frame(void* frame, std::size_t /*bytes*/) noexcept { ::operator delete(frame); }

#else

namespace {

/// Tasks that statics own may end after the lists of their thread have.
thread_local bool free_frames_are_gone = false;

struct FreeFrames : FrameLists {
    FreeFrames() = default;
    ~FreeFrames() { free_frames_are_gone = true; }
    FreeFrames(const FreeFrames&) = delete;
    FreeFrames& operator=(const FreeFrames&) = delete;
};

FrameLists& lists_of_thread() {
    thread_local FreeFrames free_frames;
    return free_frames;
}

}  // namespace

void* take_frame(std::size_t bytes) {
    return free_frames_are_gone ? ::operator new(bytes) : lists_of_thread().take(bytes);
}

void give_back_frame(void* frame, std::size_t bytes) noexcept {
    if (free_frames_are_gone)
        ::operator delete(frame);
    else
        lists_of_thread().give_back(frame, bytes);
}

#endif

}  // namespace lockstep::engine::detail
