// Which limits of a job are the strictest of those that its request, policy and the settings set (wire.md 7.3 and 8, step 9; settings.md 3;
// C-24, C-41, H-20).
//
// Of several answers that may be the one that counted, any will do, and so will any settings that the replica may have gone by (settings.md
// 5), also before it went down.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/config/tunables.h"
#include "sim/model/model.h"

namespace lockstep::sim::spec {

/// The smaller one of two limits; 0: none.
[[nodiscard]] constexpr std::int64_t stricter(std::int64_t a, std::int64_t b) {
    return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

/// As every reader of the settings knows them: no limit of a topic's dispatches, and no block that says nothing.
[[nodiscard]] TimeLimits as_stored(TimeLimits limits);

/// What the replica of a fact may go by.
class LimitsKnown {
public:
    LimitsKnown(const Observed& fact, const Model& model, const engine::Tunables& tunables)
        : job_(*fact.job), replica_(fact.node), now_(fact.at), model_(model), tunables_(tunables) {}

    /// When it acquired the job last, by the clock of Redis in microseconds; 0: that is not known.
    [[nodiscard]] std::int64_t acquired() const;
    /// How often the job may be dispatched again.
    struct Retries {
        std::int64_t least = 0;  // 0: nothing limits them
        std::int64_t most = 0;   // 0: it may be that nothing limits them
    };
    [[nodiscard]] Retries retries() const;
    /// How long a run of its workflow may last; 0: without end.
    [[nodiscard]] std::vector<std::int64_t> lives_ms() const;
    /// The shortest stay in DISPATCHED, by what it may have gone by since then.
    [[nodiscard]] std::int64_t shortest_dispatch_ms(Time from) const;
    /// Input policy.
    [[nodiscard]] bool may_fail_open() const;

private:
    [[nodiscard]] std::vector<const TimeLimits*> documents(Time from) const;
    /// The earliest start of what was under way at this time: not known of a replica that was frozen, or had a call unanswered, since.
    [[nodiscard]] Time begun_by(Time at) const;

    const Job& job_;
    fakes::NodeId replica_;
    Time now_;
    const Model& model_;
    const engine::Tunables& tunables_;
};

/// The answers by which a job may be sent, as this request says.
[[nodiscard]] std::vector<PolicyLimits> answers_for(const cap::JobRequest& sent, const JobLimits& limits);
/// What is wrong with the limits that a worker is given, by one answer; empty: nothing.
[[nodiscard]] std::string flaw_of(const cap::JobRequest& sent, const JobLimits& limits, const PolicyLimits& answer);

}  // namespace lockstep::sim::spec
