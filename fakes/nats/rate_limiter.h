// RateLimiter: how long a consumer with a rate limit waits before it sends. A token bucket as golang.org/x/time/rate, in
// whole nanoseconds: the server reserves the tokens of each message and sleeps until they are there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "engine/runtime/time.h"

namespace lockstep::fakes {

class RateLimiter {
public:
    RateLimiter() = default;
    /// In bits per second, 0 = no limit; the bucket holds `burst` bytes and starts full. The server gives it room for one
    /// message of the stream's largest size.
    RateLimiter(std::int64_t bits_per_second, std::uint64_t burst)
        : bits_per_second_(bits_per_second), burst_(burst), bytes_per_second_(bits_per_second / 8) {}

    [[nodiscard]] std::int64_t bits_per_second() const { return bits_per_second_; }

    /// How long to wait before `bytes` may leave. Nothing: for ever, since the bucket never holds as many.
    [[nodiscard]] std::optional<engine::Duration> reserve(std::uint64_t bytes, engine::MonoTime now) {
        if (bytes_per_second_ <= 0) return engine::Duration{0};
        if (bytes > burst_) return std::nullopt;
        full_at_ = std::max(full_at_, now) + time_of(bytes);
        return std::max(full_at_ - now - time_of(burst_), engine::Duration{0});
    }

private:
    [[nodiscard]] engine::Duration time_of(std::uint64_t bytes) const {
        return engine::Duration(static_cast<std::int64_t>(bytes) * 1'000'000'000 / bytes_per_second_);
    }

    std::int64_t bits_per_second_ = 0;
    std::uint64_t burst_ = 0;
    std::int64_t bytes_per_second_ = 0;
    engine::MonoTime full_at_{};  // when the bucket would be full again
};

}  // namespace lockstep::fakes
