#include "sim/oracles/records_true.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>

#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/sha256.h"
#include "engine/wire/subjects.h"
#include "engine/wire/text.h"
#include "sim/model/job_keys.h"
#include "sim/model/request_facts.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

using Json = nlohmann::json;
using fakes::EventKind;
using fakes::When;

constexpr std::string_view kHistory = "job:events:";
constexpr std::string_view kDecisions = "job:decisions:";
constexpr std::string_view kOutputPrefix = "job:";
constexpr std::string_view kIdempotencyPrefix = "job:idempotency:";
constexpr std::string_view kOutputSuffix = ":output_decision";
constexpr std::string_view kDeadlineIndex = "job:deadline";
constexpr std::string_view kApprovalGranted = "approval granted";

constexpr std::string_view kTenantSlots = "lockstep:tenant:slots:";

/// Sorted sets whose scores are when something was done, by the clock of Redis: in microseconds, and in seconds.
constexpr std::array<std::string_view, 7> kInMicros{"job:index:",
                                                    "job:recent",
                                                    "worker:jobs:",
                                                    kTenantSlots,
                                                    "lockstep:tenant:woken:",
                                                    "lockstep:dead_letter:outbox",
                                                    "lockstep:saga:owed"};
constexpr std::array<std::string_view, 2> kInSeconds{"dlq:index", "lockstep:undecodable:index"};

/// What of a job's hash is looked at, beside the fields that its request gives.
constexpr std::array<std::string_view, 16> kLookedAt{
    "ls_dispatches",           "safety_job_hash", "state",           "updated_at",          "attempts",
    "failure_reason",          "deadline_unix",   "result_ptr",      "output_safety",       "safety_decision",
    "safety_reason",           "safety_rule_id",  "safety_snapshot", "safety_approval_ref", "safety_checked_at",
    "safety_approval_required"};

constexpr std::string_view kRedactedPart = ":redacted:";
constexpr std::string_view kMarkerOfRedaction = "[REDACTED]";
constexpr std::string_view kKeyPointer = "redis://";

constexpr std::size_t kShownMax = 200;  // bytes of an output, in a complaint
constexpr std::size_t kKeptMax = 16;    // of reports and words about one job
/// A script's time is that of its beginning, and a real server tells of each of its commands when it comes to it.
constexpr double kCloseMs = 2'000;
constexpr std::int64_t kSecondsOfDay = 86'400;

template <class Prefixes>
bool has_prefix_of(std::string_view key, const Prefixes& prefixes) {
    return std::ranges::any_of(prefixes, [key](std::string_view prefix) { return key.starts_with(prefix); });
}

template <class Value>
void keep(std::vector<Value>& kept, Value value) {
    if (std::ranges::count(kept, value) > 0) return;
    if (kept.size() >= kKeptMax) kept.erase(kept.begin());
    kept.push_back(std::move(value));
}

/// Texts of peers may hold bytes that are no UTF-8, which a record cannot.
bool was_replaced(std::string_view text) { return text.find("\xef\xbf\xbd") != std::string_view::npos; }
bool says(std::string_view recorded, std::string_view told) { return recorded == told || was_replaced(recorded); }

/// A script may not be able to quote it.
std::string plain(std::string_view topic) {
    std::string text(topic);
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '"' || c == '\\') c = '_';
    return text;
}

std::string_view name_of(cap::DecisionType decision) {
    switch (decision) {
        case cap::DECISION_TYPE_ALLOW: return "ALLOW";
        case cap::DECISION_TYPE_ALLOW_WITH_CONSTRAINTS: return "ALLOW_WITH_CONSTRAINTS";
        case cap::DECISION_TYPE_REQUIRE_HUMAN: return "REQUIRE_APPROVAL";
        case cap::DECISION_TYPE_THROTTLE: return "THROTTLE";
        default: return "DENY";
    }
}

