// Memory for the frames of coroutines. A handler is a chain of a dozen tasks, each of which lives for one call: their frames are
// taken and given back all the time, in few sizes, mostly the last one first.
//
// 1. Free frames are kept in one list per size, rounded up; the last one that was given back is the next to be taken.
// 2. Each thread has lists of its own, without locks. A frame may be given back on another thread than it was taken on.
// 3. What is kept is bounded, and is nothing but free memory: no result of a run can depend on it.
// 4. Under AddressSanitizer every frame is an allocation of its own, so that it finds what is used after it is gone.
#pragma once

#include <array>
#include <cstddef>

namespace lockstep::engine::detail {

/// The lists of one thread.
class FrameLists {
public:
    /// Frames are kept in steps of so many bytes. Larger ones than the largest are not kept.
    static constexpr std::size_t kGrain = 64;
    static constexpr std::size_t kLargest = 16384;
    /// Bytes in all lists together. Why 1 MiB: what is taken and given back in one turn of a loop fits in many times over, and
    /// what a burst has left goes back to the allocator.
    static constexpr std::size_t kKeptMax = 1U << 20U;

    FrameLists() = default;
    FrameLists(const FrameLists&) = delete;
    FrameLists& operator=(const FrameLists&) = delete;
    ~FrameLists();

    /// Aligned as by operator new, which throws where there is no memory.
    [[nodiscard]] void* take(std::size_t bytes);
    /// REQUIRES: taken with the same size, here or on another thread.
    void give_back(void* frame, std::size_t bytes) noexcept;
    /// Bytes that are kept.
    [[nodiscard]] std::size_t kept() const { return kept_; }

private:
    struct Free {
        Free* next;
    };
    static constexpr std::size_t rounded(std::size_t bytes) { return (bytes + kGrain - 1) / kGrain * kGrain; }

    std::array<Free*, kLargest / kGrain + 1> lists_{};  // by size in grains
    std::size_t kept_ = 0;
};

/// From the lists of the present thread.
[[nodiscard]] void* take_frame(std::size_t bytes);
void give_back_frame(void* frame, std::size_t bytes) noexcept;

}  // namespace lockstep::engine::detail
