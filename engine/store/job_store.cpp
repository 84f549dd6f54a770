#include "engine/store/job_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "engine/runtime/invariant.h"
#include "engine/runtime/millis.h"
#include "engine/store/job_fields.h"
#include "engine/store/keys.h"
#include "engine/store/script_arguments.h"
#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "engine/wire/validation.h"

namespace lockstep::engine {

namespace {

constexpr Duration kIdempotencyTtl = std::chrono::hours{2160};

/// Between two lines about the same key of a wrong type.
constexpr Duration kSayAgainAfter = std::chrono::minutes{1};
/// Such keys that are remembered as having been told of; beyond it some are told of again.
constexpr std::size_t kSaidMax = 1'000;

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

/// A next try that is further away than this was written by another clock.
Duration longest_delay(const Tunables& tunables) {
    return std::max({tunables.backoff_max, tunables.safety_throttle_delay, tunables.safety_unavailable_delay,
                     tunables.retry_delay_no_workers, kInputRetryDelay});
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

std::vector<std::string> texts(const RedisValue& reply) {
    std::vector<std::string> list;
    if (const auto* values = reply.array()) {
        for (const RedisValue& value : *values) list.emplace_back(value.text());
    }
    return list;
}

PlaceInLine place_from(std::string_view name) {
    if (name == "waiting") return PlaceInLine::waiting;
    return name == "woken" ? PlaceInLine::woken : PlaceInLine::none;
}

JobFacts parse_taken_up(const RedisValue& reply) {
    JobFacts facts;
    facts.state = parse_job_state(reply.at(1).text());
    facts.attempts = reply.at(2).integer_or(0);
    facts.dispatch = number(reply.at(3));
    facts.published = !reply.at(4).text().empty();
    facts.stored_request = reply.at(5).text();
    facts.worker = reply.at(6).text();
    facts.trace_id = reply.at(7).text();
    facts.stream_floor = number(reply.at(8));
    facts.dispatches = number(reply.at(9));
    facts.due_in = std::chrono::milliseconds(reply.at(10).integer_or(0));
    facts.read_along = texts(reply.at(11));
    facts.last_cause = reply.at(12).text();
    facts.place = place_from(reply.at(13).text());
    facts.placed_by = reply.at(14).text();
    facts.entered_at = wall_time(reply.at(16));
    facts.stream_server = reply.at(17).text();
    facts.input_misses = reply.at(19).integer_or(0);
    facts.request_lost = !reply.at(20).text().empty();
    facts.foreign_request = !reply.at(21).text().empty();
    if (!reply.at(22).text().empty()) facts.deadline = wall_time(reply.at(22));
    facts.taken_up = wall_time(reply.at(23));
    return facts;
}

JobFacts parse_locked(const RedisValue& reply) {
    JobFacts facts;
    facts.state = parse_job_state(reply.at(1).text());
    facts.attempts = reply.at(2).integer_or(0);
    facts.topic = reply.at(3).text();
    facts.tenant = reply.at(4).text();
    facts.dispatch = number(reply.at(5));
    facts.worker = reply.at(6).text();
    facts.trace_id = reply.at(7).text();
    facts.stored_request = reply.at(8).text();
    facts.read_along = texts(reply.at(9));
    return facts;
}

Committed parse_committed(const RedisValue& reply) {
    Committed committed;
    const std::string_view word = reply.at(0).text();
    committed.kind = word == "ok"        ? Committed::Kind::ok
                     : word == "refused" ? Committed::Kind::refused
                                         : Committed::Kind::lost;
    committed.state = parse_job_state(reply.at(1).text());
    committed.attempts = reply.at(2).integer_or(0);
    committed.dispatch = number(reply.at(3));
    committed.tenant_full = reply.at(4).text() == "tenant_limit";
    committed.in_line = reply.at(5).text() == "in_line";
    committed.at = wall_time(reply.at(7));
    return committed;
}

}  // namespace

JobStore::JobStore(Redis& redis, Clock& clock, const Tunables& tunables, const StoreScripts& scripts)
    : redis_(redis), clock_(clock), tunables_(tunables), scripts_(scripts) {}

Task<Outcome<std::optional<JobFacts>>> JobStore::take_up(JobLease& lease, const cap::JobRequest& request,
                                                         std::string trace_id, std::vector<std::string> read_along,
                                                         Duration longest_life, bool one_tenant) {
    const std::string& job = lease.job();
    ScriptArguments arguments;
    arguments.text("job", job)
        .text("token", lease.token())
        .duration_or_zero("lock_ttl_ms", lease.terms().life)
        .duration_or_zero("records_ttl_ms", tunables_.job_meta_ttl)
        .text("trace_id", std::move(trace_id))
        .text("request", wire::to_json(request, wire::Unpopulated::emit))
        .number("deadline_ms", request.budget().deadline_ms())
        .text("idempotency_key", idempotency_key_of(request))
        .duration("idempotency_ttl_ms", kIdempotencyTtl)
        .duration_or_zero("longest_delay_ms", longest_delay(tunables_))
        .duration("longest_life_ms", longest_life);
    if (one_tenant)
        arguments.text("tenant", std::string(wire::tenant_of(request)))
            .flag("two_tenants", wire::tenant_conflict(request).has_value());
    std::vector<std::string> names{lease.key(), keys::job_meta(job)};
    for (auto& key : read_along) names.push_back(std::move(key));
    const MonoTime asked = clock_.monotonic();
    lease.asking();
    auto reply = co_await redis_.script(scripts_.take_up, std::move(names),
                                        std::move(arguments).argv(job_meta_fields(request)), deadline());
    if (reply.kind() == OutcomeKind::not_applied) lease.refused();  // nothing to give back
    if (!reply.applied()) co_return reply.failure_as<std::optional<JobFacts>>();
    if (const std::string_view said = reply.value().at(0).text(); said != "held") {
        lease.refused();
        if (said != "refused") co_return std::optional<JobFacts>{};
        JobFacts nothing;
        nothing.refused = true;
        co_return std::optional<JobFacts>{std::move(nothing)};
    }
    lease.begin(asked);
    tell_of_woken(reply.value().at(15));
    tell_of_wrong_typed(reply.value().at(18));
    co_return std::optional<JobFacts>{parse_taken_up(reply.value())};
}

Task<Outcome<bool>> JobStore::lock_is_held(const JobLease& lease) {
    RedisCommand exists{"EXISTS", lease.key()};
    auto reply = co_await redis_.command(std::move(exists), deadline());
    if (!reply.applied()) co_return reply.failure_as<bool>();
    co_return reply.value().integer_or(0) == 1;
}

void JobStore::tell_of_woken(const RedisValue& jobs) {
    if (listener_ == nullptr) return;
    for (std::string& job : texts(jobs)) listener_->wake(std::move(job));
}

void JobStore::tell_of_wrong_typed(const RedisValue& keys) {
    for (const std::string& key : texts(keys)) tell_of_wrong_typed(key);
}

void JobStore::tell_of_wrong_typed(const std::string& key) {
    if (log_ == nullptr) return;
    metrics_->add(Metric::wrong_typed_keys);
    const MonoTime now = clock_.monotonic();
    const auto said = said_at_.find(key);
    if (said != said_at_.end() && now - said->second < kSayAgainAfter) return;
    if (said_at_.size() >= kSaidMax) said_at_.clear();
    said_at_.insert_or_assign(key, now);
    log_->reached("wrong_typed_key");
    log_->event(LogLevel::error, "key of another type: what belongs there is left out, the job goes on",
                {{"key", key}, {"way_out", "see what it is with TYPE, then RENAME or DEL it: it is begun anew"}});
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
    const std::string& job = lease.job();
    std::vector<std::string> names{lease.key(), keys::job_meta(job), keys::job_request(job)};
    for (auto& key : read_along) names.push_back(std::move(key));
    const MonoTime asked = clock_.monotonic();
    lease.asking();
    ScriptArguments arguments;
    arguments.text("job", job).text("token", lease.token()).duration_or_zero("lock_ttl_ms", lease.terms().life);
    if (turn.sequence != 0)
        arguments.text("sequence", std::to_string(turn.sequence))
            .duration_or_zero("wait_ms", turn.wait)
            .text("worker", std::move(turn.worker));
    auto reply = co_await redis_.script(scripts_.take_lock, std::move(names), std::move(arguments).argv(), deadline());
    if (reply.kind() == OutcomeKind::not_applied) lease.refused();  // nothing to give back
    if (!reply.applied()) co_return reply.failure_as<std::optional<JobFacts>>();
    if (const std::string_view said = reply.value().at(0).text(); said != "held") {
        lease.refused(said == "later");
        co_return std::optional<JobFacts>{};
    }
    lease.begin(asked);
    co_return std::optional<JobFacts>{parse_locked(reply.value())};
}

std::vector<std::string> JobStore::commit_argv(const JobLease& lease, Commit& commit) const {
    ScriptArguments arguments;
    arguments.text("job", lease.job())
        .text("token", lease.token())
        .flag("unfenced", !lease.fenced())
        .duration_or_zero("records_ttl_ms", tunables_.job_meta_ttl)
        .flag("release_lock", commit.release_lock)
        .number("add_attempts", commit.add_attempts)
        .flag("begin_dispatch", commit.begin_dispatch)
        .text("result_ptr", std::move(commit.result_ptr))
        .text("result_worker", std::move(commit.worker_id))
        .text("decision", std::move(commit.decision_json))
        .text("output_record", std::move(commit.output_record))
        .flag("end_scan", commit.end_scan)
        .text("replaces_ptr", std::move(commit.replaces_ptr));
    if (!commit.walk.empty())
        arguments.text("walk", joined(commit.walk))
            .text("sources", commit.from_any_state ? every_state() : sources_of(commit.walk.front()));
    if (commit.expected_dispatch) arguments.text("expected_dispatch", std::to_string(*commit.expected_dispatch));
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
    if (commit.saga) add(std::move(*commit.saga), arguments);
    if (commit.begin_scan)
        arguments.text("scan_result", std::move(commit.begin_scan->result_json))
            .duration_or_zero("scan_hold_ms", commit.begin_scan->hold);
    std::vector<std::string> fields;
    for (auto& [field, value] : commit.fields) {
        fields.push_back(std::move(field));
        fields.push_back(std::move(value));
    }
    return std::move(arguments).argv(std::move(fields));
}

Task<Outcome<Committed>> JobStore::commit(JobLease& lease, Commit commit) {
    for (std::size_t i = 1; i < commit.walk.size(); ++i)
        PRECONDITION(transition_allowed(commit.walk[i - 1], commit.walk[i]), "no job goes from {} to {}",
                     to_string(commit.walk[i - 1]), to_string(commit.walk[i]));
    if (!lease.usable()) co_return Committed{};
    auto reply = co_await redis_.script(scripts_.commit, {lease.key(), keys::job_meta(lease.job())},
                                        commit_argv(lease, commit), deadline());
    if (!reply.applied()) co_return reply.failure_as<Committed>();
    const Committed committed = parse_committed(reply.value());
    tell_of_woken(reply.value().at(6));
    tell_of_wrong_typed(reply.value().at(8));
    if (committed.kind == Committed::Kind::lost) {
        lease.mark_lost();
    } else if (commit.release_lock) {
        lease.end();
    }
    co_return committed;
}

Task<Outcome<Cancelled>> JobStore::cancel(std::string job) {
    auto reply = co_await redis_.script(scripts_.cancel, {keys::job_meta(job)}, {job, millis(tunables_.job_meta_ttl)},
                                        deadline());
    if (!reply.applied()) co_return reply.failure_as<Cancelled>();
    tell_of_woken(reply.value().at(2));
    tell_of_wrong_typed(reply.value().at(3));
    co_return Cancelled{parse_job_state(reply.value().at(0).text()), parse_job_state(reply.value().at(1).text())};
}

Task<Outcome<std::vector<OverdueJob>>> JobStore::stale_jobs(TickLock lock, std::string index, Duration age,
                                                            std::int64_t skipped, std::int64_t limit) {
    auto reply = co_await redis_.script(
        scripts_.stale_jobs, {std::move(lock.key), std::move(index)},
        {std::move(lock.token), millis(age), fmt::format("{}", skipped), fmt::format("{}", limit)}, deadline());
    if (!reply.applied()) co_return reply.failure_as<std::vector<OverdueJob>>();
    std::vector<OverdueJob> jobs;
    if (const auto* elements = reply.value().array()) {
        for (std::size_t i = 1; i + 3 < elements->size(); i += 4)
            jobs.push_back({{std::string((*elements)[i].text()), std::string((*elements)[i + 1].text())},
                            parse_job_state((*elements)[i + 2].text()),
                            Duration{0},
                            std::chrono::milliseconds((*elements)[i + 3].integer_or(0))});
    }
    co_return jobs;
}

Task<Outcome<OverduePage>> JobStore::overdue_page(TickLock lock, JobState state, StayLimits limits, std::string after,
                                                  std::int64_t limit) {
    Duration shortest = limits.otherwise;
    std::vector<std::string> each;
    for (const auto* map : {&limits.by_topic, &limits.by_workflow}) {
        for (const auto& [name, stay] : *map) {
            shortest = std::min(shortest, stay);
            each.push_back(name);
            each.push_back(millis(stay));
        }
    }
    std::vector<std::string> arguments{std::move(lock.token),
                                       std::string(to_string(state)),
                                       after.empty() ? "-inf" : "(" + after,
                                       fmt::format("{}", limit),
                                       millis(shortest),
                                       millis(limits.otherwise),
                                       fmt::format("{}", limits.by_topic.size())};
    std::ranges::move(each, std::back_inserter(arguments));
    auto reply = co_await redis_.script(scripts_.overdue_page, {std::move(lock.key), keys::state_index(state)},
                                        std::move(arguments), deadline());
    if (!reply.applied()) co_return reply.failure_as<OverduePage>();
    OverduePage page;
    page.last_score = reply.value().at(1).text();
    if (const auto* elements = reply.value().array()) {
        for (std::size_t i = 2; i + 3 < elements->size(); i += 4)
            page.jobs.push_back({{std::string((*elements)[i].text()), std::string((*elements)[i + 1].text())},
                                 state,
                                 std::chrono::milliseconds((*elements)[i + 2].integer_or(0)),
                                 std::chrono::milliseconds((*elements)[i + 3].integer_or(0))});
    }
    co_return page;
}

Task<Outcome<IndexPage>> JobStore::index_page(JobState state, Duration age, std::string after, std::int64_t limit) {
    auto reply = co_await redis_.script(scripts_.index_page, {keys::state_index(state)},
                                        {millis(age), after.empty() ? "-inf" : "(" + after, fmt::format("{}", limit)},
                                        deadline());
    if (!reply.applied()) co_return reply.failure_as<IndexPage>();
    IndexPage page;
    page.pruned = reply.value().at(0).integer_or(0);
    page.last_score = reply.value().at(1).text();
    if (const auto* elements = reply.value().array()) {
        for (std::size_t i = 2; i + 1 < elements->size(); i += 2)
            page.jobs.push_back({std::string((*elements)[i].text()), std::string((*elements)[i + 1].text())});
    }
    co_return page;
}

Task<Outcome<ReplayPage>> JobStore::replay_page(TickLock lock, JobState state, Duration age, std::string after,
                                                std::int64_t limit) {
    auto reply = co_await redis_.script(
        scripts_.replay_page, {std::move(lock.key), keys::state_index(state)},
        {std::move(lock.token), std::string(to_string(state)), millis(age), after.empty() ? "-inf" : "(" + after,
         fmt::format("{}", limit), millis(longest_delay(tunables_)), millis(tunables_.job_meta_ttl)},
        deadline());
    if (!reply.applied()) co_return reply.failure_as<ReplayPage>();
    ReplayPage page;
    page.last_score = reply.value().at(1).text();
    if (const auto* elements = reply.value().array()) {
        for (std::size_t i = 2; i + 1 < elements->size(); i += 2)
            page.jobs.push_back({std::string((*elements)[i].text()), std::string((*elements)[i + 1].text())});
    }
    co_return page;
}

Task<Outcome<std::string>> JobStore::stored_request(std::string job) {
    RedisCommand get{"GET", keys::job_request(job)};
    auto reply = co_await redis_.command(std::move(get), deadline());
    if (!reply.applied()) co_return reply.failure_as<std::string>();
    co_return std::string(reply.value().text());
}

Task<Outcome<TenantRound>> JobStore::tend_tenant(TickLock lock, std::string after, std::int64_t slots,
                                                 Duration ask_after) {
    auto reply = co_await redis_.script(scripts_.tend_tenant, {std::move(lock.key), std::string(keys::kTenantsWaiting)},
                                        {std::move(lock.token), after.empty() ? "-inf" : "(" + after,
                                         fmt::format("{}", slots), millis(ask_after), millis(tunables_.job_meta_ttl)},
                                        deadline());
    if (!reply.applied()) co_return reply.failure_as<TenantRound>();
    const RedisValue& tended = reply.value();
    if (tended.at(0).text() != "tended") co_return TenantRound{true, {}, false};
    tell_of_woken(tended.at(3));
    co_return TenantRound{false, std::string(tended.at(1).text()), !tended.at(2).text().empty()};
}

Task<Outcome<bool>> JobStore::tenant_is_full(std::string job, std::int64_t limit) {
    auto reply =
        co_await redis_.script(scripts_.tenant_is_full, {},
                               {std::move(job), fmt::format("{}", limit), millis(tunables_.job_meta_ttl)}, deadline());
    if (!reply.applied()) co_return reply.failure_as<bool>();
    co_return reply.value().integer_or(0) == 1;
}

Task<Outcome<TimedOut>> JobStore::time_out(StaleJob stale, std::string index, std::optional<JobState> expected,
                                           TimeoutReason reason) {
    std::string letter;
    if (tunables_.reconciler_emit_dead_letter)
        letter = dead_letter_head({stale.job, {}, cap::JOB_STATUS_TIMEOUT, reason.text, reason.code}, clock_.now());
    auto reply = co_await redis_.script(
        scripts_.time_out, {keys::job_meta(stale.job)},
        {stale.job, std::move(index), expected ? std::string(to_string(*expected)) : std::string{},
         expected ? stale.score : std::string{}, millis(tunables_.job_meta_ttl), std::move(reason.text),
         std::move(letter), millis(tunables_.dlq_entry_ttl), fmt::format("{}", tunables_.dlq_max_size)},
        deadline());
    if (!reply.applied()) co_return reply.failure_as<TimedOut>();
    const RedisValue& facts = reply.value();
    tell_of_woken(facts.at(6));
    tell_of_wrong_typed(facts.at(7));
    co_return TimedOut{facts.at(0).text() == "ok", parse_job_state(facts.at(1).text()), std::string(facts.at(3).text()),
                       std::string(facts.at(4).text()), std::string(facts.at(5).text())};
}

Task<Outcome<bool>> JobStore::tick_lock(TickLock lock, Duration ttl) {
    auto reply = co_await redis_.script(scripts_.tick_lock, {std::move(lock.key)}, {std::move(lock.token), millis(ttl)},
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

Task<Outcome<Done>> JobStore::put_dead_letter(DeadLetter letter) {
    auto reply = co_await redis_.script(scripts_.put_dead_letter, {},
                                        {letter.id, dead_letter_head(letter, clock_.now()),
                                         millis(tunables_.dlq_entry_ttl), fmt::format("{}", tunables_.dlq_max_size)},
                                        deadline());
    if (!reply.applied()) co_return reply.failure_as<Done>();
    co_return Done{};
}

Task<Outcome<Done>> JobStore::bury_undecodable(DeadLetter letter, std::string stream, std::uint64_t sequence) {
    std::vector<std::string> keys{std::string(keys::kUndecodable), std::string(keys::kUndecodableSums)};
    std::vector<std::string> arguments{letter.id,
                                       dead_letter_head(letter, clock_.now()),
                                       millis(tunables_.dlq_entry_ttl),
                                       fmt::format("{}", tunables_.dlq_undecodable_max_size),
                                       fmt::format("{} {}", stream, letter.topic),
                                       fmt::format("{}", sequence)};
    auto reply = co_await redis_.script(scripts_.bury_undecodable, std::move(keys), std::move(arguments), deadline());
    if (!reply.applied()) co_return reply.failure_as<Done>();
    co_return Done{};
}

Task<Outcome<std::vector<UndecodableSum>>> JobStore::undecodable_sums(Duration age, std::vector<UndecodableSum> told) {
    std::vector<std::string> arguments{millis(age)};
    for (const UndecodableSum& sum : told) {
        arguments.push_back(sum.name);
        arguments.push_back(sum.value);
    }
    std::vector<std::string> keys{std::string(keys::kUndecodableSums)};
    auto reply = co_await redis_.script(scripts_.undecodable_sums, std::move(keys), std::move(arguments), deadline());
    if (!reply.applied()) co_return reply.failure_as<std::vector<UndecodableSum>>();
    std::vector<UndecodableSum> sums;
    const std::vector<std::string> page = texts(reply.value());
    for (std::size_t i = 0; i + 1 < page.size(); i += 2) {
        if (auto sum = parse_undecodable_sum(page[i], page[i + 1])) sums.push_back(std::move(*sum));
    }
    co_return sums;
}

Task<Outcome<bool>> JobStore::repair_dead_letter(DeadLetter letter, JobState state) {
    const std::string head = dead_letter_head(letter, clock_.now());
    auto reply = co_await redis_.script(scripts_.repair_dead_letter, {keys::job_meta(letter.id)},
                                        {letter.id, std::string(to_string(state)), head,
                                         millis(tunables_.dlq_entry_ttl), fmt::format("{}", tunables_.dlq_max_size)},
                                        deadline());
    if (!reply.applied()) co_return reply.failure_as<bool>();
    co_return reply.value().integer_or(0) == 1;
}

Task<Outcome<std::vector<PendingScan>>> JobStore::claim_scans(Duration hold, std::int64_t limit) {
    auto reply = co_await redis_.script(scripts_.claim_scans, {std::string(keys::kScansPending)},
                                        {fmt::format("{}", limit), millis(hold)}, deadline());
    if (!reply.applied()) {
        // The list itself: without it, only who has begun a scan can finish it.
        if (reply.failure().detail.find("WRONGTYPE") != std::string::npos)
            tell_of_wrong_typed(std::string(keys::kScansPending));
        co_return reply.failure_as<std::vector<PendingScan>>();
    }
    std::vector<PendingScan> scans;
    const std::vector<std::string> page = texts(reply.value());
    for (std::size_t i = 0; i + 2 < page.size(); i += 3) scans.push_back({page[i], page[i + 1], page[i + 2]});
    co_return scans;
}

Task<Outcome<Done>> JobStore::set_result_ptr(std::string job, std::string pointer) {
    RedisCommand set{"HSET", keys::job_meta(job), "result_ptr", std::move(pointer)};
    auto reply = co_await redis_.command(std::move(set), deadline());
    if (!reply.applied()) co_return reply.failure_as<Done>();
    co_return Done{};
}

Task<Outcome<std::vector<DeadLetter>>> JobStore::unsent_dead_letters(Duration age, std::int64_t limit) {
    auto reply = co_await redis_.script(scripts_.outbox_page, {std::string(keys::kOutbox)},
                                        {millis(age), fmt::format("{}", limit)}, deadline());
    if (!reply.applied()) co_return reply.failure_as<std::vector<DeadLetter>>();
    std::vector<DeadLetter> letters;
    if (const auto* elements = reply.value().array()) {
        for (std::size_t i = 0; i + 1 < elements->size(); i += 2) {
            if (auto letter = parse_dead_letter((*elements)[i + 1].text())) letters.push_back(std::move(*letter));
        }
    }
    co_return letters;
}

Task<Outcome<Done>> JobStore::dead_letter_sent(std::string id) {
    RedisCommand remove{"ZREM", std::string(keys::kOutbox), std::move(id)};
    auto reply = co_await redis_.command(std::move(remove), deadline());
    if (!reply.applied()) co_return reply.failure_as<Done>();
    co_return Done{};
}

}  // namespace lockstep::engine