std::string text_in(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

std::string_view field_in(const auto& fields, std::string_view name) {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string_view{} : std::string_view(found->second);
}

/// The first of the members of `before` that `after` does not have as they were; empty: it has them all.
std::string left_out(const Json& before, const Json& after, const std::string& at = {}) {
    for (const auto& [name, value] : before.items()) {
        const std::string place = at.empty() ? name : at + "." + name;
        const bool of_the_writer = place == "revision" || place == "updated_at" || place == "data.timeouts" ||
                                   place == "data._poolsFileHash" || place == "data._timeoutsFileHash";
        if (of_the_writer || value.is_null()) continue;
        if (!after.contains(name)) return place;
        if (value.is_object() && after[name].is_object()) {
            if (std::string inner = left_out(value, after[name], place); !inner.empty()) return inner;
        } else if (value != after[name]) {
            return place;
        }
    }
    return {};
}

/// The output without what policy has found (wire.md 7.2), and without what it has not seen.
std::string text_without(std::string_view content, bool cut_off, const cap_output::OutputCheckResponse& answer) {
    std::vector<bool> found(content.size());
    bool usable = false;
    for (const auto& finding : answer.findings()) {
        const auto size = static_cast<std::int64_t>(content.size());
        if (finding.offset() < 0 || finding.length() <= 0 || finding.offset() >= size) continue;
        usable = true;
        const std::int64_t end = finding.offset() + std::min(finding.length(), size - finding.offset());
        for (std::int64_t at = finding.offset(); at < end; ++at) found[static_cast<std::size_t>(at)] = true;
    }
    if (!usable) return std::string(kMarkerOfRedaction);
    std::string text;
    for (std::size_t at = 0; at < content.size(); ++at) {
        if (!found[at])
            text += content[at];
        else if (at == 0 || !found[at - 1])
            text += kMarkerOfRedaction;
    }
    if (cut_off && !found.back()) text += kMarkerOfRedaction;
    return text;
}

template <class Message>
bool read(std::string_view bytes, Message& message) {
    return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace

// What is heard ---------------------------------------------------------------------------------------------------------

void RecordsTrue::on_event(const fakes::Event& event, Time) {
    switch (event.kind) {
        case EventKind::deliver:
        case EventKind::read_back:
            if (event.packet != nullptr && event.packet->has_job_result()) note_result(event.packet->job_result());
            break;
        case EventKind::kernel_check:
            if (event.when != When::before) note_answer(event);
            break;
        case EventKind::output_check:
            if (event.when == When::before)
                note_shown(event);
            else
                note_verdict(event);
            break;
        case EventKind::node_down:
            std::erase_if(shown_, [&event](const auto& entry) { return entry.first.first == event.node; });
            break;
        case EventKind::publish:
            if (event.when != When::before || !is_scheduler(event.node)) break;
            if (event.subject == engine::wire::kSubjectDlq) on_told(event);
            if (is_worker_subject(event.subject)) on_sent(event);
            break;
        case EventKind::fault:
            if (event.name.starts_with("clock_")) clocks_jumped_ = true;
            break;
        default: break;
    }
}

void RecordsTrue::note_result(const cap::JobResult& result) {
    Report report{cap::JobStatus_Name(result.status()), result.error_code(), result.error_message()};
    if (report.code.empty()) report.code = result.status() == cap::JOB_STATUS_TIMEOUT ? "timeout" : "job_failed";
    keep(jobs_[result.job_id()].reports, std::move(report));
}

void RecordsTrue::note_answer(const fakes::Event& event) {
    cap::PolicyCheckResponse answer;
    if (event.outcome != fakes::EventOutcome::applied || !read(event.payload, answer)) return;
    std::string_view decision = name_of(answer.decision());
    if (answer.approval_required() && decision.starts_with("ALLOW")) decision = "REQUIRE_APPROVAL";
    keep(jobs_[std::string(event.job)].decisions,
         {std::string(decision), answer.reason(), answer.rule_id(), answer.policy_snapshot(), answer.approval_ref()});
}

void RecordsTrue::note_verdict(const fakes::Event& event) {
    cap_output::OutputCheckResponse answer;
    if (event.outcome != fakes::EventOutcome::applied || !read(event.payload, answer)) return;
    std::string decision = "ALLOW";
    if (answer.decision() == cap_output::OUTPUT_DECISION_QUARANTINE) decision = "QUARANTINE";
    if (answer.decision() == cap_output::OUTPUT_DECISION_REDACT) decision = "REDACT";
    if (answer.decision() == cap_output::OUTPUT_DECISION_REDACT) note_redaction(event, answer);
    keep(jobs_[std::string(event.job)].verdicts, {std::move(decision), answer.reason(), answer.rule_id(),
                                                  answer.policy_snapshot(), fmt::format("{}", answer.findings_size())});
    if (event.when == When::answered) shown_.erase({event.node, std::string(event.job)});
}

void RecordsTrue::note_shown(const fakes::Event& event) {
    cap_output::OutputCheckRequest asked;
    if (!read(event.payload, asked)) return;
    const bool cut_off = asked.output_size_bytes() > static_cast<std::int64_t>(asked.output_content().size());
    shown_.insert_or_assign({event.node, std::string(event.job)},
                            Shown{std::move(*asked.mutable_output_content()), cut_off});
}

void RecordsTrue::note_redaction(const fakes::Event& event, const cap_output::OutputCheckResponse& answer) {
    const auto shown = shown_.find({event.node, std::string(event.job)});
    if (shown == shown_.end() || event.when != When::answered) return;
    Job& job = jobs_[std::string(event.job)];
    job.stand_in = answer.redacted_ptr();
    if (!shown->second.content.empty())
        keep(job.redactions, text_without(shown->second.content, shown->second.cut_off, answer));
}

void RecordsTrue::on_told(const fakes::Event& event) {
    if (event.packet == nullptr || !event.packet->has_job_result()) return;
    const cap::JobResult& told = event.packet->job_result();
    exercise();
    const auto object_to = [&](std::string detail) { violated(event.node, told.job_id(), std::move(detail)); };
    if (static_cast<std::int32_t>(told.error_code_enum()) != spec::bus_number_of(told.error_code()))
        object_to(fmt::format("the bus is told of {} by number {}, which is {}", told.error_code(),
                              static_cast<std::int32_t>(told.error_code_enum()), spec::bus_number_of(told.error_code())));
    const std::string status = cap::JobStatus_Name(told.status());
    const auto job = jobs_.find(told.job_id());
    const LetterText* letter = job == jobs_.end() || !job->second.letter ? nullptr : &*job->second.letter;
    const spec::CodeMeaning* meaning = spec::meaning_of(told.error_code());
    const bool of_its_own = told.error_code() == "quarantine_failed" || told.job_id().empty();
    if (of_its_own) {
        if (meaning == nullptr || meaning->status != status)
            object_to(fmt::format("the bus is told of {} with {}", told.error_code(), status));
        return;
    }
    if (event.packet->trace_id() != told.job_id())
        object_to(fmt::format("the bus is told of it under the trace {}", event.packet->trace_id()));
    if (letter == nullptr || loss_of(told.job_id()).any()) return;
    const auto is_told = [&](const LetterText& entry) {
        return entry.status == status && entry.code == told.error_code() && says(entry.reason, told.error_message());
    };
    if (!is_told(*letter) && std::ranges::none_of(job->second.evicted_letters, is_told))
        object_to(fmt::format("its dead letter says {}, {} ({}), and the bus is told {}, {} ({})", letter->status,
                              letter->code, letter->reason, status, told.error_code(), told.error_message()));
}

/// A stream takes a second message of an id for a repetition of the first.
void RecordsTrue::on_sent(const fakes::Event& event) {
    const auto job = jobs_.find(event.job);
    if (job == jobs_.end() || event.message_id.empty() || loss_of(event.job).any()) return;
    exercise();
    auto& sent_as = job->second.sent_as;
    const auto same = std::ranges::find(sent_as, event.message_id, &std::pair<std::string, std::string>::first);
    if (same == sent_as.end())
        keep(sent_as, {std::string(event.message_id), job->second.dispatches});
    else if (same->second != job->second.dispatches)
        violated(event.node, event.job,
                 fmt::format("its dispatch number {} has the message id {}, and so had number {}",
                             job->second.dispatches, event.message_id, same->second));
}

// What is written -------------------------------------------------------------------------------------------------------

bool RecordsTrue::judges(fakes::NodeId client) const { return is_scheduler(client) && client == client_; }

void RecordsTrue::command(fakes::NodeId client, std::span<const std::string_view> words, std::int64_t now_ms) {
    settle();
    client_ = words.empty() ? fakes::NodeId{} : client;
    now_ms_ = now_ms;
}

RecordsTrue::Change& RecordsTrue::change_of(std::string_view job) {
    const auto known = std::ranges::find(changes_, job, &Change::job);
    if (known != changes_.end()) return *known;
    Change& change = changes_.emplace_back();
    change.job = job;
    return change;
}

void RecordsTrue::note_request(std::string_view job, std::string_view json) {
    Job& known = jobs_[std::string(job)];
    const cap::JobRequest* request = read_request(json);
    known.any_topic = known.any_topic || !request;
    if (!request) return;
    known.topics.emplace(engine::wire::trim(request->topic()));
    keep(known.hashes, approval_hash(*request, job));
    const std::string& key = request->meta().idempotency_key();
    known.idempotency_key =
        key.empty() ? "" : fmt::format("{}{}:{}", kIdempotencyPrefix, tenant_named_by(*request), key);
}

void RecordsTrue::string_set(fakes::NodeId client, std::string_view key, const std::string* before,
                             std::string_view after, std::int64_t, std::int64_t) {
    if (key.starts_with(kRequestPrefix)) {
        const std::string_view job = key.substr(kRequestPrefix.size());
        note_request(job, after);
        if (judges(client) && before == nullptr) change_of(job).request = after;
        if (judges(client) && before != nullptr && *before != after)
            object(job, fmt::format("its stored request is replaced, which was {}", *before));
    } else if (key.starts_with(kIdempotencyPrefix)) {
        if (judges(client) && before == nullptr) change_of(after).idempotency_key = key;
    } else if (key.starts_with(kLetterPrefix)) {
        const std::string_view id = key.substr(kLetterPrefix.size());
        if (judges(client) && before == nullptr)
            on_letter(id, after);
        else if (const auto job = jobs_.find(id); job != jobs_.end())
            job->second.letter.reset();
    } else if (key.starts_with(kOutputPrefix) && key.ends_with(kOutputSuffix) && judges(client)) {
        key.remove_prefix(kOutputPrefix.size());
        key.remove_suffix(kOutputSuffix.size());
        change_of(key).output = after;
    } else if (key == kSettingsKey && judges(client)) {
        on_settings(before, after);
    } else if (key.find(kRedactedPart) != std::string_view::npos) {
        stand_ins_.insert_or_assign(std::string(key), std::string(after));
    }
}

/// At its start a scheduler adds what its files say and the document does not, and changes nothing that stands there (settings.md 4).
void RecordsTrue::on_settings(const std::string* before, std::string_view after) {
    exercise();
    const Json is = Json::parse(after, nullptr, false);
    const Json was = before == nullptr ? Json::object() : Json::parse(*before, nullptr, false);
    if (!is.is_object() || !was.is_object())
        return object({}, fmt::format("it writes settings where there were {}", before == nullptr ? "none" : *before));
    if (const std::string lost = left_out(was, is); !lost.empty())
        return object({}, fmt::format("it writes the settings anew, and {} is not what stood there", lost));
    const auto revision = [](const Json& document) {
        const auto found = document.find("revision");
        return found != document.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
    };
    if (revision(is) != revision(was) + 1)
        object({}, fmt::format("it writes revision {} of the settings over revision {}", revision(is), revision(was)));
}

void RecordsTrue::on_letter(std::string_view id, std::string_view entry) {
    exercise();
    auto letter = read_letter(entry);
    if (!letter) return object(id, fmt::format("its dead letter {}: {}", letter.error(), entry));
    if (letter->id != id) object(id, fmt::format("its dead letter is about {}", letter->id));
    const std::int64_t age = now_ms_ / 1000 - letter->created_at.count();
    if (!clocks_jumped_ && std::abs(age) > kSecondsOfDay)
        object(id, fmt::format("its dead letter was written {} s ago, by what it says", age));
    if (about_a_job(id)) {
        change_of(id).letter = std::move(*letter);
        return;
    }
    const spec::CodeMeaning* meaning = spec::meaning_of(letter->code);
    if (meaning == nullptr || meaning->status != letter->status)
        object(id, fmt::format("its dead letter says {} with the code {}", letter->status, letter->code));
}

void RecordsTrue::hash_set(fakes::NodeId client, std::string_view key, std::string_view field,
                           const std::string* before, std::string_view after) {
    const auto name = job_of_hash(key);
    if (!name) return;
    const bool looked_at = std::ranges::find(kLookedAt, field) != kLookedAt.end();
    if (!looked_at && !given_by_request(field)) return;
    const bool judged = judges(client);
    if (judged) {
        Change& change = change_of(*name);
        if (field == "state" && !change.from) change.from = before == nullptr ? std::string{} : *before;
        if (field == "output_safety" && before != nullptr) change.verdict_before = *before;
        change.fields.insert_or_assign(std::string(field), std::string(after));
    }
    if (field == "state" || field == "topic" || field == "attempts" || field == "ls_dispatches") {
        Job& job = jobs_[std::string(*name)];
        if (field == "state") {
            if (before == nullptr) job.letter.reset();
            job.state = after;
        } else if (field == "attempts") {
            job.attempts = after;
        } else if (field == "ls_dispatches") {
            job.dispatches = after;
        } else {
            job.topics.emplace(engine::wire::trim(after));
            job.topic = after;
        }
    }
}

void RecordsTrue::list_inserted(fakes::NodeId client, std::string_view key, std::size_t, std::string_view value) {
    if (!judges(client)) return;
    if (key.starts_with(kHistory))
        judge_time(key.substr(kHistory.size()), "its history", value.substr(0, value.find('|')));
    if (key.starts_with(kDecisions)) change_of(key.substr(kDecisions.size())).decision = value;
}

void RecordsTrue::zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double*,
                           double after) {
    if (!judges(client)) return;
    if (has_prefix_of(key, kInMicros)) {
        exercise();
        // Of a tenant's slots those with a worker come first.
        const bool may_be_negative = key.starts_with(kTenantSlots);
        judge_time(member, key, (may_be_negative ? std::abs(after) : after) / 1000);
    } else if (has_prefix_of(key, kInSeconds)) {
        exercise();
        judge_time(member, key, after * 1000);
    }
    if (!key.starts_with("job:index:") && key != "job:recent" && key != kDeadlineIndex) return;
    // Where one command lists it twice, the last place counts, as the last value of its record does.
    auto& scores = change_of(member).scores;
    std::erase_if(scores, [key](const auto& score) { return score.first == key; });
    scores.emplace_back(key, after);
}

void RecordsTrue::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal why,
                              const fakes::redis::Value&, std::int64_t) {
    const auto stand_in = stand_ins_.find(key);
    if (why != fakes::redis::Removal::evicted && stand_in != stand_ins_.end()) stand_ins_.erase(stand_in);
    // Whoever knows a job by its request knows no topic then.
    if (why == fakes::redis::Removal::evicted && key.starts_with(kRequestPrefix))
        jobs_[std::string(key.substr(kRequestPrefix.size()))].any_topic = true;
    if (why == fakes::redis::Removal::evicted && key.starts_with(kLetterPrefix))
        note_evicted_letter(key.substr(kLetterPrefix.size()));
    const auto job = job_of_hash(key);
    if (const auto known = job ? jobs_.find(*job) : jobs_.end(); known != jobs_.end()) jobs_.erase(known);
}

