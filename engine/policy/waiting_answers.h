// What policy has answered about jobs that then had to wait for one of their tenant's slots. A slot that comes soon is used
// without asking again; one that comes later is not, because policy may have changed its mind.
//
// 1. An answer is for exactly the request that was asked about, as this replica itself has heard it.
// 2. It is good once, for a few seconds from before it was asked for (tunable policy_answer_max_age), and only as long as no
//    other handling of the job has asked: the one that enqueued the job last has left its token there, and one that acquires the job
//    without its answer removes it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "engine/policy/safety_decision.h"
#include "engine/runtime/identifiers.h"
#include "engine/runtime/time.h"

namespace lockstep::engine {

class WaitingAnswers {
public:
    struct Answer {
        Token token;              // of the handling that heard it
        std::string asked_about;  // the request, as bytes
        MonoTime asked{};
        SafetyDecision decision;
    };

    /// Keeps the answer for `job` instead of an earlier one. What was asked before `not_before` is dropped, for every job. REQUIRES:
    /// the answer names the handling that heard it, and what it was asked about.
    void keep(const JobId& job, Answer answer, MonoTime not_before);
    /// The handling that heard what is kept for `job`; empty: nothing is.
    [[nodiscard]] Token heard_by(const JobId& job) const;
    /// Takes out what is kept for `job`; nothing unless it is good.
    [[nodiscard]] std::optional<Answer> take(const JobId& job, const Token& token, std::string_view asked_about,
                                             MonoTime not_before);

    [[nodiscard]] std::size_t size() const { return answers_.size(); }

private:
    void drop(std::map<JobId, Answer>::iterator answer);

    std::map<JobId, Answer> answers_;
    std::set<std::pair<MonoTime, JobId>> by_age_;
};

}  // namespace lockstep::engine
