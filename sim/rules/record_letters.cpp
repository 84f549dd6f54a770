// An entry that a scheduler writes for a dead letter has the documented fields, names its job, topic, tries and state, and its code and
// status say what became of the job: those of the worker's result, where that ended it, else those of the scheduler's reason. What is
// published of it is the same, or that of an entry that was evicted, with the number that belongs to the code. Only of a message that
// several handlers give up, each at another delivery, the first entry stays and each tells the number of its own.
#include <algorithm>
#include <cstdlib>

#include "engine/wire/messages.h"
#include "sim/rules/record_rules.h"
#include "sim/spec/letter_codes.h"

namespace lockstep::sim::rules {

namespace {

using spec::CodeMeaning;

/// A script may not be able to quote it.
std::string quotable(std::string_view topic) {
    std::string text(topic);
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '"' || c == '\\') c = '_';
    return text;
}

bool is_its_topic(const Job& job, std::string_view topic) {
    const auto& topics = job.sources.topics;
    if (job.sources.request_unread || was_replaced(topic)) return true;
    if (topic.empty() || topic == "unknown") return job.topic.empty() || std::ranges::count(topics, topic) > 0;
    return std::ranges::any_of(topics, [&](std::string_view one) { return quotable(one) == quotable(topic); });
}

/// By a worker, which ended the job so.
bool was_reported(const Job& job, const LetterText& letter) {
    const bool reported = std::ranges::any_of(job.sources.reports, [&letter](const Report& report) {
        return report.status == letter.status && says(letter.code, report.code) && says(letter.reason, report.reason);
    });
    return reported && spec::state_after(letter.status) == job.in_hash;
}

/// Empty: the code and the status are those of what became of it.
std::string_view contradiction(const Job& job, const LetterText& letter) {
    if (was_reported(job, letter)) return {};
    const CodeMeaning* meaning = spec::meaning_of(letter.code);
    if (meaning == nullptr) return "no worker has reported that";
    const std::string_view end = job.in_hash == State::denied ? "JOB_STATUS_DENIED" : "JOB_STATUS_FAILED";
    if (letter.status != (meaning->status.empty() ? end : meaning->status)) return "it has another status";
    if (meaning->state != State::absent && meaning->state != job.in_hash) return "it is not of that end";
    if (meaning->state != State::timeout) return {};
    if (!letter.reason.starts_with("timeout")) return "it does not say what was over";
    const bool is_unheard = letter.reason.find("has not been heard") != std::string::npos;
    if (is_unheard != (letter.code == "timeout_unheard")) return "its code is that of another reason";
    return {};
}

/// Of a message that was given up: how often it had been delivered, as far as the one knows who gave it up.
bool counts_deliveries(std::string_view reason) {
    return reason.starts_with("delivered ") && reason.ends_with(" times without success");
}

/// Of a job.
void agrees_with_record(const RecordChange& change, const LetterText& letter, Verdict& verdict) {
    const Job& job = *change.job;
    const State was = change.from.value_or(job.in_hash);
    verdict.require(letter.last_state == to_string(was) || letter.last_state == to_string(job.in_hash), 0,
                    "its dead letter says that it was {} last, and it was {}", letter.last_state, to_string(was));
    verdict.require(letter.attempts == job.sources.attempts, 0, "its dead letter counts {} tries, and its record {}",
                    letter.attempts, job.sources.attempts);
    verdict.require(is_its_topic(job, letter.topic), 0, "its dead letter names the topic '{}', and its record '{}'",
                    letter.topic, job.topic);
    const std::string_view reason = change.field("failure_reason");
    verdict.require(!change.has("failure_reason") || says(letter.reason, reason), 0,
                    "its dead letter gives the reason '{}', and its record '{}'", letter.reason, reason);
    const std::string_view what = contradiction(job, letter);
    verdict.require(what.empty(), 0, "it is {}, and its dead letter says {} with the code {} ({}): {}",
                    to_string(job.in_hash), letter.status, letter.code, letter.reason, what);
}

void entry_is_true(const JobWritten& written, const Model& model, Verdict& verdict) {
    const RecordChange& change = *written.change;
    if (!change.letter) return;
    verdict.exercised();
    verdict.cite("engine/store/redis-schema.md 4");
    verdict.require(change.letter->has_value(), 0, "its dead letter {}: {}",
                    change.letter->has_value() ? std::string{} : change.letter->error(), change.letter_entry);
    if (!change.letter->has_value()) return;
    const LetterText& letter = **change.letter;
    verdict.require(letter.id == change.job->name, 0, "its dead letter is about {}", letter.id);
    constexpr std::int64_t kOffByMost = 3'600;
    const std::int64_t age = written.redis_ms / 1000 - letter.created_at.count();
    verdict.require(model.clocks_were_set() || model.clocks_jumped() || std::abs(age) <= kOffByMost, 0,
                    "its dead letter was written {} s ago, by what it says", age);
    if (!about_a_job(change.job->name)) {
        const CodeMeaning* meaning = spec::meaning_of(letter.code);
        verdict.require(meaning != nullptr && meaning->status == letter.status, 0,
                        "its dead letter says {} with the code {}", letter.status, letter.code);
    } else if (!change.job->lost.any()) {
        agrees_with_record(change, letter, verdict);
    }
}

void denial_was_given(const JobWritten& written, const Model&, Verdict& verdict) {
    const RecordChange& change = *written.change;
    if (!change.letter || !change.letter->has_value() || !about_a_job(change.job->name) || change.job->lost.any())
        return;
    const LetterText& letter = **change.letter;
    if (letter.code != "safety_denied" || change.job->in_hash != State::denied) return;
    if (was_reported(*change.job, letter)) return;
    const bool given = std::ranges::any_of(change.job->sources.decisions, [&letter](const PolicyAnswer& answer) {
        return answer.decision == "DENY" && says(letter.reason, answer.reason);
    });
    verdict.require(given, 0,
                    "its dead letter says that policy has denied it ({}), and policy has not given that reason",
                    letter.reason);
}

void publication_is_true(const LetterSent& sent, const Model&, Verdict& verdict) {
    const cap::JobResult& result = sent.packet->job_result();
    const std::string& code = result.error_code();
    const std::string& status = cap::JobStatus_Name(result.status());
    const int number = static_cast<int>(result.error_code_enum());
    verdict.exercised();
    verdict.cite("engine/wire/wire.md 5.9");
    verdict.require(number == spec::bus_number_of(code), 0, "{} is published with the number {}, which is {}", code,
                    number, spec::bus_number_of(code));
    verdict.cite("engine/wire/wire.md 8.2");
    if (code == "quarantine_failed" || sent.job == nullptr) {
        const CodeMeaning* meaning = spec::meaning_of(code);
        verdict.require(meaning != nullptr && meaning->status == status, 0, "{} is published with {}", code, status);
        return;
    }
    verdict.require(sent.packet->trace_id() == sent.job->name, 0, "it is published under the trace {}",
                    sent.packet->trace_id());
    const RecordSources& sources = sent.job->sources;
    if (!sources.letter || sent.job->lost.any()) return;
    const auto is_it = [&](const LetterText& entry) {
        const bool both_count = counts_deliveries(entry.reason) && counts_deliveries(result.error_message());
        return entry.status == status && entry.code == code &&
               (both_count || says(entry.reason, result.error_message()));
    };
    verdict.require(is_it(*sources.letter) || std::ranges::any_of(sources.evicted_letters, is_it), 0,
                    "its dead letter says {}, {} ({}), and {}, {} ({}) is published", sources.letter->status,
                    sources.letter->code, sources.letter->reason, status, code, result.error_message());
}

}  // namespace

void letters_are_true(Rules& rules) {
    rules.add(entry_is_true);
    rules.add<PolicyAnswered>(denial_was_given);
    rules.add(publication_is_true);
}

}  // namespace lockstep::sim::rules