/// Whoever wrote it may be about to tell the bus, and whoever finds the job without one writes another.
void RecordsTrue::note_evicted_letter(std::string_view id) {
    const auto job = jobs_.find(id);
    if (job == jobs_.end() || !job->second.letter) return;
    job->second.evicted_letters.push_back(std::move(*job->second.letter));
    job->second.letter.reset();
}

void RecordsTrue::restored(const fakes::redis::Keyspace& now) {
    changes_.clear();
    for (auto& [name, job] : jobs_) {
        const std::string key = fmt::format("{}{}", kJobHashPrefix, name);
        job.state = job_state(now, name);
        job.topic = hash_field(now, key, "topic").value_or("");
        job.attempts = hash_field(now, key, "attempts").value_or("");
        job.letter.reset();
    }
}

// What is to be true of it ----------------------------------------------------------------------------------------------

void RecordsTrue::settle() {
    for (const Change& change : changes_) {
        if (!loss_of(change.job).any()) judge(change);
    }
    changes_.clear();
}

void RecordsTrue::judge_time(std::string_view job, std::string_view what, std::string_view micros) {
    exercise();
    std::int64_t at = 0;
    const auto [end, error] = std::from_chars(micros.data(), micros.data() + micros.size(), at);
    if (error != std::errc{} || end != micros.data() + micros.size())
        return object(job, fmt::format("{} is dated {}, which is no number", what, micros));
    judge_time(job, what, static_cast<double>(at) / 1000);
}

