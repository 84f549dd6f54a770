#include "prod/ctl/submit.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/runs/job_names.h"
#include "engine/runtime/invariant.h"
#include "engine/runtime/scope.h"
#include "engine/runtime/span.h"
#include "engine/runtime/wait.h"
#include "engine/store/job_fields.h"
#include "engine/store/keys.h"
#include "engine/store/script_arguments.h"
#include "engine/store/scripts/common.lua.h"
#include "engine/wire/json.h"
#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/pointer.h"
#include "engine/wire/subjects.h"
#include "engine/wire/validation.h"
#include "prod/ctl/document.h"
#include "prod/ctl/jobs.h"
#include "prod/ctl/scripts/record_submission.lua.h"
#include "prod/ctl/text.h"
#include "prod/loop/signals.h"

namespace lockstep::prod {

namespace {

namespace wire = engine::wire;
using engine::OutcomeKind;

constexpr const char* kSender = "api-gateway";
constexpr std::size_t kWindow = 256;  // submissions under way at once
constexpr int kAttempts = 3;
constexpr auto kPause = std::chrono::milliseconds(300);
/// As the protocol keeps idempotency keys.
constexpr auto kKeyLife = std::chrono::hours(24 * 90);
/// A gateway reserves a key before it records the job, so a young one without a record is in use.
constexpr auto kReservation = std::chrono::seconds(60);

/// Of scripts/record_submission.lua, in the order of the alphabet.
constexpr std::string_view kRecordArguments[] = {"copies_input",  "input",      "input_ttl_ms",   "job",
                                                 "key_text",      "key_ttl_ms", "letter",         "letter_of",
                                                 "record_ttl_ms", "request",    "reservation_ms", "tenant"};

/// What Redis says to a job that is submitted again and is not to be.
std::string refusal_of_retry(std::string_view word, const LetterClaim& claim, const std::string& id) {
    if (word == "letter_gone") return fmt::format("there is no dead letter of job {} any more", claim.job);
    if (word == "letter_changed")
        return fmt::format("the dead letter of job {} was written anew meanwhile: look at it and try again", claim.job);
    if (word == "request_changed")
        return fmt::format("the stored request of job {} (job:req:{}) was changed or has expired meanwhile: try again",
                           claim.job, claim.job);
    if (word == "input_gone")
        return fmt::format(
            "job {0} cannot be submitted again: its input (ctx:{0}) has expired. Submit the work as a new job "
            "(lockstepctl submit), then lockstepctl dlq delete {0}",
            claim.job);
    if (word == "taken")
        return fmt::format(
            "job {0} cannot be submitted again: somebody has submitted another job under its new id, {1}. Submit the "
            "work as a new job (lockstepctl submit), then lockstepctl dlq delete {0}",
            claim.job, id);
    return {};
}

cap::JobRequest request_of(const SubmitOptions& options, const std::string& id) {
    cap::JobRequest request;
    request.set_job_id(id);
    request.set_topic(options.topic);
    request.set_priority(static_cast<cap::JobPriority>(options.priority));
    request.set_context_ptr("redis://ctx:" + id);
    request.set_tenant_id(options.tenant);
    request.set_principal_id(options.principal);
    for (const auto& [key, value] : options.labels) (*request.mutable_labels())[key] = value;
    for (const auto& [key, value] : options.env) (*request.mutable_env())[key] = value;
    (*request.mutable_env())["tenant_id"] = options.tenant;
    if (options.budget.count() > 0) request.mutable_budget()->set_deadline_ms(engine::to_millis(options.budget));
    cap::JobMetadata& meta = *request.mutable_meta();
    meta.set_tenant_id(options.tenant);
    meta.set_idempotency_key(options.idempotency_key);
    meta.set_capability(options.capability);
    for (const auto& word : options.required) meta.add_requires_(word);
    for (const auto& word : options.risk_tags) meta.add_risk_tags(word);
    request.set_workflow_id(options.workflow);
    if (auto compensation = wire::from_json<cap::Compensation>(options.compensation))
        *request.mutable_compensation() = std::move(*compensation);
    return request;
}

class Submission {
public:
    /// `claim`: the job is submitted again. All outlive the submission.
    Submission(Session& session, const SubmitOptions& options, const LetterClaim* claim = nullptr)
        : session_(session), options_(options), claim_(claim), window_(kWindow) {}

