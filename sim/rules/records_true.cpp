// What stands in Redis about a job says what was asked for and what has happened, in the documented words and units (redis-schema.md 2 to 4;
// wire.md 5.9, 8, 8.2 and 9).
//
// 1. Dead letters (record_letters.cpp).
// 2. Times. What is dated by the clock of Redis has the instant of the write, in microseconds, of dead letters in seconds. The indexes agree
//    with the record: the score of a job is when its record says that it was updated.
// 3. The request. The first time that a scheduler stores a request, the fields of the job's hash are those that the request has.
//    No scheduler replaces a stored request. An idempotency key that it records is that of the request, under its tenant, and stays that of
//    the first job.
// 4. Answers of policy (record_answers.cpp).
// 5. Dispatches. No two of a job have the same message id, which a stream would take for a repetition.
// 6. Settings. A scheduler that writes those of the system at its start adds to what stood there, changes none of it, and counts the revision up.
// 7. Tries are counted one at a time, and none that policy throttles.
//
// Judged as each command of a scheduler ends. Jobs of which Redis has lost something are left out.
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/wire/json_text.h"
#include "sim/model/capacity_keys.h"
#include "sim/model/job_keys.h"
#include "sim/model/request_facts.h"
#include "sim/rules/record_rules.h"
#include "sim/rules/rules.h"

namespace lockstep::sim::rules {

void require_now(std::string_view what, double at_ms, std::int64_t now_ms, Verdict& verdict) {
    /// A script's time is that of its beginning, and a real server reports each of its commands when it comes to it.
    constexpr double kCloseMs = 2'000;
    verdict.exercised();
    verdict.require(std::abs(at_ms - static_cast<double>(now_ms)) <= kCloseMs, 0,
                    "{} is dated {:.0f} ms, and it is {} ms by the clock of Redis", what, at_ms, now_ms);
}

namespace {

/// 2
void times_are_true(const JobWritten& written, Verdict& verdict) {
    const RecordChange& change = *written.change;
    for (const auto& [what, at_ms] : change.dated) require_now(what, at_ms, written.redis_ms, verdict);
    if (change.job->lost.any()) return;
    for (const std::string_view field : {"updated_at", "safety_checked_at"})
        if (const std::string_view at = change.field(field); !at.empty())
            require_now(field, ms_of(at), written.redis_ms, verdict);
    for (const auto& [index, score] : change.scores) {
        const std::string_view recorded = change.field(index == kDeadlines ? "deadline_unix"
                                                       : is_line(index)    ? "ls_waits_since"
                                                                           : "updated_at");
        verdict.require(recorded.empty() || score / 1000 == ms_of(recorded), 0,
                        "{} lists it under {:.0f}, and its record says {}", index, score, recorded);
    }
}

/// 3
void request_is_kept(const JobWritten& written, const Model& model, Verdict& verdict) {
    const RecordChange& change = *written.change;
    const RecordSources& sources = change.job->sources;
    verdict.require(change.idempotency_taken_from.empty(), 0, "it takes over the idempotency key of {}",
                    change.idempotency_taken_from);
    verdict.require(!change.replaced_request, 0, "its stored request is replaced, which was {}",
                    change.replaced_request.value_or(""));
    if (change.job->lost.any()) return;
    const bool asked_for = change.idempotency_key == sources.idempotency_key || sources.request_unread;
    verdict.require(change.idempotency_key.empty() || asked_for, 0,
                    "{} is recorded for it, and its request asks for '{}'", change.idempotency_key,
                    sources.idempotency_key);
    if (!change.request) return;
    const auto request = model.requests().read(*change.request);
    verdict.require(request != nullptr, 0, "its stored request cannot be read: {}", *change.request);
    if (request == nullptr) return;
    verdict.exercised();
    for (const auto& [field, value] : fields_of(*request)) {
        const std::string_view recorded = change.field(field);
        verdict.require(same_value(field, recorded, value) || was_replaced(recorded), 0,
                        "its request gives it the {} '{}', and its record says '{}'", field, value, recorded);
    }
}

/// 7
void tries_are_counted(const JobWritten& written, Verdict& verdict) {
    const RecordChange& change = *written.change;
    const Job& job = *change.job;
    if (!change.attempts_before || job.lost.any() || job.tries.hash_lost != 0) return;
    verdict.exercised();
    const std::int64_t before = *change.attempts_before;
    const std::int64_t after = job.sources.attempts;
    verdict.require(after == before || after == before + 1, 0, "its record counts {} tries, and counted {} before",
                    after, before);
    const bool is_throttled = change.field("safety_decision") == "THROTTLE" && !change.has("state");
    verdict.require(!is_throttled || after == before, 0, "policy throttles it, and that is counted as a try");
}

/// 5
void message_id_is_new(const Sent& sent, const Model&, Verdict& verdict) {
    if (sent.message_id.empty() || sent.job->lost.any()) return;
    verdict.exercised();
    verdict.cite("engine/wire/wire.md 3.4");
    verdict.require(!sent.id_of || *sent.id_of == sent.number, 0,
                    "its dispatch number {} has the message id {}, and so had number {}", sent.number, sent.message_id,
                    sent.id_of.value_or(0));
}

using Json = nlohmann::json;

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

bool is_a_first_document(const Json& settings) {
    const Json meta = settings.value("meta", Json::object());
    return settings.value("scope", Json{}) == "system" && settings.value("scope_id", Json{}) == "default" &&
           meta.is_object() && meta.value("source", Json{}) == "auto-bootstrap";
}

/// 6
void settings_are_added_to(const SettingsWritten& written, const Model&, Verdict& verdict) {
    verdict.exercised();
    verdict.cite("engine/config/settings.md 4");
    const Json is = engine::wire::read_json(written.after);
    const Json was = written.before.empty() ? Json::object() : engine::wire::read_json(written.before);
    const bool are_read = is.is_object() && was.is_object();
    verdict.require(are_read, 0, "it writes settings where there were {}", written.before);
    if (!are_read) return;
    const std::string lost = left_out(was, is);
    verdict.require(lost.empty(), 0, "it writes the settings anew, and {} is not what stood there", lost);
    const auto revision = [](const Json& document) {
        const auto found = document.find("revision");
        return found != document.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
    };
    verdict.require(!written.before.empty() || is_a_first_document(is), 0, "it writes the first settings as {}",
                    written.after);
    verdict.require(revision(is) == revision(was) + 1, 0, "it writes revision {} of the settings over revision {}",
                    revision(is), revision(was));
}

}  // namespace

void records_true(Rules& rules, const engine::Tunables&) {
    rules.add([](const JobWritten& written, const Model& model, Verdict& verdict) {
        times_are_true(written, verdict);
        request_is_kept(written, model, verdict);
        tries_are_counted(written, verdict);
    });
    rules.add(message_id_is_new);
    rules.add(settings_are_added_to);
    letters_are_true(rules);
    answers_are_true(rules);
}

}  // namespace lockstep::sim::rules