void RecordsTrue::judge_time(std::string_view job, std::string_view what, double at_ms) {
    if (std::abs(at_ms - static_cast<double>(now_ms_)) <= kCloseMs) return;
    object(job, fmt::format("{} is dated {:.0f} ms, and it is {} ms by the clock of Redis", what, at_ms, now_ms_));
}

void RecordsTrue::judge(const Change& change) {
    const Job& job = jobs_[change.job];
    for (const std::string_view field : {"updated_at", "safety_checked_at"})
        if (const std::string_view at = field_in(change.fields, field); !at.empty()) judge_time(change.job, field, at);
    const std::string_view updated = field_in(change.fields, "updated_at");
    const std::string_view deadline = field_in(change.fields, "deadline_unix");
    for (const auto& [index, score] : change.scores) {
        const std::string_view recorded = index == kDeadlineIndex ? deadline : updated;
        if (!recorded.empty() && fmt::format("{:.0f}", score) != recorded)
            object(change.job, fmt::format("{} lists it under {:.0f}, and its record says {}", index, score, recorded));
    }
    if (change.letter) judge_letter(change, job);
    if (change.request) judge_request(change);
    if (!change.idempotency_key.empty() && change.idempotency_key != job.idempotency_key && !job.any_topic)
        object(change.job, fmt::format("{} is recorded for it, and its request asks for '{}'", change.idempotency_key,
                                       job.idempotency_key));
    if (change.fields.contains("safety_decision")) judge_decision(change, job);
    if (change.output || change.fields.contains("output_safety")) judge_output(change, job);
    if (change.letter) jobs_[change.job].letter = change.letter;
}

