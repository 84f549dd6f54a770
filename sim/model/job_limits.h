// What limits a job: its stored request, the answers of policy, and what schedulers made of them. Part of the model of one job.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/wire/fwd.h"
#include "sim/model/names.h"

namespace lockstep::sim {

/// Ten years: what a longer limit counts as.
inline constexpr std::int64_t kLongestLimitMs = 315'360'000'000;

/// What one answer of policy allows. Zero: it says nothing.
struct PolicyLimits {
    bool is_constrained = false;
    std::string constraints;  // as bytes that equal messages share
    std::string redaction_level;
    std::int64_t runtime_ms = 0;
    std::int64_t artifact_bytes = 0;
    std::int64_t concurrent = 0;
    std::int64_t retries = 0;
    friend bool operator==(const PolicyLimits&, const PolicyLimits&) = default;
};
[[nodiscard]] PolicyLimits limits_in(const cap::PolicyCheckResponse& response);

struct JobLimits {
    // Of the stored request.
    bool is_request_known = false;
    std::string topic;
    std::string workflow;
    std::int64_t asked_ms = 0;

    std::vector<PolicyLimits> answers;    // of policy, each different one; an empty one where it gave none
    std::vector<PolicyLimits> questions;  // those of the answers that want an approval

    // Of the handling that began last.
    std::int64_t lock_until_ms = 0;  // the expiry that the lock was given, by the clock of Redis; 0: there was none
    Time acquired{};
    std::int64_t dispatches_before = 0;
    bool asked = false;  // policy, since

    // Of its hash.
    std::int64_t deadline = 0;        // microseconds by the clock of Redis; 0: none
    bool deadline_by_others = false;  // no scheduler wrote it, but a program with another clock
    std::int64_t dispatches = 0;
    bool is_unanswered = false;  // policy has given no answer
    bool is_released = false;    // an operator has approved it

    bool is_unsure = false;  // Redis lost or removed something of it, or its request was replaced

    void answered(const PolicyLimits& answer) {
        constexpr std::size_t kAnswersMax = 8;
        if (std::ranges::find(answers, answer) != answers.end()) return;
        if (answers.size() >= kAnswersMax) answers.erase(answers.begin());
        answers.push_back(answer);
    }
    void asked_for_approval(const PolicyLimits& answer) {
        if (std::ranges::find(questions, answer) == questions.end()) questions.push_back(answer);
    }
    void begin_handling(std::int64_t lock_until, Time now) {
        lock_until_ms = lock_until;
        acquired = now;
        dispatches_before = dispatches;
        asked = false;
    }
    void lost() {
        is_unsure = true;
        deadline = 0;
    }
};

}  // namespace lockstep::sim