    engine::Task<Submitted> submit_one(std::string id);
    engine::Task<Submitted> submit_request(cap::JobRequest request);
    engine::Task<void> submit_in_window(std::string id, engine::Semaphore::Permit permit);
    engine::Task<int> submit_many(std::string prefix);

private:
    /// What there is to publish, and under which trace; nothing where `to_publish` is not set.
    struct Recorded {
        Submitted so_far;
        std::string trace;
        bool to_publish = false;
    };

    /// The record of the job, as a gateway writes it.
    [[nodiscard]] std::vector<engine::RedisCommand> gateway_writes(const cap::JobRequest& request,
                                                                   const std::string& trace);
    [[nodiscard]] std::vector<std::string> record_arguments(const cap::JobRequest& request, const std::string& trace);
    /// Writes it down with its key, unless the job or the key is known already.
    engine::Task<Recorded> record(const cap::JobRequest& request);
    engine::Task<Submitted> publish(cap::JobRequest request, Recorded recorded);
    [[nodiscard]] int tell_of_many(const std::string& prefix, double seconds) const;

    Session& session_;
    const SubmitOptions& options_;
    const LetterClaim* const claim_;
    engine::Semaphore window_;
    std::map<Fate, std::int64_t> fates_;
    std::int64_t begun_ = 0;
    std::string first_trouble_;
    std::optional<int> interrupted_by_;
};

std::vector<engine::RedisCommand> Submission::gateway_writes(const cap::JobRequest& request, const std::string& trace) {
    const auto& tunables = session_.settings().tunables;
    const std::string& id = request.job_id();
    const std::string now = std::to_string(engine::to_unix_micros(session_.clock().now()));
    const std::string ttl = std::to_string(engine::to_millis(tunables.job_meta_ttl));
    const std::string meta = engine::keys::job_meta(engine::JobId(id));
    std::vector<engine::RedisCommand> commands;
    commands.push_back({"HSET", meta, "state", "PENDING", "updated_at", now, "attempts", "0"});
    commands.push_back({"SET", "job:state:" + id, "PENDING", "PX", ttl});
    commands.push_back({"ZADD", engine::keys::state_index(engine::JobState::pending), now, id});
    commands.push_back({"ZADD", "job:recent", now, id});
    commands.push_back({"ZREMRANGEBYRANK", "job:recent", "0", "-1001"});
    commands.push_back({"RPUSH", "job:events:" + id, now + "|PENDING"});
    commands.push_back({"PEXPIRE", "job:events:" + id, ttl});
    commands.push_back({"SADD", "trace:" + trace, id});
    commands.push_back({"PEXPIRE", "trace:" + trace, ttl});
    engine::RedisCommand fields{"HSET", meta, "trace_id", trace};
    for (auto& word : engine::job_meta_fields(request)) fields.push_back(std::move(word));
    commands.push_back(std::move(fields));
    commands.push_back({"PEXPIRE", meta, ttl});
    commands.push_back({"SET", "job:req:" + id, wire::to_json(request, wire::Unpopulated::emit), "PX", ttl});
    if (const engine::Duration budget = wire::deadline_of(request); budget > engine::Duration{0}) {
        const std::string deadline = std::to_string(engine::to_unix_micros(session_.clock().now() + budget));
        commands.push_back({"HSET", meta, "deadline_unix", deadline});
        commands.push_back({"ZADD", std::string(engine::keys::kDeadlines), deadline, id});
    }
    return commands;
}

std::vector<std::string> Submission::record_arguments(const cap::JobRequest& request, const std::string& trace) {
    const auto& tunables = session_.settings().tunables;
    engine::ScriptArguments named(kRecordArguments);
    named.text("job", request.job_id())
        .text("tenant", std::string(wire::tenant_of(request)))
        .text("key_text", std::string(wire::trim(request.meta().idempotency_key())))
        .duration_or_zero("input_ttl_ms", tunables.data_ttl)
        .duration_or_zero("key_ttl_ms", kKeyLife)
        .duration_or_zero("record_ttl_ms", tunables.job_meta_ttl)
        .duration_or_zero("reservation_ms", kReservation);
    if (claim_ != nullptr)
        named.text("letter_of", claim_->job)
            .text("letter", claim_->letter)
            .text("request", claim_->request)
            .flag("copies_input", !wire::key_of_pointer(request.context_ptr()).empty());
    else
        named.text("input", options_.payload);
    std::vector<std::string> writes;
    if (options_.publish_only) return std::move(named).argv();
    for (const engine::RedisCommand& command : gateway_writes(request, trace)) {
        writes.push_back(std::to_string(command.size()));
        std::ranges::copy(command, std::back_inserter(writes));
    }
    return std::move(named).argv(std::move(writes));
}

engine::Task<Submission::Recorded> Submission::record(const cap::JobRequest& request) {
    static const engine::RedisScript kScript(
        "record_submission", std::string(engine::scripts::kCommon) + std::string(scripts::kRecordSubmission));
    const std::string& id = request.job_id();
    Recorded recorded{.so_far = {}, .trace = options_.trace.empty() ? session_.entropy().uuid() : options_.trace};
    const auto ends = [&](Fate fate, std::string trouble) {
        recorded.so_far.fate = fate;
        recorded.so_far.trouble = std::move(trouble);
        return recorded;
    };
    const std::vector<std::string> arguments = record_arguments(request, recorded.trace);
    // The key of a job that is submitted again leads to the former one, and stays as it is.
    const std::string key = claim_ == nullptr ? engine::idempotency_key_of(request) : std::string();
    engine::Outcome<engine::RedisValue> reply = engine::NotApplied{};
    bool unsure = false;  // whether an earlier attempt has written it
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        std::vector<std::string> keys{engine::keys::job_meta(engine::JobId(id))};
        if (!key.empty()) keys.push_back(key);
        std::vector<std::string> copy = arguments;
        reply = co_await session_.redis().script(kScript, std::move(keys), std::move(copy), session_.deadline());
        if (reply.kind() != engine::OutcomeKind::unknown) break;
        unsure = true;
        co_await session_.clock().sleep(kPause);
    }
    const bool input_only = options_.publish_only;  // without the message it is no submission yet
    if (!reply.applied() && unsure && !input_only)
        co_return ends(Fate::unknown,
                       fmt::format("job {} may be in Redis or not: {}; {} submits it once", id, reply.failure().detail,
                                   claim_ == nullptr ? "the same --id again" : "dlq retry again"));
    if (!reply.applied())
        co_return ends(Fate::not_stored, fmt::format("job {} not written to Redis: {}", id, reply.failure().detail));
    if (const auto* error = reply.value().error(); error != nullptr)
        co_return ends(Fate::not_stored, fmt::format("job {} not written to Redis: {}", id, error->text));