void RecordsTrue::judge_letter(const Change& change, const Job& job) {
    const LetterText& letter = *change.letter;
    const std::string& was = change.from ? *change.from : job.state;
    if (letter.last_state != was && letter.last_state != job.state)
        object(change.job,
               fmt::format("its dead letter says that it was {} last, and it was {}", letter.last_state, was));
    const std::string tries = fmt::format("{}", letter.attempts);
    if (tries != (job.attempts.empty() ? "0" : job.attempts))
        object(change.job, fmt::format("its dead letter counts {} tries, and its record {}", tries, job.attempts));
    const bool none = letter.topic.empty() || letter.topic == "unknown";
    const bool known = none ? job.topic.empty() || job.topics.contains(letter.topic)
                            : std::ranges::any_of(job.topics, [&](const std::string& topic) {
                                  return plain(topic) == plain(letter.topic);
                              });
    if (!known && !job.any_topic && !was_replaced(letter.topic))
        object(change.job,
               fmt::format("its dead letter names the topic '{}', and its record '{}'", letter.topic, job.topic));
    const auto reason = change.fields.find("failure_reason");
    if (reason != change.fields.end() && !says(letter.reason, reason->second))
        object(change.job, fmt::format("its dead letter gives the reason '{}', and its record '{}'", letter.reason,
                                       reason->second));
    judge_cause(change, job);
}

