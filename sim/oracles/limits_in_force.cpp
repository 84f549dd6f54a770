#include "sim/oracles/limits_in_force.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/policy_marks.h"
#include "engine/wire/text.h"
#include "sim/model/job_keys.h"
#include "sim/oracles/documented_settings.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

namespace wire = engine::wire;
using fakes::EventKind;
using fakes::EventOutcome;
using fakes::When;

/// Ten years: what a longer limit counts as.
constexpr std::int64_t kLongestMs = 315'360'000'000;

constexpr std::string_view kLockPrefix = "cordum:scheduler:job:";
constexpr std::string_view kExceeded = "max_retries_exceeded";
constexpr std::size_t kAnswersMax = 8;  // of one job
/// Between the instants that a script and an observer take for the same, in microseconds.
constexpr std::int64_t kClockSlack = 2'000'000;
/// Longer than a look at what is overdue takes that has begun with other limits.
constexpr Duration kLookMax = std::chrono::seconds{10};
constexpr std::string_view kFileHash = "_timeoutsFileHash";
constexpr std::size_t kHashDigits = 64;
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
/// The reason of a decision that a human has made (wire.md 8.1).
constexpr std::string_view kReleased = "approval granted";

std::int64_t whole_number(std::string_view text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::int64_t least_of(std::int64_t a, std::int64_t b) { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

std::string decimal(std::int64_t value) { return value > 0 ? fmt::format("{}", value) : std::string{}; }

/// As every reader of the settings knows them: no limit of a topic's dispatches, and no block that says nothing.
TimeLimits as_stored(TimeLimits timeouts) {
    for (auto& [name, topic] : timeouts.topics) topic.dispatch = {};
    timeouts.reconciler.given = false;
    return timeouts;
}

/// Of whose file the limits in the settings are, as is recorded beside them; nothing: there are no limits, or nobody may write there.
std::optional<std::string> file_of_limits(std::string_view settings) {
    const auto document = nlohmann::json::parse(settings, nullptr, false);
    if (!document.is_object() || !document.contains("data") || !document["data"].is_object()) return std::nullopt;
    const auto revision = document.find("revision");
    if (revision != document.end() && !revision->is_number_unsigned()) return std::nullopt;
    const auto& data = document["data"];
    if (!data.contains("timeouts") || !data["timeouts"].is_object()) return std::nullopt;
    const auto hash = data.find(kFileHash);
    return hash != data.end() && hash->is_string() ? hash->get<std::string>() : std::string{};
}

/// It may be that of any file: a SHA-256 in hexadecimal digits.
bool is_fingerprint(std::string_view hash) {
    return hash.size() == kHashDigits && hash.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string variable(const cap::JobRequest& request, const char* name) {
    const auto found = request.env().find(name);
    return found == request.env().end() ? std::string{} : found->second;
}

}  // namespace

LimitsInForce::LimitsInForce(Judge& judge, const engine::Tunables& tunables, std::string_view timeouts)
    : Oracle(judge), tunables_(tunables), has_file_(!timeouts.empty()) {
    const auto read = read_time_limits(timeouts);
    if (read) of_the_file_ = *read;
}

LimitsInForce::Job& LimitsInForce::at(std::string_view job) {
    const auto found = jobs_.find(job);
    return found != jobs_.end() ? found->second : jobs_.emplace(job, Job{}).first->second;
}

void LimitsInForce::on_event(const fakes::Event& event, Time now) {
    settings_.on_event(event, now);
    switch (event.kind) {
        case EventKind::kernel_check:
            if (!event.job.empty()) note_answer(event);
            break;
        case EventKind::publish:
            if (event.when == When::before && event.packet != nullptr && event.packet->has_job_request() &&
                is_worker_subject(event.subject) && is_scheduler(event.node))
                on_sending(event);
            break;
        case EventKind::fault: clocks_jumped_ = clocks_jumped_ || event.name.starts_with("clock_"); break;
        case EventKind::deliver:
        case EventKind::read_back:
            if (event.packet != nullptr && event.packet->job_result().status() == cap::JOB_STATUS_TIMEOUT)
                at(event.packet->job_result().job_id()).timeout_reported = true;
            break;
        default: break;
    }
    if (has_file_ && is_scheduler(event.node)) note_start(event);
}

void LimitsInForce::note_start(const fakes::Event& event) {
    switch (event.kind) {
        case EventKind::node_down: started_.erase(event.node); [[fallthrough]];
        case EventKind::paused: owes_.erase(event.node); break;
        case EventKind::redis: {
            if (event.key != kSettingsKey) break;
            // Who cannot write them goes on with what is there.
            if (event.when == When::answered && event.outcome != EventOutcome::applied) owes_.erase(event.node);
            if (event.when != When::applied || event.command != "GET" || !started_.insert(event.node).second) break;
            const auto file = file_of_limits(settings_text_);
            if (file && !is_fingerprint(*file)) owes_[event.node] = present();
            break;
        }
        case EventKind::lock_acquired: {
            const auto owed = event.job.empty() ? owes_.end() : owes_.find(event.node);
            if (owed == owes_.end()) break;
            const EventNumber found = owed->second;
            owes_.erase(owed);
            violated(event.node, event.job,
                     "it takes up jobs with a file of limits, and has left those of another one in the settings",
                     found);
            break;
        }
        default: break;
    }
}

void LimitsInForce::note_answer(const fakes::Event& event) {
    at(event.job).asked = true;
    Answer answer;
    if (event.when == When::applied) {
        cap::PolicyCheckResponse response;
        if (!response.ParseFromArray(event.payload.data(), static_cast<int>(event.payload.size()))) return;
        const auto& budgets = response.constraints().budgets();
        answer.constrained = response.has_constraints();
        answer.constraints = wire::serialise(response.constraints());
        answer.redaction_level = response.constraints().redaction_level();
        answer.runtime_ms = std::clamp<std::int64_t>(budgets.max_runtime_ms(), 0, kLongestMs);
        answer.artifact_bytes = std::max<std::int64_t>(0, budgets.max_artifact_bytes());
        answer.concurrent = std::max<std::int64_t>(0, budgets.max_concurrent_jobs());
        answer.retries = std::max<std::int64_t>(0, budgets.max_retries());
        auto& questions = at(event.job).questions;
        const bool asks = response.decision() == cap::DECISION_TYPE_REQUIRE_HUMAN || response.approval_required();
        if (asks && std::ranges::count(questions, answer) == 0) questions.push_back(answer);
    } else if (event.when != When::answered || event.outcome == EventOutcome::applied) {
        return;
    }
    auto& answers = at(event.job).answers;
    if (std::ranges::count(answers, answer) > 0) return;
    if (answers.size() >= kAnswersMax) answers.erase(answers.begin());
    answers.push_back(std::move(answer));
}

void LimitsInForce::note_request(Job& job, std::string_view json) {
    const cap::JobRequest* request = read_request(json);
    job.request_known = request != nullptr;
    if (!request) return;
    job.topic = wire::trim(request->topic());
    job.workflow = request->workflow_id();
    job.asked_ms = std::min(request->budget().deadline_ms(), kLongestMs);
}

void LimitsInForce::note_take_up(std::string_view name, std::int64_t expires_at) {
    Job& job = at(name);
    // The lock's expiry tells what the clock of Redis shows.
    job.taken_up = (expires_at - engine::to_millis(tunables_.job_lock_ttl)) * 1000;
    job.taken_up_at = now_;
    job.dispatches_before = job.dispatches;
    job.asked = false;
}

void LimitsInForce::string_set(fakes::NodeId client, std::string_view key, const std::string* before,
                               std::string_view after, std::int64_t, std::int64_t expires_at) {
    if (key.starts_with(kLockPrefix) && is_scheduler(client) && before == nullptr)
        note_take_up(key.substr(kLockPrefix.size()), expires_at);
    if (key.starts_with(kRequestPrefix)) {
        Job& job = at(key.substr(kRequestPrefix.size()));
        // Whoever has the job in hand goes by what stood there when it took it up.
        if (!is_scheduler(client) && before != nullptr && *before != after && job.taken_up != 0) job.unsure = true;
        note_request(job, after);
    }
    if (key.starts_with(kLetterPrefix) && is_scheduler(client))
        on_letter(client, key.substr(kLetterPrefix.size()), after);
    settings_.string_set(key, after);
    if (key != kSettingsKey) return;
    settings_text_ = after;
    if (const auto file = file_of_limits(after); !is_scheduler(client) || !file || is_fingerprint(*file)) owes_.clear();
    if (!is_scheduler(client)) return;
    const auto settings = read_settings(after);
    if (settings && settings->limits) judge_introduced(client, before, *settings->limits);
}

/// What a scheduler writes into the settings at its start are the limits of its file, unless it leaves what stood there.
void LimitsInForce::judge_introduced(fakes::NodeId client, const std::string* before, const TimeLimits& written) {
    const auto stood = before == nullptr ? std::nullopt : read_settings(*before);
    const auto said = as_stored(written);
    if (stood && stood->limits && as_stored(*stood->limits) == said) return;
    exercise();
    if (as_stored(of_the_file_) != said)
        violated(client, {}, "the limits that it writes into the settings are not those of its file");
}

void LimitsInForce::hash_set(fakes::NodeId client, std::string_view key, std::string_view field,
                             const std::string* before, std::string_view after) {
    const auto name = job_of_hash(key);
    if (!name) return;
    if (field == "deadline_unix") {
        Job& job = at(*name);
        if (is_scheduler(client) && !job.unsure && !clocks_jumped_)
            on_deadline(client, *name, job, whole_number(after));
        job.deadline = whole_number(after);
        job.deadline_of_others = job.deadline_of_others || !is_scheduler(client);
    }
    if (!is_scheduler(client)) return;
    if (field == "safety_decision") at(*name).unanswered = after == "UNAVAILABLE";
    if (field == "ls_dispatches") on_dispatches(client, *name, at(*name), whole_number(after));
    if (field == "safety_reason") at(*name).released = after == kReleased;
    if (field == "state") {
        Job& job = at(*name);
        job.sent_out = after == "DISPATCHED";
        job.times_out = after == "TIMEOUT" && before != nullptr && *before == "DISPATCHED";
    }
    if (field == "updated_at") on_moved(client, *name, at(*name), whole_number(after));
    if (field == "updated_at" && at(*name).sent_out) {
        Job& job = at(*name);
        job.sent_out = false;
        if (!job.unsure && !clocks_jumped_) on_dispatched(client, *name, job, whole_number(after));
    }
    if (field == "ls_waits_limit") on_waits(client, *name, at(*name), whole_number(after));
}

void LimitsInForce::on_waits(fakes::NodeId client, std::string_view name, const Job& job, std::int64_t limit) {
    const auto told = [limit](const Answer& answer) { return answer.concurrent == limit; };
    exercise();
    if (job.answers.empty() || job.unsure || std::ranges::any_of(job.answers, told)) return;
    // An open circuit has nobody asked, and an open fail mode knows no limits.
    if (limit == 0 && !job.asked && may_fail_open(client, job)) return;
    violated(client, name, fmt::format("it waits by a limit of {} jobs, and policy has never given that one", limit));
}

bool LimitsInForce::may_fail_open(fakes::NodeId replica, const Job& job) const {
    const auto modes = settings_.possible(replica, job.taken_up_at, now_,
                                          [](const DocumentedSettings& o) { return o.input_fail_mode; });
    return std::ranges::any_of(
        modes, [&](const auto& mode) { return mode.value_or(tunables_.policy_check_fail_mode) == "open"; });
}

void LimitsInForce::on_moved(fakes::NodeId client, std::string_view name, Job& job, std::int64_t at) {
    const std::int64_t stay = job.moved_at == 0 ? 0 : at - job.moved_at;
    const Time dispatched = std::exchange(job.moved_seen, now_);
    job.moved_at = at;
    if (!std::exchange(job.times_out, false) || stay <= 0) return;
    if (job.unsure || clocks_jumped_ || job.timeout_reported || !job.request_known) return;
    if (job.deadline != 0 && job.deadline <= at + kClockSlack) return;
    exercise();
    const std::int64_t shortest =
        shortest_dispatch_ms(client, job, std::min(dispatched, now_ - 2 * tunables_.reconciler_interval) - kLookMax);
    if (stay + kClockSlack < shortest * 1000)
        violated(
            client, name,
            fmt::format("it times out after {} ms in DISPATCHED, and by what its replica goes by it may stay for {} ms",
                        stay / 1000, shortest));
}

std::int64_t LimitsInForce::shortest_dispatch_ms(fakes::NodeId replica, const Job& job, Time from) const {
    const auto of_topic = [&job](const TimeLimits& timeouts) {
        const auto topic = timeouts.topics.find(job.topic);
        return topic == timeouts.topics.end() ? std::int64_t{0} : engine::to_millis(topic->second.dispatch);
    };
    std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
    for (const TimeLimits& timeouts : in_force(replica, from)) {
        std::int64_t general = engine::to_millis(tunables_.dispatch_timeout);
        if (timeouts.reconciler.given)
            general = std::min(engine::to_millis(timeouts.reconciler.meant().dispatch),
                               as_stored(timeouts) == as_stored(of_the_file_) ? general : kNoLimit);
        const std::int64_t own = of_topic(timeouts);
        shortest = std::min(shortest, own > 0 ? own : general);
    }
    // What only the file has said of a topic goes on to hold.
    return least_of(shortest, of_topic(of_the_file_));
}

std::vector<TimeLimits> LimitsInForce::in_force(fakes::NodeId replica, Time from) const {
    std::vector<TimeLimits> timeouts;
    for (auto& said :
         settings_.possible(replica, from, now_, [](const DocumentedSettings& settings) { return settings.limits; }))
        timeouts.push_back(said ? std::move(*said) : of_the_file_);
    return timeouts;
}

std::vector<std::int64_t> LimitsInForce::lives_of(fakes::NodeId replica, const Job& job) const {
    // A job is taken up with what its replica went by when it began to ask for the lock.
    const engine::Duration asking = tunables_.lock_wait + 2 * tunables_.store_op_timeout;
    std::vector<std::int64_t> lives;
    for (const TimeLimits& timeouts : in_force(replica, job.taken_up_at - asking)) {
        const auto workflow = timeouts.workflows.find(job.workflow);
        const bool said = workflow != timeouts.workflows.end() && workflow->second.total > engine::Duration{0};
        lives.push_back(said ? engine::to_millis(workflow->second.total) : 0);
    }
    return lives;
}

void LimitsInForce::on_deadline(fakes::NodeId client, std::string_view name, Job& job, std::int64_t deadline) {
    exercise();
    if (job.deadline != 0 && deadline > job.deadline) {
        violated(client, name, fmt::format("its deadline is put off by {} ms", (deadline - job.deadline) / 1000));
        return;
    }
    if (job.taken_up == 0 || !job.request_known) return;
    const auto since_take_up = std::chrono::duration_cast<std::chrono::microseconds>(now_ - job.taken_up_at).count();
    const std::int64_t routed = job.taken_up + since_take_up;
    const std::int64_t slack = kClockSlack + since_take_up / 4;
    const auto is = [deadline](std::int64_t instant, std::int64_t within) {
        return std::abs(deadline - instant) <= within;
    };
    if (job.asked_ms > 0 && is(job.taken_up + job.asked_ms * 1000, kClockSlack)) return;
    for (const std::int64_t life : lives_of(client, job))
        if (life > 0 && is(job.taken_up + life * 1000, kClockSlack)) return;
    for (const Answer& answer : job.answers)
        if (answer.runtime_ms > 0 && is(routed + answer.runtime_ms * 1000, slack)) return;
    violated(client, name,
             fmt::format("its deadline lies {} ms after it was taken up, and neither its request ({} ms), nor its "
                         "workflow nor policy says so",
                         (deadline - job.taken_up) / 1000, job.asked_ms));
}

void LimitsInForce::on_dispatched(fakes::NodeId client, std::string_view name, const Job& job, std::int64_t at) {
    if (job.taken_up == 0 || !job.request_known || job.answers.empty()) return;
    constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
    std::int64_t latest = kNever;
    if (job.asked_ms > 0 && !job.deadline_of_others) latest = std::min(latest, job.taken_up + job.asked_ms * 1000);
    if (const auto lives = lives_of(client, job); std::ranges::count(lives, 0) == 0)
        latest = std::min(latest, job.taken_up + std::ranges::max(lives) * 1000);
    const auto allowed = [](const Answer& answer) { return answer.runtime_ms; };
    const bool always = std::ranges::none_of(job.answers, [](const Answer& a) { return a.runtime_ms == 0; });
    if (always && !job.unanswered)
        latest = std::min(latest, at + std::ranges::max(job.answers, {}, allowed).runtime_ms * 1000);
    if (latest == kNever) return;
    exercise();
    if (job.deadline == 0)
        violated(client, name, "it is dispatched without a deadline, and its request, its workflow or policy sets one");
    else if (job.deadline > latest + kClockSlack)
        violated(client, name,
                 fmt::format("it is dispatched with a deadline that is {} ms later than the strictest of its limits",
                             (job.deadline - latest) / 1000));
}

LimitsInForce::Retries LimitsInForce::retries_of(fakes::NodeId replica, const Job& job) const {
    Retries retries{std::numeric_limits<std::int64_t>::max(), 0};
    bool unlimited = false;
    std::vector<Answer> answers = job.answers;
    if (answers.empty()) answers.emplace_back();
    const std::vector<TimeLimits> documents = in_force(replica, job.taken_up_at);
    for (const Answer& answer : answers) {
        for (const TimeLimits& timeouts : documents) {
            std::int64_t limit = answer.retries;
            if (const auto topic = timeouts.topics.find(job.topic); topic != timeouts.topics.end())
                limit = least_of(limit, topic->second.max_retries);
            if (const auto workflow = timeouts.workflows.find(job.workflow); workflow != timeouts.workflows.end())
                limit = least_of(limit, workflow->second.max_retries);
            unlimited = unlimited || limit == 0;
            if (limit > 0) retries.least = std::min(retries.least, limit);
            retries.most = std::max(retries.most, limit);
        }
    }
    if (retries.least == std::numeric_limits<std::int64_t>::max()) retries.least = 0;
    if (unlimited) retries.most = 0;
    return retries;
}

void LimitsInForce::on_dispatches(fakes::NodeId client, std::string_view name, Job& job, std::int64_t dispatches) {
    job.dispatches = dispatches;
    const Retries retries = retries_of(client, job);
    if (retries.most == 0 || job.unsure || job.unanswered || !job.request_known) return;
    exercise();
    // Choices of one try, of workers that fell silent one after the other, are dispatches too, and none stops another.
    if (job.dispatches_before > retries.most)
        violated(client, name,
                 fmt::format("it is dispatched once more after {} times, and may be dispatched again {} times",
                             job.dispatches_before, retries.most));
}

void LimitsInForce::on_letter(fakes::NodeId client, std::string_view name, std::string_view text) {
    if (text.find(kExceeded) == std::string_view::npos) return;
    const auto letter = nlohmann::json::parse(text, nullptr, false);
    const auto job = jobs_.find(name);
    if (job == jobs_.end() || !letter.is_object() || letter.value("reason_code", "") != kExceeded) return;
    exercise();
    const Retries retries = retries_of(client, job->second);
    const std::int64_t dispatches = job->second.dispatches;
    if (job->second.unsure || !job->second.request_known) return;
    if (retries.least == 0 || dispatches <= retries.least)
        violated(client, name,
                 fmt::format("its retries are said to be used up after {} dispatches, and it has {}", dispatches,
                             retries.least == 0 ? std::string("no limit") : fmt::format("{}", retries.least)));
}

std::string LimitsInForce::wrong(const cap::JobRequest& sent, const Job& job, const Answer& answer) const {
    const std::int64_t deadline = least_of(job.asked_ms, answer.runtime_ms);
    if (std::min(sent.budget().deadline_ms(), kLongestMs) != deadline)
        return fmt::format("its worker is given {} ms, and its limits are {} ms by its request and {} ms by policy",
                           sent.budget().deadline_ms(), job.asked_ms, answer.runtime_ms);
    const std::pair<const char*, std::string> expected[] = {
        {wire::kEnvRedactionLevel, answer.redaction_level},
        {wire::kEnvMaxArtifactBytes, decimal(answer.artifact_bytes)},
        {wire::kEnvMaxConcurrentJobs, decimal(answer.concurrent)},
        {wire::kEnvMaxRetries, decimal(answer.retries)},
    };
    for (const auto& [name, value] : expected) {
        const std::string said = variable(sent, name);
        if (said != value)
            return fmt::format("its worker is told {}=\"{}\", and policy says \"{}\"", name, said, value);
    }
    const std::string whole = variable(sent, wire::kEnvConstraints);
    if (whole.empty()) return answer.constrained ? "its worker is not told what policy constrains" : "";
    const auto constraints = wire::from_json<cap::PolicyConstraints>(whole);
    if (!answer.constrained || !constraints || wire::serialise(*constraints) != answer.constraints)
        return "its worker is told of other constraints than those of policy";
    return {};
}

void LimitsInForce::on_sending(const fakes::Event& event) {
    const auto job = jobs_.find(event.job);
    if (job == jobs_.end() || job->second.unsure || !job->second.request_known || job->second.answers.empty()) return;
    const bool as_asked = job->second.released && !job->second.questions.empty();
    std::vector<Answer> answers = as_asked ? job->second.questions : job->second.answers;
    if (event.packet->job_request().labels().contains(wire::kLabelBypassed)) answers.emplace_back();
    if (job->second.asked_ms > 0 || std::ranges::any_of(answers, &Answer::constrained)) exercise();
    std::string complaint;
    for (const Answer& answer : answers) {
        complaint = wrong(event.packet->job_request(), job->second, answer);
        if (complaint.empty()) return;
    }
    violated(event.node, event.job, complaint);
}

void LimitsInForce::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal, const fakes::redis::Value&,
                                std::int64_t) {
    settings_.key_removed(key);
    if (key == kSettingsKey) {
        settings_text_.clear();
        owes_.clear();
    }
    const auto name = job_of_hash(key);
    const auto found = jobs_.find(name                              ? *name
                                  : key.starts_with(kRequestPrefix) ? key.substr(kRequestPrefix.size())
                                                                    : std::string_view{});
    if (found == jobs_.end()) return;
    found->second.unsure = true;
    found->second.deadline = 0;
    found->second.moved_at = 0;
}

void LimitsInForce::restored(const fakes::redis::Keyspace& now) {
    settings_.restored(now);
    owes_.clear();
    settings_text_.clear();
    for (auto& [name, job] : jobs_) job.unsure = true;
}

}  // namespace lockstep::sim