    const std::string_view word = reply.value().at(0).text();
    const std::string holder(reply.value().at(1).text());
    const engine::Duration age = engine::bounded(std::chrono::milliseconds(reply.value().at(2).integer_or(0)));
    if (word == "input")
        co_return ends(Fate::not_stored,
                       fmt::format("job {0} is not submitted: ctx:{0} is there already and holds another input, and an "
                                   "input is never written over; choose another {1}",
                                   id, claim_ == nullptr ? "--id" : "id (lockstepctl submit)"));
    if (std::string refusal = claim_ == nullptr ? "" : refusal_of_retry(word, *claim_, id); !refusal.empty()) {
        recorded.so_far.letter_gone = word == "letter_gone";
        co_return ends(Fate::not_stored, std::move(refusal));
    }
    recorded.to_publish = word.empty() || word == "freed";
    if (word == "job") {
        // An earlier attempt of this very submission is no other one.
        const std::string trace(reply.value().at(2).text());
        if (!unsure || trace != recorded.trace) recorded.so_far.existing = id;
        if (!trace.empty()) recorded.trace = trace;
        // Whoever submitted it may have died before it was published; once somebody has it in hand, there is nothing left to do.
        recorded.to_publish = holder == to_string(engine::JobState::pending);
    } else if (word == "freed") {
        recorded.so_far.of_key = fmt::format(
            " (the idempotency key was reserved {} ago for job {}, which was never recorded)", length(age), holder);
    } else if (word == "key" || word == "expired") {
        recorded.so_far.existing = holder;
        recorded.so_far.record_expired = word == "expired";
        recorded.so_far.of_key =
            word == "key"
                ? std::string(" (submitted earlier under this idempotency key)")
                : fmt::format(" (submitted {} ago under this idempotency key; its record has expired)", length(age));
    } else if (word == "foreign" && holder == id) {
        co_return ends(Fate::not_stored, fmt::format("job {} is another tenant's: choose another --id", holder));
    } else if (word == "foreign") {
        co_return ends(
            Fate::not_stored,
            fmt::format("the idempotency key \"{}\" of tenant {} has in Redis the name {}, which belongs to job "
                        "{} of another tenant or key: choose another --idempotency-key",
                        options_.idempotency_key, options_.tenant, key, holder));
    } else if (word == "reserved") {
        co_return ends(Fate::not_stored,
                       fmt::format("the idempotency key \"{}\" was reserved {} ago for job {}, which is not recorded "
                                   "yet: whoever submits that one may still be at it. Try again in {}: then the key "
                                   "names a job that is there, or is free",
                                   options_.idempotency_key, length(age), holder,
                                   length(kReservation + std::chrono::seconds(1) - age)));
    }
    co_return recorded;
}

engine::Task<Submitted> Submission::publish(cap::JobRequest request, Recorded recorded) {
    const std::string id = request.job_id();
    const auto packet = wire::make_packet(std::move(request), recorded.trace, kSender, session_.clock().now());
    const std::string subject(wire::kSubjectSubmit);
    const std::string message_id = wire::message_id(packet, subject);
    const std::string bytes = wire::serialise(packet);
    std::string detail;
    bool unsure = false;
    // Again when it is not known whether it arrived: the scheduler knows a job by its id and takes it up once.
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        const auto sent = co_await session_.bus().publish(subject, bytes, message_id, session_.deadline());
        if (sent.applied()) co_return std::move(recorded.so_far);
        unsure = unsure || sent.kind() == OutcomeKind::unknown;
        detail = sent.failure().detail;
        co_await session_.clock().sleep(kPause);
    }
    Submitted& submitted = recorded.so_far;
    if (!options_.publish_only) {
        submitted.fate = Fate::stored;
        submitted.trouble = fmt::format(
            "job {} is stored and not published: {}; a scheduler takes it up from Redis "
            "within {} (LOCKSTEP_PENDING_AGE)",
            id, detail, engine::format_duration(session_.settings().tunables.pending_age));
    } else {
        submitted.fate = unsure ? Fate::unknown : Fate::not_stored;
        submitted.trouble =
            fmt::format("job {} {}: {}", id, unsure ? "may be published or not" : "not published", detail);
    }
    co_return std::move(submitted);
}