void RecordsTrue::judge_cause(const Change& change, const Job& job) {
    const LetterText& letter = *change.letter;
    const bool reported = std::ranges::any_of(job.reports, [&letter](const Report& report) {
        return report.status == letter.status && says(letter.code, report.code) && says(letter.reason, report.reason);
    });
    if (reported && to_string(spec::state_after(letter.status)) == job.state) return;
    const auto contradicts = [&](std::string_view what) {
        object(change.job, fmt::format("it is {}, and its dead letter says {} with the code {} ({}): {}", job.state,
                                       letter.status, letter.code, letter.reason, what));
    };
    const spec::CodeMeaning* meaning = spec::meaning_of(letter.code);
    if (meaning == nullptr) return contradicts("no worker has reported that");
    const std::string_view end = job.state == "DENIED" ? "JOB_STATUS_DENIED" : "JOB_STATUS_FAILED";
    if (letter.status != (meaning->status.empty() ? end : meaning->status)) return contradicts("it has another status");
    if (!(meaning->state == State::absent) && to_string(meaning->state) != job.state) return contradicts("it is not of that end");
    if (letter.code == "safety_denied" && std::ranges::none_of(job.decisions, [&letter](const Word& word) {
            return word.decision == "DENY" && says(letter.reason, word.reason);
        }))
        return contradicts("policy has not given that reason");
    if (meaning->state == State::timeout && !letter.reason.starts_with("timeout"))
        contradicts("it does not say what was over");
}

