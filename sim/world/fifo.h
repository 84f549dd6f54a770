// A first-in first-out queue that stops allocating once it has grown to its working size.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace lockstep::sim {

template <class T>
class Fifo {
public:
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t size() const { return size_; }

    void push(T value) {
        if (size_ == ring_.size()) grow();
        ring_[(first_ + size_) & (ring_.size() - 1)] = std::move(value);
        ++size_;
    }
    /// REQUIRES: not empty.
    T pop() {
        T value = std::move(ring_[first_]);
        first_ = (first_ + 1) & (ring_.size() - 1);
        --size_;
        return value;
    }
    /// Forgets all but the first `count`.
    void truncate(std::size_t count) {
        while (size_ > count) {
            [[maybe_unused]] const T dying = std::move(ring_[(first_ + --size_) & (ring_.size() - 1)]);
        }
    }
    void clear() { truncate(0); }

private:
    void grow() {
        std::vector<T> larger(ring_.empty() ? 4 : ring_.size() * 2);
        for (std::size_t i = 0; i < size_; ++i) larger[i] = std::move(ring_[(first_ + i) & (ring_.size() - 1)]);
        ring_ = std::move(larger);
        first_ = 0;
    }

    std::vector<T> ring_;  // its size is zero or a power of two
    std::size_t first_ = 0;
    std::size_t size_ = 0;
};

}  // namespace lockstep::sim