engine::Task<Submitted> Submission::submit_one(std::string id) { return submit_request(request_of(options_, id)); }

engine::Task<Submitted> Submission::submit_request(cap::JobRequest request) {
    if (const auto wrong = wire::rejection(request))
        co_return Submitted{.fate = Fate::not_stored, .trouble = std::string(*wrong)};
    Recorded recorded = co_await record(request);
    if (!recorded.to_publish) co_return std::move(recorded.so_far);
    co_return co_await publish(std::move(request), std::move(recorded));
}

engine::Task<void> Submission::submit_in_window(std::string id, engine::Semaphore::Permit permit) {
    const Submitted submitted = co_await submit_one(std::move(id));
    ++fates_[submitted.fate];
    if (first_trouble_.empty()) first_trouble_ = submitted.trouble;
    permit.release();
}

int Submission::tell_of_many(const std::string& prefix, double seconds) const {
    const auto count = [this](Fate fate) {
        const auto found = fates_.find(fate);
        return found == fates_.end() ? std::int64_t{0} : found->second;
    };
    const std::int64_t stored = count(Fate::submitted) + count(Fate::stored);
    const std::int64_t unknown = count(Fate::unknown);
    const std::int64_t failed = options_.count - stored - unknown;
    if (options_.json)
        fmt::print("{}", document_line({{"submitted", stored},
                                        {"unpublished", count(Fate::stored)},
                                        {"failed", failed},
                                        {"unknown", unknown},
                                        {"seconds", seconds},
                                        {"id_prefix", prefix}}));
    else
        fmt::print("{} jobs submitted in {:.2f} s ({:.0f}/s), ids {}-0 to {}-{}\n", stored, seconds,
                   static_cast<double>(stored) / std::max(seconds, 1e-9), printable(prefix), printable(prefix),
                   options_.count - 1);
    if (stored == options_.count && count(Fate::stored) == 0) return kDone;
    std::string what = fmt::format("of {} jobs {} are stored", options_.count, stored);
    if (count(Fate::stored) > 0)
        what += fmt::format(" ({} of them not published: a scheduler takes them up from Redis)", count(Fate::stored));
    what += fmt::format(", {} are not, and for {} it is unknown", failed, unknown);
    if (interrupted_by_) what += fmt::format("; interrupted after {} were begun", begun_);
    if (!first_trouble_.empty()) what += fmt::format("; the first: {}", first_trouble_);
    if (failed + unknown > 0) what += fmt::format(". The same line with --id {} submits what is missing", prefix);
    return complain(interrupted_by_ ? 128 + *interrupted_by_ : stored == options_.count ? kDone : kFailed, what);
}

