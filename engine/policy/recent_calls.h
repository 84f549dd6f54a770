// Whether a call that ran out of time did so for the job's own sake (D-32): its content is slow to judge, and the kernel is well.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "engine/runtime/time.h"

namespace lockstep::engine {

class RecentCalls {
public:
    void note(std::string job, MonoTime ended, bool answered) {
        if (ended_.size() == kRemembered) ended_.pop_front();
        ended_.push_back({std::move(job), ended, answered});
    }
    /// Since `began` at least ten calls for other jobs have ended, nine in ten of them with an answer.
    [[nodiscard]] bool others_were_answered(std::string_view job, MonoTime began) const {
        std::size_t others = 0;
        std::size_t answered = 0;
        for (auto call = ended_.rbegin(); call != ended_.rend() && call->ended >= began; ++call) {
            if (call->job == job) continue;
            ++others;
            answered += call->answered ? 1 : 0;
        }
        return others >= kLeastOthers && answered * 10 >= others * 9;
    }

private:
    /// As many as are ever in flight in the span of one call, about.
    static constexpr std::size_t kRemembered = 200;
    static constexpr std::size_t kLeastOthers = 10;
    struct Call {
        std::string job;
        MonoTime ended{};
        bool answered = false;
    };
    std::deque<Call> ended_;
};

}  // namespace lockstep::engine
