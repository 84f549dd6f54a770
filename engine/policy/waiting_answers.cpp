#include "engine/policy/waiting_answers.h"

#include "engine/runtime/invariant.h"

namespace lockstep::engine {

namespace {

/// Requests in memory, beside those that are being handled. The oldest go first.
constexpr std::size_t kAnswersMax = 4'096;

}  // namespace

void WaitingAnswers::keep(const JobId& job, Answer answer, MonoTime not_before) {
    PRECONDITION(!answer.token.empty() && !answer.asked_about.empty(),
                 "an answer about job {}, heard by '{}', is of {} bytes", job, answer.token, answer.asked_about.size());
    if (const auto earlier = answers_.find(job); earlier != answers_.end()) drop(earlier);
    while (!by_age_.empty() && (by_age_.begin()->first < not_before || answers_.size() >= kAnswersMax))
        drop(answers_.find(by_age_.begin()->second));
    by_age_.emplace(answer.asked, job);
    answers_.emplace(job, std::move(answer));
    INVARIANT(answers_.size() <= kAnswersMax, "{} answers are kept", answers_.size());
    INVARIANT(by_age_.size() == answers_.size(), "{} answers, and the age of {}", answers_.size(), by_age_.size());
}

Token WaitingAnswers::heard_by(const JobId& job) const {
    const auto found = answers_.find(job);
    return found == answers_.end() ? Token{} : found->second.token;
}

std::optional<WaitingAnswers::Answer> WaitingAnswers::take(const JobId& job, const Token& token,
                                                           std::string_view asked_about, MonoTime not_before) {
    const auto found = answers_.find(job);
    if (found == answers_.end()) return std::nullopt;
    std::optional<Answer> taken(std::move(found->second));
    drop(found);
    const bool good = taken->token == token && taken->asked_about == asked_about && taken->asked >= not_before;
    if (!good) taken.reset();
    return taken;
}

void WaitingAnswers::drop(std::map<JobId, Answer>::iterator answer) {
    by_age_.erase({answer->second.asked, answer->first});
    answers_.erase(answer);
}

}  // namespace lockstep::engine