engine::Task<int> Submission::submit_many(std::string prefix) {
    const auto start = session_.clock().monotonic();
    engine::Event interrupted;
    // The first one ends what has not begun, so that what has begun can be told of; the next one ends the program.
    std::optional<SignalWatch> signals;
    signals.emplace(session_.loop(), std::initializer_list<int>{SIGINT, SIGTERM}, [&](int number) {
        interrupted_by_ = number;
        interrupted.set();
    });
    engine::Scope scope(session_.loop());
    for (std::int64_t i = 0; i < options_.count && !interrupted_by_; ++i) {
        if (options_.rate > 0) {
            const auto due =
                start + engine::bounded(std::chrono::duration<double>(static_cast<double>(i) / options_.rate));
            (void)co_await interrupted.wait_until(due);
            if (interrupted_by_) break;
        }
        auto permit = co_await window_.acquire();
        if (interrupted_by_) break;
        ++begun_;
        scope.spawn(submit_in_window(fmt::format("{}-{}", prefix, i), std::move(permit)));
    }
    if (interrupted_by_) signals.reset();
    co_await scope.join();
    co_return tell_of_many(prefix, static_cast<double>((session_.clock().monotonic() - start).count()) / 1e9);
}

}  // namespace

std::string mistake_in(const SubmitOptions& options) {
    // With a count the ids are PREFIX-0, PREFIX-1, ...
    if (engine::parse_run_job(options.count == 1 ? options.id : options.id + "-0"))
        return fmt::format(
            "--id: {} has the form RUN:STEP@ATTEMPT, which is kept for the steps of workflow runs; choose an id "
            "without the @",
            options.id);
    if (options.compensation.empty()) return {};
    const auto compensation = wire::from_json<cap::Compensation>(options.compensation);
    if (!compensation)
        return fmt::format("--compensation: expected a CAP Compensation as JSON: {}", compensation.error().detail);
    if (compensation->topic().empty()) return "--compensation: expected a \"topic\": what kind of job undoes this one";
    return options.workflow.empty()
               ? "--compensation: only a step of a workflow is rolled back; name it with --workflow"
               : "";
}

engine::Task<int> submit(Session& session, SubmitOptions options) {
    PRECONDITION(mistake_in(options).empty(), "{}", mistake_in(options));
    Submission submission(session, options);
    const std::string id = options.id.empty() ? session.entropy().uuid() : options.id;
    if (options.count != 1) co_return co_await submission.submit_many(id);

    const Submitted submitted = co_await submission.submit_one(id);
    if (!submitted.trouble.empty()) complain(kDone, submitted.trouble);
    if (!submitted.is_recorded()) co_return kFailed;
    const std::string& existing = submitted.existing;
    const std::string& job = existing.empty() ? id : existing;
    if (options.wait && submitted.record_expired)
        co_return complain(kNotFound, fmt::format("{}{}: how it ended is not known any more", job, submitted.of_key));
    if (!options.wait) {
        if (options.json)
            fmt::print("{}", document_line({{"job_id", job},
                                            {"existing", !existing.empty()},
                                            {"record_expired", submitted.record_expired}}));
        else
            fmt::print("{}{}\n", printable(job),
                       existing == id && submitted.of_key.empty() ? " (submitted earlier under this id)"
                                                                  : printable(submitted.of_key));
        co_return kDone;
    }
    StatusOptions status{.jobs = {job}, .wait = true, .wait_limit = options.wait_limit, .json = options.json};
    co_return co_await show_status(session, std::move(status));
}

engine::Task<Submitted> submit_again(Session& session, cap::JobRequest request, LetterClaim claim) {
    const SubmitOptions options{.trace = "dlq-retry-" + claim.job};
    Submission submission(session, options, &claim);
    co_return co_await submission.submit_request(std::move(request));
}

}  // namespace lockstep::prod