void RecordsTrue::judge_request(const Change& change) {
    const cap::JobRequest* request = read_request(*change.request);
    if (!request) return object(change.job, fmt::format("its stored request cannot be read: {}", *change.request));
    exercise();
    for (const auto& [field, value] : fields_of(*request)) {
        const std::string_view recorded = field_in(change.fields, field);
        if (!same_value(field, recorded, value) && !was_replaced(recorded))
            object(change.job,
                   fmt::format("its request gives it the {} '{}', and its record says '{}'", field, value, recorded));
    }
}

void RecordsTrue::judge_decision(const Change& change, const Job& job) {
    exercise();
    const auto field = [&change](std::string_view name) { return field_in(change.fields, name); };
    const std::string_view decision = field("safety_decision");
    if (change.decision) {
        const Json listed = Json::parse(*change.decision, nullptr, false);
        const bool same = listed.is_object() && text_in(listed, "decision") == decision &&
                          text_in(listed, "reason") == field("safety_reason") &&
                          text_in(listed, "rule_id") == field("safety_rule_id") &&
                          text_in(listed, "policy_snapshot") == field("safety_snapshot") &&
                          text_in(listed, "approval_ref") == field("safety_approval_ref") &&
                          listed.value("approval_required", false) == (field("safety_approval_required") == "true");
        const bool replaced = was_replaced(*change.decision);
        if (!same && !replaced)
            object(change.job, fmt::format("its list of decisions gets {}, and its record says {} ({})",
                                           *change.decision, decision, field("safety_reason")));
        if (listed.is_object() && listed.contains("checked_at"))
            judge_time(change.job, "a decision about it", listed["checked_at"].dump());
    }
    const std::string_view bound_to = field("safety_job_hash");
    if (!bound_to.empty() && !job.any_topic && !job.hashes.empty() &&
        std::ranges::find(job.hashes, bound_to) == job.hashes.end())
        object(change.job,
               fmt::format("its approval is bound to the hash {}, and none of its stored requests has that", bound_to));
    const bool own =
        decision == "UNAVAILABLE" || field("safety_reason") == kApprovalGranted ||
        (change.letter && (change.letter->code == "input_unreadable" || change.letter->code == "safety_timeout"));
    if (own) return;
    const bool heard = std::ranges::any_of(job.decisions, [&](const Word& word) {
        // A gate is opened by a human, whatever policy allows.
        const bool gate = decision == "REQUIRE_APPROVAL" && word.decision.starts_with("ALLOW");
        return (gate || word.decision == decision) && word.reason == field("safety_reason") &&
               word.rule == field("safety_rule_id") && word.snapshot == field("safety_snapshot") &&
               word.more == field("safety_approval_ref");
    });
    if (!heard)
        object(change.job,
               fmt::format("its record says that policy has decided {} ('{}', rule '{}', snapshot '{}'), "
                           "and nobody has heard that",
                           decision, field("safety_reason"), field("safety_rule_id"), field("safety_snapshot")));
}

