// How many log lines of one kind are written per second, and how many were not: an outage would otherwise be told once per
// call, thousands of times a second, and drown what else there is to read.
//
// 1. A kind is a level and a message. Its first line opens a second; the lines of that second beyond `kLinesPerSecond` are
//    counted instead of written. The first line of a kind is always written, and kinds do not limit each other.
// 2. What was left out is told once the second is over: before the next line of the kind, or by `take_ended`.
// 3. May be used from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ports/log.h"
#include "engine/runtime/time.h"

namespace lockstep::prod {

class LineLimit {
public:
    /// Enough to see a pattern and several of the values that vary; messages are constant texts of this program, so the whole
    /// log is bounded as well.
    static constexpr std::uint64_t kLinesPerSecond = 50;

    /// `now` is asked from every thread that logs.
    explicit LineLimit(std::function<engine::MonoTime()> now) : now_(std::move(now)) {}

    struct Verdict {
        bool write;
        std::uint64_t left_out;  // of this kind in a second that is over, to be told before the line
    };
    [[nodiscard]] Verdict admit(engine::LogLevel level, std::string_view message);

    struct LeftOut {
        engine::LogLevel level;
        std::string message;
        std::uint64_t lines;
    };
    /// What was left out in seconds that are over, or in all of them, and has not been told.
    [[nodiscard]] std::vector<LeftOut> take_ended();
    [[nodiscard]] std::vector<LeftOut> take_all();

private:
    struct Second {
        engine::MonoTime begin;
        std::uint64_t lines = 0;
    };

    [[nodiscard]] std::vector<LeftOut> take(engine::MonoTime begun_until);

    std::function<engine::MonoTime()> now_;
    std::mutex mutex_;
    std::map<std::string, Second, std::less<>> seconds_[4];  // by level and message
};

}  // namespace lockstep::prod
