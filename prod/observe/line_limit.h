// How many log lines of one kind are written at once, and how many were not: an outage would otherwise be told once per call,
// thousands of times a second, and drown what else there is to read.
//
// 1. A kind is a level and a message. Its first line opens a window; the lines of that window beyond the level's `Allowance`
//    are counted instead of written. The first line of a kind is always written, and kinds do not limit each other.
// 2. What was left out is told once the window is over: before the next line of the kind, or by `take_ended`.
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
    struct Allowance {
        std::uint64_t lines;
        engine::Duration window;
    };
    /// Of what happens to jobs in good weather, enough to see a pattern and several of the values that vary. Of warnings and
    /// errors the first few: they come from one cause, once for every job that it hits, and their number says more than their
    /// text. Messages are constant texts of this program, so the whole log is bounded as well.
    [[nodiscard]] static constexpr Allowance allowance(engine::LogLevel level) {
        return level >= engine::LogLevel::warn ? Allowance{5, std::chrono::seconds(10)}
                                               : Allowance{50, std::chrono::seconds(1)};
    }

    /// `now` is asked from every thread that logs.
    explicit LineLimit(std::function<engine::MonoTime()> now) : now_(std::move(now)) {}

    struct Verdict {
        bool write;
        std::uint64_t left_out;  // of this kind in a window that is over, to be told before the line
    };
    [[nodiscard]] Verdict admit(engine::LogLevel level, std::string_view message);

    struct LeftOut {
        engine::LogLevel level;
        std::string message;
        std::uint64_t lines;
    };
    /// What was left out in windows that are over, or in all of them, and has not been told.
    [[nodiscard]] std::vector<LeftOut> take_ended();
    [[nodiscard]] std::vector<LeftOut> take_all();

private:
    struct Window {
        engine::MonoTime begin;
        std::uint64_t lines = 0;
    };

    [[nodiscard]] std::vector<LeftOut> take(bool ended_only);

    std::function<engine::MonoTime()> now_;
    std::mutex mutex_;
    std::map<std::string, Window, std::less<>> windows_[4];  // by level and message
};

}  // namespace lockstep::prod