void RecordsTrue::judge_stand_in(const Change& change, const Job& job, std::string_view pointer) {
    if (!pointer.starts_with(kKeyPointer) || pointer == job.stand_in) return;
    const std::string_view key = pointer.substr(kKeyPointer.size());
    const auto stored = stand_ins_.find(key);
    if (stored == stand_ins_.end())
        return object(change.job, fmt::format("its output is redacted to {}, and nothing is there", key));
    if (std::ranges::count(job.redactions, stored->second) > 0) return;
    object(change.job,
           fmt::format("what stands in for its output is '{}', and by what policy has found it is '{}'",
                       std::string_view(stored->second).substr(0, kShownMax),
                       job.redactions.empty() ? std::string_view{}
                                              : std::string_view(job.redactions.back()).substr(0, kShownMax)));
}

void RecordsTrue::judge_output(const Change& change, const Job& job) {
    exercise();
    const auto in_hash = change.fields.find("output_safety");
    if (!change.output || in_hash == change.fields.end() || *change.output != in_hash->second)
        return object(change.job, "the verdict on its output is not recorded alike in its two places");
    const Json record = Json::parse(*change.output, nullptr, false);
    if (!record.is_object()) return object(change.job, "the verdict on its output is no JSON object");
    const std::string decision = text_in(record, "decision");
    const bool after_success = change.from ? *change.from == "SUCCEEDED" : job.state == "SUCCEEDED";
    const std::string phase = text_in(record, "phase");
    if (phase != (after_success ? "async" : "sync"))
        object(change.job, fmt::format("the verdict on its output is of the phase '{}', and it was {}", phase,
                                       change.from ? *change.from : job.state));
    judge_time(change.job, "the verdict on its output", record.value("checked_at", Json(0)).dump());
    const std::int64_t scanned = record.value("scanned_bytes", std::int64_t{0});
    const std::int64_t bytes = record.value("output_bytes", std::int64_t{0});
    if (record.value("partial", false) != (scanned < bytes) || record.value("check_duration_ms", std::int64_t{0}) < 0)
        object(change.job, fmt::format("the verdict on its output contradicts itself: {}", *change.output));
    if (decision == "REDACT") {
        const std::string stand_in = text_in(record, "redacted_ptr");
        if (!stand_in.starts_with("redis://") || field_in(change.fields, "result_ptr") != stand_in)
            object(change.job, fmt::format("its output is redacted to '{}', and its result is '{}'", stand_in,
                                           field_in(change.fields, "result_ptr")));
        judge_stand_in(change, job, stand_in);
    }
    const Json before = Json::parse(change.verdict_before, nullptr, false);
    const bool scanned_before = before.is_object() && text_in(before, "phase") == "async" && phase == "async";
    if (scanned_before && !change.fields.contains("state") && !change.fields.contains("result_ptr"))
        object(change.job, fmt::format("the verdict of a scan of its output was {}, and is overwritten with {}",
                                       change.verdict_before, *change.output));
    const std::string reason = text_in(record, "reason");
    const std::string rule = text_in(record, "rule_id");
    const std::string snapshot = text_in(record, "policy_snapshot");
    // Where nobody could be asked there is no rule, and the fail mode decides.
    if (decision == "QUARANTINE" && rule.empty() && snapshot.empty()) return;
    const std::string findings = fmt::format("{}", record.contains("findings") ? record["findings"].size() : 0);
    const bool heard = std::ranges::any_of(job.verdicts, [&](const Word& word) {
        // What cannot be redacted, or seen to its end, may be withheld.
        const bool same = word.decision == decision || decision == "QUARANTINE";
        return same && (reason.starts_with(word.reason) || was_replaced(reason)) && word.rule == rule &&
               word.snapshot == snapshot && word.more == findings;
    });
    if (!heard)
        object(change.job,
               fmt::format("its record holds a verdict on its output that nobody has heard: {}", *change.output));
}

}  // namespace lockstep::sim
