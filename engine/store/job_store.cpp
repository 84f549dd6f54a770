#include "engine/store/job_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/runtime/invariant.h"
#include "engine/runtime/millis.h"
#include "engine/runtime/span.h"
#include "engine/store/delays.h"
#include "engine/store/job_fields.h"
#include "engine/store/keys.h"
#include "engine/store/replies.h"
#include "engine/store/script_arguments.h"
#include "engine/wire/json.h"
#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "engine/wire/text.h"
#include "engine/wire/validation.h"

namespace lockstep::engine {

namespace {

constexpr Duration kIdempotencyTtl = std::chrono::hours{2160};
// Whoever offers a job again is answered with the first one for as long as its records tell of it.
static_assert(kIdempotencyTtl >= kDefaultTunables.job_meta_ttl);

std::string joined(const std::vector<JobState>& states) {
    std::string text;
    for (const JobState state : states) {
        if (!text.empty()) text += ',';
        text += to_string(state);
    }
    return text;
}

/// In the form of sources_of.
std::string every_state() {
    std::string states = ",,";
    for (int state = 0; state < kJobStateCount; ++state)
        states += fmt::format("{},", to_string(static_cast<JobState>(state)));
    return states;
}

void add(SagaEffect effect, ScriptArguments& arguments) {
    arguments.text("saga", effect.saga.owed_as())
        .text("saga_owed", std::string(effect.saga.owed_in()))
        .text("saga_stack", effect.saga.stack())
        .text("saga_aborted", effect.saga.aborted())
        .text("compensation", std::move(effect.compensation))
        .flag("rollback", effect.rollback);
}

std::uint64_t number(const RedisValue& value) {
    const std::int64_t parsed = value.integer_or(0);
    return parsed < 0 ? 0 : static_cast<std::uint64_t>(parsed);
}

/// Of a number that cannot be one: the epoch.
WallTime wall_time(const RedisValue& micros) {
    const std::int64_t count = micros.integer_or(0);
    const bool sane = count >= 0 && count <= std::numeric_limits<std::int64_t>::max() / 1000;
    return WallTime{std::chrono::microseconds{sane ? count : 0}};
}

PlaceInLine place_from(std::string_view name) {
    if (name == "waiting") return PlaceInLine::waiting;
    return name == "woken" ? PlaceInLine::woken : PlaceInLine::none;
}

JobFacts parse_taken_up(const RedisValue& reply) {
    JobFacts facts;
    facts.state = parse_job_state(reply.at(1).text());
    facts.attempts = reply.at(2).integer_or(0);
    facts.dispatch = DispatchNumber(number(reply.at(3)));
    facts.published = !reply.at(4).text().empty();
    facts.stored_request = reply.at(5).text();
    facts.worker = WorkerId(reply.at(6).text());
    facts.trace_id = reply.at(7).text();
    facts.stream_floor = StreamSequence(number(reply.at(8)));
    facts.dispatches = number(reply.at(9));
    facts.due_in = bounded(std::chrono::milliseconds(reply.at(10).integer_or(0)));
    facts.read_along = texts(reply.at(11));
    facts.last_cause = reply.at(12).text();
    facts.place = place_from(reply.at(13).text());
    facts.placed_by = Token(reply.at(14).text());
    facts.entered_at = wall_time(reply.at(16));
    facts.stream_server = reply.at(17).text();
    facts.input_misses = reply.at(19).integer_or(0);
    facts.request_lost = !reply.at(20).text().empty();
    facts.foreign_request = !reply.at(21).text().empty();
    if (!reply.at(22).text().empty()) facts.deadline = wall_time(reply.at(22));
    facts.taken_up = wall_time(reply.at(23));
    if (const std::string_view handed = reply.at(25).text(); !handed.starts_with('.')) facts.handed = WorkerId(handed);
    facts.queue = reply.at(26).text();
    facts.waited = bounded(std::chrono::milliseconds(reply.at(27).integer_or(0)));
    facts.unserved = bounded(std::chrono::milliseconds(reply.at(28).integer_or(0)));
    facts.first_received = !reply.at(29).text().empty();
    facts.policy_timeouts = reply.at(30).integer_or(0);
    facts.lost = {reply.at(31).integer_or(0), reply.at(32).integer_or(0)};
    facts.human_asked = !reply.at(33).text().empty();
    return facts;
}

JobFacts parse_locked(const RedisValue& reply) {
    JobFacts facts;
    facts.state = parse_job_state(reply.at(1).text());
    facts.attempts = reply.at(2).integer_or(0);
    facts.topic = reply.at(3).text();
    facts.tenant = reply.at(4).text();
    facts.dispatch = DispatchNumber(number(reply.at(5)));
    facts.worker = WorkerId(reply.at(6).text());
    facts.trace_id = reply.at(7).text();
    facts.stored_request = reply.at(8).text();
    facts.read_along = texts(reply.at(9));
    facts.lost = {reply.at(10).integer_or(0), reply.at(11).integer_or(0)};
    return facts;
}

/// The message that was to be handled has been.
std::optional<JobFacts> handled_before(MessageMarks& message) {
    message.standing = MessageMarks::Standing::handled_before;
    JobFacts nothing;
    nothing.handled_before = true;
    return nothing;
}

Committed parse_committed(const RedisValue& reply) {
    Committed committed;
    const std::string_view word = reply.at(0).text();
    committed.kind = word == "ok"        ? Committed::Kind::ok
                     : word == "refused" ? Committed::Kind::refused
                                         : Committed::Kind::lost;
    committed.state = parse_job_state(reply.at(1).text());
    committed.attempts = reply.at(2).integer_or(0);
    committed.dispatch = DispatchNumber(number(reply.at(3)));
    committed.tenant_full = reply.at(4).text() == "tenant_limit";
    committed.worker_full = reply.at(4).text() == "worker_full";
    committed.others_wait = reply.at(4).text() == "others_wait";
    committed.in_flight = reply.at(10).integer_or(0);
    committed.in_line = reply.at(5).text() == "in_line";
    committed.at = wall_time(reply.at(7));
    return committed;
}

/// Whether the run that the document describes is `tenant`'s; also one that cannot be read, and goes nowhere.
bool is_run_of(std::string_view document, std::string_view tenant) {
    const nlohmann::json run = wire::parse_bounded(document);
    const auto org = run.is_object() ? run.find("org_id") : run.end();
    const bool named = org != run.end() && org->is_string();
    const std::string_view owner = named ? std::string_view(org->get_ref<const std::string&>()) : std::string_view{};
    return run.is_discarded() || tenant == wire::tenant_or_default(owner);
}

/// What no weather brings about: a commit that contradicts itself, or is another job's.
void require_whole(const JobLease& lease, const Commit& commit) {
    const JobId& job = lease.job();
    for (std::size_t i = 1; i < commit.walk.size(); ++i)
        PRECONDITION(transition_allowed(commit.walk[i - 1], commit.walk[i]), "no job goes from {} to {}",
                     to_string(commit.walk[i - 1]), to_string(commit.walk[i]));
    PRECONDITION(commit.release_lock || !commit.settles_message,
                 "the message about job {} is settled and its lock is kept", job);
    PRECONDITION(!commit.dead_letter || commit.dead_letter->id == job.text(),
                 "the end of job {} leaves a letter about {}", job, commit.dead_letter->id);
    PRECONDITION(!commit.from_any_state || !lease.counts_once(), "job {} is ended whatever its state, to {}", job,
                 joined(commit.walk));
    PRECONDITION(!commit.begin_dispatch || (!commit.walk.empty() && commit.walk.back() == JobState::dispatched),
                 "a dispatch of job {} begins and leaves it otherwise: {}", job, joined(commit.walk));
    PRECONDITION(commit.replaces_ptr.empty() || !commit.result_ptr.empty(), "{} of job {} is replaced by nothing",
                 commit.replaces_ptr, job);
    PRECONDITION(!commit.deadline_from || commit.deadline_ms > 0, "no deadline of job {} begins: {} ms", job,
                 commit.deadline_ms);
    PRECONDITION(commit.add_attempts >= 0 && commit.tenant_limit >= 0,
                 "{} tries are added to job {}, and {} may be on their way", commit.add_attempts, job,
                 commit.tenant_limit);
    PRECONDITION(!commit.slot || commit.begin_dispatch, "job {} takes a slot of {} without a dispatch", job,
                 commit.slot->worker);
    PRECONDITION(commit.queue.empty() || (commit.walk.empty() && commit.release_lock && commit.next_attempt),
                 "job {} waits for capacity and goes on", job);
    PRECONDITION(!commit.next_attempt || *commit.next_attempt >= Duration{0}, "job {} is due {} ns ago", job,
                 -commit.next_attempt->count());
}

}  // namespace

JobStore::JobStore(Redis& redis, Clock& clock, const Tunables& tunables, const StoreScripts& scripts)
    : redis_(redis), clock_(clock), tunables_(tunables), scripts_(scripts), news_(clock) {}

Task<Outcome<std::optional<JobFacts>>> JobStore::take_up(JobLease& lease, const cap::JobRequest& request,
                                                         std::string trace_id, std::vector<std::string> read_along,
                                                         Duration longest_life, bool one_tenant, Token answer_of) {
    const JobId& job = lease.job();
    PRECONDITION(request.job_id() == job.text(), "the lock of job {} is taken for job {}", job, request.job_id());
    PRECONDITION(!job.empty() && wire::trim(job.text()) == job.text(), "nobody could ask for job '{}'", job);
    const auto ask = [&](bool own_run) {
        ScriptArguments arguments;
        arguments.text("job", job.text())
            .text("token", lease.token().text())
            .duration_or_zero("lock_ttl_ms", lease.terms().life)
            .duration_or_zero("records_ttl_ms", tunables_.job_meta_ttl)
            .text("trace_id", trace_id)
            .text("request", wire::to_json(request, wire::Unpopulated::emit))
            .number("deadline_ms", to_millis(wire::deadline_of(request)))
            .text("idempotency_key", idempotency_key_of(request))
            .duration("idempotency_ttl_ms", kIdempotencyTtl)
            .duration_or_zero("longest_delay_ms", longest_delay(tunables_))
            .duration("longest_life_ms", longest_life)
            .text("answer_of", answer_of.text())
            .flag("own_run", own_run);
        if (one_tenant)
            arguments.text("tenant", std::string(wire::tenant_of(request)))
                .flag("two_tenants", wire::tenant_conflict(request).has_value());
        std::vector<std::string> names{lease.key(), keys::job_meta(job)};
        std::ranges::copy(read_along, std::back_inserter(names));
        if (lease.message() != nullptr) lease.message()->ask(arguments);
        lease.asking();
        return redis_.script(scripts_.take_up, std::move(names), std::move(arguments).argv(job_meta_fields(request)),
                             deadline());
    };
    MonoTime asked = clock_.monotonic();
    auto reply = co_await ask(false);
    std::string_view refusal = "the job is another tenant's";
    if (reply.applied() && reply.value().at(0).text() == "whose") {
        refusal = "its id is that of a step of another tenant's run";
        if (is_run_of(reply.value().at(1).text(), wire::tenant_of(request))) {
            asked = clock_.monotonic();
            reply = co_await ask(true);
        }
    }
    if (reply.kind() == OutcomeKind::not_applied) lease.refused();  // nothing to give back
    if (!reply.applied()) co_return reply.failure_as<std::optional<JobFacts>>();
    if (const std::string_view said = reply.value().at(0).text(); said != "held") {
        lease.refused();
        if (said == "handled" && lease.message() != nullptr) co_return handled_before(*lease.message());
        if (said != "refused" && said != "whose") co_return std::optional<JobFacts>{};
        JobFacts nothing;
        nothing.refused = refusal;
        co_return std::optional<JobFacts>{std::move(nothing)};
    }
    lease.begin(asked);
    news_.tell_of_woken(reply.value().at(15));
    news_.tell_of_freed(reply.value().at(24));
    news_.tell_of_wrong_typed(reply.value().at(18));
    co_return std::optional<JobFacts>{parse_taken_up(reply.value())};
}

Task<Outcome<bool>> JobStore::lock_is_held(const JobLease& lease) {
    RedisCommand exists{"EXISTS", lease.key()};
    auto reply = co_await redis_.command(std::move(exists), deadline());
    if (!reply.applied()) co_return reply.failure_as<bool>();
    co_return reply.value().integer_or(0) == 1;
}

Task<Outcome<std::optional<JobFacts>>> JobStore::take_lock(JobLease& lease, std::vector<std::string> read_along) {
    return ask_for_lock(lease, std::move(read_along), {});
}

Task<Outcome<std::optional<JobFacts>>> JobStore::take_turn(JobLease& lease, ResultTurn turn,
                                                           std::vector<std::string> read_along) {
    return ask_for_lock(lease, std::move(read_along), std::move(turn));
}

Task<Outcome<std::optional<JobFacts>>> JobStore::ask_for_lock(JobLease& lease, std::vector<std::string> read_along,
                                                              ResultTurn turn) {
    const JobId& job = lease.job();
    std::vector<std::string> names{lease.key(), keys::job_meta(job), keys::job_request(job)};
    for (auto& key : read_along) names.push_back(std::move(key));
    const MonoTime asked = clock_.monotonic();
    lease.asking();
    ScriptArguments arguments;
    arguments.text("job", job.text())
        .text("token", lease.token().text())
        .duration_or_zero("lock_ttl_ms", lease.terms().life);
    if (turn.sequence != StreamSequence{})
        arguments.text("sequence", std::to_string(turn.sequence.value()))
            .duration_or_zero("wait_ms", turn.wait)
            .text("worker", std::move(turn.worker).text());
    if (lease.message() != nullptr) lease.message()->ask(arguments);
    auto reply = co_await redis_.script(scripts_.take_lock, std::move(names), std::move(arguments).argv(), deadline());
    if (reply.kind() == OutcomeKind::not_applied) lease.refused();  // nothing to give back
    if (!reply.applied()) co_return reply.failure_as<std::optional<JobFacts>>();
    if (const std::string_view said = reply.value().at(0).text(); said != "held") {
        lease.refused(said == "later");
        if (said == "handled" && lease.message() != nullptr) co_return handled_before(*lease.message());
        co_return std::optional<JobFacts>{};
    }
    lease.begin(asked);
    co_return std::optional<JobFacts>{parse_locked(reply.value())};
}

std::vector<std::string> JobStore::commit_argv(const JobLease& lease, Commit& commit) const {
    ScriptArguments arguments;
    arguments.text("job", lease.job().text())
        .text("token", lease.token().text())
        .flag("unfenced", !lease.fenced())
        .duration_or_zero("records_ttl_ms", tunables_.job_meta_ttl)
        .flag("release_lock", commit.release_lock)
        .number("add_attempts", commit.add_attempts)
        .flag("begin_dispatch", commit.begin_dispatch)
        .text("result_ptr", std::move(commit.result_ptr))
        .text("result_worker", std::move(commit.worker_id).text())
        .text("decision", std::move(commit.decision_json))
        .text("output_record", std::move(commit.output_record))
        .flag("end_scan", commit.end_scan)
        .text("replaces_ptr", std::move(commit.replaces_ptr));
    if (!commit.walk.empty())
        arguments.text("walk", joined(commit.walk))
            .text("sources", commit.from_any_state ? every_state() : sources_of(commit.walk.front()));
    if (commit.expected_dispatch)
        arguments.text("expected_dispatch", std::to_string(commit.expected_dispatch->value()));
    if (commit.dead_letter)
        arguments.text("dead_letter", dead_letter_head(*commit.dead_letter, clock_.now()))
            .duration_or_zero("dead_letter_ttl_ms", tunables_.dlq_entry_ttl)
            .number_or_zero("dead_letters_kept", tunables_.dlq_max_size);
    if (commit.next_attempt) arguments.duration_or_zero("next_attempt_ms", *commit.next_attempt);
    if (commit.deadline_ms > 0) arguments.number("deadline_ms", commit.deadline_ms);
    if (commit.deadline_from) arguments.number_or_zero("deadline_from", to_unix_micros(*commit.deadline_from));
    if (commit.tenant_limit > 0 || commit.stand_in_line)
        arguments.number_or_zero("tenant_limit", commit.tenant_limit)
            .duration_or_zero("limit_delay_ms", tunables_.retry_delay_no_workers)
            .flag("stand_in_line", commit.stand_in_line);
    if (commit.slot) {
        arguments.text("worker", std::move(commit.slot->worker).text()).text("turns_of", std::move(commit.slot->queue));
        if (commit.slot->slots)
            arguments.number_or_zero("slots", *commit.slot->slots)
                .number_or_zero("worker_active", commit.slot->active)
                .duration_or_zero("worker_age_ms", commit.slot->age);
    }
    arguments.text("queue", std::move(commit.queue)).text("fitting", std::move(commit.fitting));
    if (commit.saga) add(std::move(*commit.saga), arguments);
    if (commit.begin_scan)
        arguments.text("scan_result", std::move(commit.begin_scan->result_json))
            .duration_or_zero("scan_hold_ms", commit.begin_scan->hold);
    if (commit.settles_message && lease.message() != nullptr) lease.message()->settle(arguments);
    std::vector<std::string> fields;
    for (auto& [field, value] : commit.fields) {
        fields.push_back(std::move(field));
        fields.push_back(std::move(value));
    }
    return std::move(arguments).argv(std::move(fields));
}

Task<Outcome<Committed>> JobStore::commit(JobLease& lease, Commit commit) {
    require_whole(lease, commit);
    if (!lease.usable()) co_return Committed{};
    auto reply = co_await redis_.script(scripts_.commit, {lease.key(), keys::job_meta(lease.job())},
                                        commit_argv(lease, commit), deadline());
    if (!reply.applied()) co_return reply.failure_as<Committed>();
    const Committed committed = parse_committed(reply.value());
    news_.tell_of_woken(reply.value().at(6));
    news_.tell_of_wrong_typed(reply.value().at(8));
    news_.tell_of_freed(reply.value().at(9));
    if (commit.settles_message && committed.kind == Committed::Kind::ok && lease.message() != nullptr)
        lease.message()->standing = MessageMarks::Standing::handled;
    if (committed.kind == Committed::Kind::lost) {
        lease.mark_lost();
    } else if (commit.release_lock) {
        lease.end();
    }
    co_return committed;
}

Task<Outcome<Cancelled>> JobStore::cancel(JobId job) {
    auto reply = co_await redis_.script(scripts_.cancel, {keys::job_meta(job)},
                                        {job.text(), millis(tunables_.job_meta_ttl)}, deadline());
    if (!reply.applied()) co_return reply.failure_as<Cancelled>();
    news_.tell_of_woken(reply.value().at(2));
    news_.tell_of_wrong_typed(reply.value().at(3));
    news_.tell_of_freed(reply.value().at(4));
    co_return Cancelled{parse_job_state(reply.value().at(0).text()), parse_job_state(reply.value().at(1).text())};
}

Task<Outcome<std::string>> JobStore::stored_request(JobId job) {
    RedisCommand get{"GET", keys::job_request(job)};
    auto reply = co_await redis_.command(std::move(get), deadline());
    if (!reply.applied()) co_return reply.failure_as<std::string>();
    co_return std::string(reply.value().text());
}

Task<Outcome<std::string>> JobStore::tenant_of(JobId job) {
    RedisCommand read{"HMGET", keys::job_meta(job), "state", "tenant"};
    const auto reply = co_await redis_.command(std::move(read), deadline());
    if (!reply.applied()) co_return reply.failure_as<std::string>();
    const std::string_view tenant = reply.value().at(1).text();
    const bool is_recorded = !reply.value().at(0).text().empty() || !tenant.empty();
    co_return is_recorded ? std::string(wire::tenant_or_default(tenant)) : std::string{};
}

Task<Outcome<bool>> JobStore::result_is_in_hand(JobId job) {
    RedisCommand read{"HGET", keys::job_meta(job), "ls_result_first"};
    const auto reply = co_await redis_.command(std::move(read), deadline());
    if (!reply.applied()) co_return reply.failure_as<bool>();
    co_return !reply.value().text().empty();
}

Task<Outcome<bool>> JobStore::tenant_is_full(JobId job, std::int64_t limit) {
    PRECONDITION(limit > 0, "{} others of the tenant of job {} at most", limit, job);
    auto reply = co_await redis_.script(
        scripts_.tenant_is_full, {}, {std::move(job).text(), fmt::format("{}", limit), millis(tunables_.job_meta_ttl)},
        deadline());
    if (!reply.applied()) co_return reply.failure_as<bool>();
    co_return reply.value().integer_or(0) == 1;
}

Task<Outcome<bool>> JobStore::replace_document(std::string key, std::string before, std::string after) {
    auto reply = co_await redis_.script(scripts_.replace_document, {std::move(key)},
                                        {std::move(before), std::move(after)}, deadline());
    if (!reply.applied()) co_return reply.failure_as<bool>();
    co_return reply.value().integer_or(0) == 1;
}

Task<Outcome<std::vector<PendingScan>>> JobStore::claim_scans(Duration hold, std::int64_t limit) {
    PRECONDITION(limit > 0 && hold > Duration{0}, "{} scans for {} ns", limit, hold.count());
    auto reply = co_await redis_.script(scripts_.claim_scans, {std::string(keys::kScansPending)},
                                        {fmt::format("{}", limit), millis(hold)}, deadline());
    if (!reply.applied()) {
        // The list itself: without it, only who has begun a scan can finish it.
        if (reply.failure().detail.find("WRONGTYPE") != std::string::npos)
            news_.tell_of_wrong_typed(std::string(keys::kScansPending));
        co_return reply.failure_as<std::vector<PendingScan>>();
    }
    std::vector<PendingScan> scans;
    const std::vector<std::string> page = texts(reply.value());
    for (std::size_t i = 0; i + 2 < page.size(); i += 3) scans.push_back({JobId(page[i]), page[i + 1], page[i + 2]});
    co_return scans;
}

Task<Outcome<Done>> JobStore::set_result_ptr(JobId job, std::string pointer) {
    RedisCommand set{"HSET", keys::job_meta(job), "result_ptr", std::move(pointer)};
    auto reply = co_await redis_.command(std::move(set), deadline());
    if (!reply.applied()) co_return reply.failure_as<Done>();
    co_return Done{};
}

}  // namespace lockstep::engine
