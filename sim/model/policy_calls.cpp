#include "sim/model/policy_calls.h"

#include <algorithm>

namespace lockstep::sim {

void PolicyCalls::on_event(const fakes::Event& event, fakes::JobNumber job, Time now) {
    constexpr std::size_t kRemembered = 300;
    constexpr std::string_view kOutOfTime = "status:4";
    const std::pair call{event.node, job};
    if (event.when == fakes::When::before) asked_[call] = now;
    if (event.when != fakes::When::answered) return;
    auto& ended = ended_[event.node];
    if (ended.size() == kRemembered) ended.pop_front();
    ended.push_back({job, asked_[call], now, event.outcome == fakes::EventOutcome::applied, event.to == kOutOfTime});
    asked_.erase(call);
}

void PolicyCalls::node_down(fakes::NodeId node) {
    std::erase_if(asked_, [node](const auto& call) { return call.first.first == node; });
    ended_.erase(node);
}

bool PolicyCalls::is_slow_alone(fakes::NodeId replica, fakes::JobNumber job, Time since,
                                engine::Duration may_take) const {
    const auto calls = ended_.find(replica);
    if (calls == ended_.end()) return false;
    const auto own = std::ranges::find(calls->second.rbegin(), calls->second.rend(), job, &Call::job);
    if (own == calls->second.rend() || !own->is_out_of_time || own->ended < since) return false;
    if (own->ended - own->begun < may_take * 9 / 10) return false;
    std::size_t others = 0;
    std::size_t answered = 0;
    for (const Call& call : calls->second) {
        if (call.job == job || call.ended < own->begun || call.ended > own->ended) continue;
        ++others;
        answered += call.is_answered ? 1 : 0;
    }
    return others >= 10 && answered * 10 >= others * 9;
}

}  // namespace lockstep::sim
