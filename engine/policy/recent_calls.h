// Whether a call that ran out of time did so for the job's own sake (D-32): its content is slow to judge, and the kernel is well.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "engine/ports/kernel.h"
#include "engine/runtime/time.h"

namespace lockstep::engine {

class RecentCalls {
public:
    struct Call {
        std::string job;
        MonoTime began{};
        MonoTime ended{};
        Duration limit{};                     // that it had
        const RpcFailure* failure = nullptr;  // null: it was answered; valid during `note`
    };
    /// True: it has run out of its time, and since it began at least ten calls for other jobs have ended, nine in ten of them with an
    /// answer. A kernel that says at once that time has run out is not well.
    bool note(Call call) {
        const bool took_its_time = call.ended - call.began >= call.limit * 9 / 10;
        const bool is_its_own = call.failure != nullptr && call.failure->out_of_time() && took_its_time &&
                                others_were_answered(call.job, call.began);
        if (ended_.size() == kRemembered) ended_.pop_front();
        ended_.push_back({std::move(call.job), call.ended, call.failure == nullptr});
        return is_its_own;
    }

private:
    /// As many as are ever in flight in the span of one call, about.
    static constexpr std::size_t kRemembered = 200;
    static constexpr std::size_t kLeastOthers = 10;
    struct Ended {
        std::string job;
        MonoTime at{};
        bool answered = false;
    };

    [[nodiscard]] bool others_were_answered(std::string_view job, MonoTime began) const {
        std::size_t others = 0;
        std::size_t answered = 0;
        for (auto call = ended_.rbegin(); call != ended_.rend() && call->at >= began; ++call) {
            if (call->job == job) continue;
            ++others;
            answered += call->answered ? 1 : 0;
        }
        return others >= kLeastOthers && answered * 10 >= others * 9;
    }

    std::deque<Ended> ended_;
};

}  // namespace lockstep::engine
