#include "sim/spec/limits_that_apply.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/policy_marks.h"

namespace lockstep::sim::spec {

namespace {

namespace wire = engine::wire;
using engine::to_millis;

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

std::int64_t dispatch_of_topic(const TimeLimits& limits, const Job& job) {
    const auto topic = limits.topics.find(job.limits.topic);
    return topic == limits.topics.end() ? 0 : to_millis(topic->second.dispatch);
}

std::string decimal(std::int64_t value) { return value > 0 ? fmt::format("{}", value) : std::string{}; }

std::string variable(const cap::JobRequest& request, const char* name) {
    const auto found = request.env().find(name);
    return found == request.env().end() ? std::string{} : found->second;
}

}  // namespace

TimeLimits as_stored(TimeLimits limits) {
    for (auto& [name, topic] : limits.topics) topic.dispatch = {};
    limits.reconciler.given = false;
    return limits;
}

std::int64_t LimitsKnown::acquired() const {
    const std::int64_t until = job_.limits.lock_until_ms;
    return until == 0 ? 0 : (until - to_millis(tunables_.job_lock_ttl)) * 1000;
}

std::vector<const TimeLimits*> LimitsKnown::documents(Time from) const {
    static const TimeLimits kNone;
    const TimeLimits* of_the_file = model_.file_limits() ? &*model_.file_limits() : &kNone;
    auto found = model_.settings().possible(replica_, from, now_, [](const SettingsText& settings) {
        return settings.limits ? &*settings.limits : nullptr;
    });
    std::ranges::replace(found, nullptr, of_the_file);
    return found;
}

Time LimitsKnown::begun_by(Time at) const { return model_.weather().clear_at(replica_, at) ? at : kBeforeAll; }

std::vector<std::int64_t> LimitsKnown::lives_ms() const {
    // A job is acquired with what its replica went by when it began to ask for the lock.
    const engine::Duration asking = tunables_.lock_wait + 2 * tunables_.store_op_timeout;
    std::vector<std::int64_t> lives;
    for (const TimeLimits* document : documents(begun_by(job_.limits.acquired - asking))) {
        const auto workflow = document->workflows.find(job_.limits.workflow);
        const bool is_said = workflow != document->workflows.end() && workflow->second.total > engine::Duration{0};
        lives.push_back(is_said ? to_millis(workflow->second.total) : 0);
    }
    return lives;
}

LimitsKnown::Retries LimitsKnown::retries() const {
    std::vector<PolicyLimits> answers = job_.limits.answers;
    if (answers.empty()) answers.emplace_back();
    std::int64_t least = kUnlimited;
    std::int64_t most = 0;
    for (const TimeLimits* document : documents(job_.limits.acquired)) {
        const auto topic = document->topics.find(job_.limits.topic);
        const auto workflow = document->workflows.find(job_.limits.workflow);
        for (const PolicyLimits& answer : answers) {
            std::int64_t limit = answer.retries;
            if (topic != document->topics.end()) limit = stricter(limit, topic->second.max_retries);
            if (workflow != document->workflows.end()) limit = stricter(limit, workflow->second.max_retries);
            if (limit == 0) limit = kUnlimited;
            least = std::min(least, limit);
            most = std::max(most, limit);
        }
    }
    const auto or_none = [](std::int64_t limit) { return limit == kUnlimited ? 0 : limit; };
    return {or_none(least), or_none(most)};
}

std::int64_t LimitsKnown::shortest_dispatch_ms(Time from) const {
    const TimeLimits of_the_file = model_.file_limits().value_or(TimeLimits{});
    std::int64_t shortest = kUnlimited;
    for (const TimeLimits* document : documents(begun_by(from))) {
        std::int64_t general = to_millis(tunables_.dispatch_timeout);
        if (document->reconciler.given)
            general = std::min(to_millis(document->reconciler.meant().dispatch),
                               as_stored(*document) == as_stored(of_the_file) ? general : kUnlimited);
        const std::int64_t own = dispatch_of_topic(*document, job_);
        shortest = std::min(shortest, own > 0 ? own : general);
    }
    // What only the file says of a topic goes on to apply.
    return stricter(shortest, dispatch_of_topic(of_the_file, job_));
}

bool LimitsKnown::may_fail_open() const {
    const bool is_open = tunables_.policy_check_fail_mode == "open";
    if (model_.tunables().input_mode_pinned()) return is_open;
    const auto modes = model_.settings().possible(replica_, job_.limits.acquired, now_,
                                                  [](const SettingsText& said) { return said.opens_input_policy; });
    return std::ranges::any_of(modes, [is_open](std::optional<bool> opens) { return opens.value_or(is_open); });
}

std::vector<PolicyLimits> answers_for(const cap::JobRequest& sent, const JobLimits& limits) {
    std::vector<PolicyLimits> answers =
        limits.is_released && !limits.questions.empty() ? limits.questions : limits.answers;
    if (sent.labels().contains(wire::kLabelBypassed)) answers.emplace_back();
    return answers;
}

std::string flaw_of(const cap::JobRequest& sent, const JobLimits& limits, const PolicyLimits& answer) {
    if (std::min(sent.budget().deadline_ms(), kLongestLimitMs) != stricter(limits.asked_ms, answer.runtime_ms))
        return fmt::format("its worker is given {} ms, and its limits are {} ms by its request and {} ms by policy",
                           sent.budget().deadline_ms(), limits.asked_ms, answer.runtime_ms);
    const std::pair<const char*, std::string> expected[] = {
        {wire::kEnvRedactionLevel, answer.redaction_level},
        {wire::kEnvMaxArtifactBytes, decimal(answer.artifact_bytes)},
        {wire::kEnvMaxConcurrentJobs, decimal(answer.concurrent)},
        {wire::kEnvMaxRetries, decimal(answer.retries)},
    };
    for (const auto& [name, value] : expected)
        if (const std::string said = variable(sent, name); said != value)
            return fmt::format("its worker is given {}=\"{}\", and policy says \"{}\"", name, said, value);
    const std::string whole = variable(sent, wire::kEnvConstraints);
    if (whole.empty()) return answer.is_constrained ? "its worker is not given the constraints of policy" : "";
    const auto constraints = wire::from_json<cap::PolicyConstraints>(whole);
    if (!answer.is_constrained || !constraints || wire::serialise(*constraints) != answer.constraints)
        return "its worker is given other constraints than those of policy";
    return {};
}

}  // namespace lockstep::sim::spec
