#include "engine/workflow/run_visits.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "engine/runs/job_request.h"
#include "engine/wire/json_text.h"
#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/rfc3339.h"
#include "engine/wire/subjects.h"
#include "engine/workflow/run_keys.h"

namespace lockstep::engine {

using nlohmann::json;

namespace {

/// A document that somebody else goes on rewriting is left to the next visit.
constexpr int kTries = 3;
/// Whatever is still to be sent after so many is left to the next visit: one run must not hold up the others.
constexpr std::size_t kSentAtOnce = 200;
/// Submissions that may wait for the schedulers, or be in their hands, when a run adds to them: all jobs come by one stream.
constexpr std::uint64_t kBacklogMax = 50;
/// A visit sends so many without a look at the backlog, and a run that has waited for room sends as many in any case.
constexpr std::size_t kSentUnasked = 15;
constexpr Duration kPatience = std::chrono::seconds{1};
constexpr Duration kBetweenLooks = std::chrono::milliseconds{100};
/// Documents of runs that steps have begun, read and parsed at a time.
constexpr std::size_t kChildrenAtOnce = 16;

struct Definition {
    std::optional<WorkflowDefinition> workflow;
    std::string problem;  // why there is none
};

Definition read(std::string_view text, const Tunables& tunables) {
    if (text.empty()) return {std::nullopt, "its workflow does not exist"};
    const json document = wire::parse_bounded(text);
    if (document.is_discarded()) return {std::nullopt, "the definition of its workflow cannot be read"};
    DefinitionLimits limits;
    limits.expression_length = static_cast<std::size_t>(tunables.wf_expr_max_length);
    auto workflow = read_definition(document, limits);
    if (workflow) return {std::move(*workflow), {}};
    const DefinitionMistake& first = workflow.error().front();
    return {std::nullopt, fmt::format("its workflow has mistakes: {}: {}", first.pointer, first.message)};
}

RunLimits limits_of(const Context& context) {
    const Tunables& tunables = context.tunables;
    RunLimits limits;
    limits.packet_bytes = context.ports.bus.connection().max_payload;
    limits.foreach_items = static_cast<std::size_t>(tunables.wf_foreach_max_items);
    limits.expressions.length = static_cast<std::size_t>(tunables.wf_expr_max_length);
    limits.expressions.items = static_cast<std::size_t>(tunables.wf_expr_max_result_items);
    return limits;
}

std::string text_at(const json& object, const char* name) {
    const json& value = at_path(object, name);
    return value.is_string() ? value.get<std::string>() : std::string{};
}

/// With their steps.
std::vector<std::pair<std::string, std::string>> jobs_at_work(RunDocument& run) {
    std::vector<std::pair<std::string, std::string>> jobs;
    for (const std::string& key : run.step_keys()) {
        const StepRun record = *run.find_step(key);
        const bool is_at_work = record.status() == StepStatus::running || record.status() == StepStatus::waiting;
        if (is_at_work && !record.job_id().empty()) jobs.emplace_back(record.job_id(), key);
    }
    return jobs;
}

}  // namespace

void apply_ask(RunPass& pass, std::string_view text) {
    const json ask = wire::parse_bounded(text);
    if (!ask.is_object()) return;
    const std::string what = text_at(ask, "do");
    if (what == "cancel") pass.cancel(text_at(ask, "reason"));
    if (what == "retry") pass.retry(text_at(ask, "by"));
    if (what == "approve") pass.approve(text_at(ask, "step"), at_path(ask, "approved") == true, text_at(ask, "by"));
}

RunVisits::RunVisits(const Context& context, RunStore& store, Leases& leases, DeadLetterStore& letters,
                     DeadLetters& dead_letters)
    : context_(context),
      store_(store),
      leases_(leases),
      letters_(letters),
      dead_letters_(dead_letters),
      later_(context.ports.executor) {}

Task<Visited> RunVisits::visit(std::string run, std::vector<std::string> jobs) {
    PRECONDITION(!run.empty(), "a run has an id");
    const std::vector<std::string> came_for = jobs;
    LocalTurns::Turn turn = co_await turns_.take(run, std::move(jobs));
    auto mine = turn.take_jobs();
    const bool others_did_it = !came_for.empty() && std::ranges::none_of(came_for, [&](const std::string& job) {
        return std::ranges::binary_search(mine, job);
    });
    if (others_did_it && mine.empty()) co_return Visited::done;
    // A visit deals with as many ends as fit into it; the lock is free between two.
    Visited visited = Visited::unreachable;
    while (true) {
        std::size_t dealt_with = 0;
        visited = co_await visit_some(run, mine, dealt_with);
        mine.erase(mine.begin(), mine.begin() + static_cast<std::ptrdiff_t>(dealt_with));
        if (visited != Visited::done || mine.empty()) break;
        if (context_.stopping) visited = Visited::busy;
    }
    if (visited == Visited::busy && context_.tunables.wf_on_contention == "skip") visited = Visited::done;
    if (visited == Visited::overtaken) visited = Visited::busy;
    if (visited == Visited::busy || visited == Visited::unreachable) turn.give_back(std::move(mine));
    co_return visited;
}

Task<Visited> RunVisits::visit_some(std::string run, std::vector<std::string> jobs, std::size_t& dealt_with) {
    Visited visited = Visited::unreachable;
    for (int tries = 0; tries < kTries; ++tries) {
        visited = co_await visit_once(run, jobs, context_.mechanisms.on(Mechanism::run_lock), dealt_with);
        const bool may_go_without =
            (visited == Visited::unreachable && context_.tunables.wf_on_redis_error == "local") ||
            (visited == Visited::busy && context_.tunables.wf_on_contention == "local");
        if (may_go_without) {
            context_.ports.metrics.add(Metric::workflow_lock_fallback);
            visited = co_await visit_once(run, jobs, false, dealt_with);
        }
        if (visited != Visited::overtaken) break;
    }
    if (visited != Visited::done) dealt_with = 0;
    co_return visited;
}

Task<Visited> RunVisits::visit_once(std::string run, std::vector<std::string> jobs, bool locked,
                                    std::size_t& dealt_with) {
    const std::size_t asked = jobs.size();
    Room::Place place = co_await context_.room->enter();
    Lease lease(leases_.ports(), keys::run_lock(run), locked ? Token(context_.ports.entropy.uuid()) : Token{},
                {.life = context_.tunables.run_lock_ttl,
                 .answer_within = context_.tunables.store_op_timeout,
                 .renewed = locked,
                 .booked = locked},
                {keys::run_in_hand(run), {}});
    auto taken = co_await take(run, lease, std::move(jobs));
    Visited visited = Visited::unreachable;
    if (taken.applied()) {
        switch (taken.value().kind) {
            case TakenRun::Kind::busy: visited = Visited::busy; break;
            case TakenRun::Kind::absent: visited = Visited::absent; break;
            case TakenRun::Kind::held:
                dealt_with = std::min(taken.value().jobs.size(), asked);
                visited = co_await start(lease, place, std::move(taken.value()), std::move(run));
                break;
        }
    }
    if (locked) co_await lease.release();
    co_return visited;
}

Task<Outcome<TakenRun>> RunVisits::take(std::string run, Lease& lease, std::vector<std::string> jobs) {
    const bool locked = !lease.token().empty();
    const MonoTime give_up = context_.ports.clock.in(context_.tunables.lock_wait);
    Duration pause = context_.tunables.lock_poll;
    while (true) {
        const MonoTime asked = context_.ports.clock.monotonic();
        if (locked) lease.asking();
        auto taken = co_await store_.take(run, lease.token(), jobs);
        if (!taken.applied()) co_return taken;
        if (taken.value().kind == TakenRun::Kind::held) {
            if (locked) lease.begin(asked);
            co_return taken;
        }
        if (locked) lease.refused();
        if (taken.value().kind == TakenRun::Kind::absent || context_.ports.clock.monotonic() >= give_up)
            co_return taken;
        co_await context_.ports.clock.sleep(pause);
        pause = std::min(2 * pause, 8 * context_.tunables.lock_poll);
    }
}

Task<Visited> RunVisits::start(Lease& lease, Room::Place& place, TakenRun taken, std::string run) {
    switch (co_await start_handling(context_, lease, place, taken.lost)) {
        case HandlingStart::not_now: co_return Visited::busy;
        case HandlingStart::set_aside: taken.set_aside = true; break;
        case HandlingStart::goes_on: break;
    }
    co_return co_await under_lock(lease, std::move(taken), std::move(run));
}

Task<Visited> RunVisits::under_lock(Lease& lease, TakenRun taken, std::string run) {
    const bool fenced = context_.mechanisms.on(Mechanism::run_update_fence);
    RecordedIds ids;
    // Each round that is not the last learns of another job.
    while (true) {
        auto change = co_await decide(lease, taken, run, ids.taken);
        if (!change) co_return Visited::unreachable;
        if (taken.written_by_others) context_.ports.log.reached("run_written_by_others");
        if (fenced && !lease.token().empty() && !lease.usable()) co_return Visited::overtaken;
        std::vector<Outgoing> outbox = taken.outbox;
        std::ranges::copy(change->outbox, std::back_inserter(outbox));
        std::string org = change->org;
        std::optional<Duration> due;
        for (const auto& [step, at] : change->due) due = std::min(due.value_or(at - taken.at), at - taken.at);
        std::vector<std::string> others = change->effects.cancelled_runs;
        for (const ChildRun& child : change->effects.children) others.push_back(child.run);
        if (!change->effects.wake.empty()) others.push_back(change->effects.wake);
        const bool unfinished = change->effects.unfinished;
        std::optional<DeadLetter> letter;
        if (taken.set_aside && change->ended && change->status != change->was_status) {
            letter = letter_of_lost(fmt::format("run:{}", run), {});
            const auto written = co_await letters_.put(*letter);
            if (!written.applied()) co_return Visited::unreachable;
        }
        if (!fenced) change->read_sha1.clear();
        if (!context_.mechanisms.on(Mechanism::step_outbox)) change->outbox.clear();
        const auto committed =
            co_await store_.commit(fenced ? lease.token() : Token{}, std::move(*change), fenced, ids);
        if (!committed.applied()) co_return Visited::unreachable;
        switch (committed.value()) {
            case RunCommitted::lost: lease.mark_lost(); co_return Visited::overtaken;
            case RunCommitted::changed: context_.ports.log.reached("run_overtaken"); co_return Visited::overtaken;
            case RunCommitted::recorded: context_.ports.log.reached("run_job_recorded_before"); continue;
            case RunCommitted::ok: break;
        }
        if (fenced) lease.end();
        if (letter) co_await dead_letters_.announce(std::move(*letter));
        if (due_ != nullptr) due_->on_due(run, due);
        for (std::string& other : others) visit_later(std::move(other));
        if (unfinished) visit_later(run);
        const std::size_t most = going_on_.contains(run) ? 0 : kSentUnasked;
        if (!outbox.empty()) co_await send(std::move(run), std::move(org), std::move(outbox), most);
        co_return Visited::done;
    }
}

Task<std::optional<RunChange>> RunVisits::decide(const Lease& lease, const TakenRun& taken, std::string run,
                                                 std::set<std::string> taken_ids) {
    auto document = RunDocument::parse(taken.document);
    if (!document) {
        context_.ports.log.event(LogLevel::error, "run cannot be read", {{"run_id", run}, {"error", document.error()}});
        co_return std::nullopt;
    }
    std::string definition = taken.definition;
    if (definition.empty()) {
        const auto found = co_await store_.definition(document->workflow());
        if (!found.applied()) co_return std::nullopt;
        definition = found.value().value_or("");
    }
    const Definition read_as =
        taken.set_aside ? Definition{std::nullopt, letter_of_lost({}, {}).reason} : read(definition, context_.tunables);
    const WorkflowDefinition* workflow = read_as.workflow ? &*read_as.workflow : nullptr;
    ChildRunStates children;
    if (workflow != nullptr) {
        auto seen = co_await look_at_children(*workflow, *document);
        if (!seen.applied()) co_return std::nullopt;
        children = std::move(seen.value());
    }
    RunLimits limits = limits_of(context_);
    limits.taken_jobs = std::move(taken_ids);
    // Others may have the lock once its life is over: what is decided until then has to be written before.
    if (!lease.token().empty()) limits.is_time_up = [&lease] { return lease.remaining() < lease.terms().life / 3; };
    RunChange change = change_of(taken, *document, workflow, read_as.problem, children, limits);
    const auto most = static_cast<std::size_t>(context_.tunables.wf_run_max_bytes);
    if (change.document.size() > most)
        change = change_of(taken, std::move(*document), nullptr,
                           fmt::format("its document would be {} bytes, of at most {}", change.document.size(), most),
                           {}, limits);
    change.run = std::move(run);
    if (taken.definition.empty()) change.definition = std::move(definition);
    fill_outbox(change);
    co_return change;
}

RunChange RunVisits::change_of(const TakenRun& taken, RunDocument document, const WorkflowDefinition* workflow,
                               const std::string& problem, const ChildRunStates& children,
                               const RunLimits& limits) const {
    RunChange change;
    change.workflow = document.workflow();
    change.org = document.org();
    change.read_sha1 = taken.sha1;
    change.was_status = std::string(to_string(document.status()));
    const WorkflowDefinition nothing;
    const WorkflowDefinition& steps = workflow != nullptr ? *workflow : nothing;
    RunPass pass(steps, document, taken.at, limits, children, change.effects);
    if (!taken.set_aside) {
        for (const RunJobRecord& record : taken.jobs)
            if (record.settled) pass.take_end(record.end);
        for (const std::string& ask : taken.asks) apply_ask(pass, ask);
    }
    change.asks_done = taken.asks.size();
    if (workflow != nullptr)
        pass.advance();
    else
        pass.give_up(problem);

    if (change.effects.changed) {
        document.set("updated_at", wire::rfc3339(taken.at));
        change.document = document.write();
        change.status = std::string(to_string(document.status()));
    }
    change.ended = is_final(document.status());
    change.calls_off = change.effects.calls_off || document.status() == RunStatus::cancelled ||
                       document.status() == RunStatus::timed_out;
    if (taken.written_by_others && !change.ended) change.reopened = jobs_at_work(document);
    const bool durable = context_.mechanisms.on(Mechanism::durable_delay_timers);
    for (const auto& [step, due] : due_times(steps, document)) {
        // What is due and has not gone on waits for something else, such as a place among its siblings.
        if (due.at <= taken.at) continue;
        change.due.emplace_back(step, due.at);
        if (durable && due.pause >= context_.tunables.delay_persist_min)
            change.earliest_due = std::min(change.earliest_due.value_or(due.at), due.at);
    }
    // Due at once: should this replica die now, the next look goes on.
    if (change.effects.unfinished) change.due.emplace_back("", taken.at);
    return change;
}

Task<Outcome<ChildRunStates>> RunVisits::look_at_children(const WorkflowDefinition& workflow, RunDocument& run) {
    ChildRunStates states;
    const auto begun = child_runs_of(workflow, run);
    for (auto next = begun.begin(); next != begun.end();) {
        const auto first = next;
        std::vector<std::string> ids;
        for (; next != begun.end() && ids.size() < kChildrenAtOnce; ++next) ids.push_back(next->second);
        const auto documents = co_await store_.documents(ids);
        if (!documents.applied()) co_return documents.failure_as<ChildRunStates>();
        auto child = first;
        for (const std::string& document : documents.value()) {
            if (child == next) break;
            const auto& [step, id] = *child++;
            states.emplace(id, child_run_state(document, id, run.id(), step));
        }
    }
    co_return states;
}

void RunVisits::fill_outbox(RunChange& change) const {
    const RunEffects& effects = change.effects;
    for (const Submission& submission : effects.submissions)
        change.outbox.push_back({Outgoing::make_id(Outgoing::Kind::submission, submission.job), submission.packet});
    for (const JobCancellation& cancellation : effects.cancellations) {
        cap::JobCancel cancel;
        cancel.set_job_id(cancellation.job);
        cancel.set_reason(cancellation.reason);
        cancel.set_requested_by(kWorkflowSender);
        change.outbox.push_back({Outgoing::make_id(Outgoing::Kind::cancellation, cancellation.job),
                                 wire::serialise(wire::make_packet(std::move(cancel), cancellation.job, kWorkflowSender,
                                                                   context_.ports.clock.now()))});
    }
    std::size_t number = 0;
    for (const std::string& alert : effects.alerts)
        change.outbox.push_back(
            {Outgoing::make_id(Outgoing::Kind::alert, fmt::format("{}.{}", change.read_sha1, number++)), alert});
}

Task<void> RunVisits::send(std::string run, std::string org, std::vector<Outgoing> outbox, std::size_t most) {
    const auto is_job = [](const Outgoing& one) { return one.kind() == Outgoing::Kind::submission; };
    const auto others = std::ranges::partition(outbox, is_job);
    const auto jobs = static_cast<std::size_t>(others.begin() - outbox.begin());
    const std::span<const Outgoing> all(outbox);
    std::vector<std::string> sent;
    const std::size_t first = std::min(jobs, most);
    co_await send_all(all.first(first), sent);
    // A cancellation goes behind the job that it is about.
    std::set<std::string, std::less<>> left;
    for (const Outgoing& job : all.first(jobs)) left.insert(job.id);
    for (const std::string& id : sent) left.erase(id);
    const auto held = std::ranges::partition(others, [&left](const Outgoing& one) {
        return one.kind() != Outgoing::Kind::cancellation ||
               !left.contains(Outgoing::make_id(Outgoing::Kind::submission, one.about()));
    });
    const auto ready = static_cast<std::size_t>(held.begin() - others.begin());
    const std::size_t rest = std::min(ready, kSentAtOnce);
    co_await send_all(all.subspan(jobs, rest), sent);
    const bool refused = sent.size() < first + rest;
    const bool is_all = sent.size() == all.size();
    if (!sent.empty() && context_.mechanisms.on(Mechanism::step_outbox)) {
        const auto struck = co_await store_.sent(run, std::move(sent));
        if (!struck.applied()) context_.ports.log.reached("run_outbox_left");
    }
    if (is_all) co_return;
    if (refused)
        visit_later(std::move(run), context_.tunables.retry_delay_publish);
    else if (going_on_.insert(run).second)
        later_.spawn(go_on(std::move(run), std::move(org)));
}

Task<std::size_t> RunVisits::room_for_submissions() {
    Clock& clock = context_.ports.clock;
    const MonoTime patience = clock.in(kPatience);
    while (true) {
        const auto schedulers = co_await context_.ports.bus.consumer_state(
            std::string(wire::kStreamSys), wire::durable_name(wire::kQueueScheduler, wire::kSubjectSubmit), patience);
        if (!schedulers.applied() || !schedulers.value()) co_return kBacklogMax;
        const std::uint64_t backlog = schedulers.value()->waiting + schedulers.value()->in_hand;
        const std::size_t room = kBacklogMax - std::min(backlog, kBacklogMax);
        if (room >= kSentUnasked) co_return room;
        if (clock.monotonic() + kBetweenLooks >= patience) co_return kSentUnasked;
        co_await clock.sleep(kBetweenLooks);
    }
}

Task<void> RunVisits::go_on(std::string run, std::string org) {
    const LocalTurns::Turn turn = co_await orgs_.take(org, {});
    const std::size_t room = co_await room_for_submissions();
    going_on_.erase(run);
    if (context_.stopping) co_return;
    auto left = co_await store_.outbox(run);
    if (!left.applied())
        visit_later(std::move(run), context_.tunables.retry_delay_store);
    else if (!left.value().empty())
        co_await send(std::move(run), std::move(org), std::move(left.value()), room);
}

Task<void> RunVisits::send_all(std::span<const Outgoing> outbox, std::vector<std::string>& sent) {
    Scope side_by_side(context_.ports.executor);
    for (const Outgoing& outgoing : outbox) side_by_side.spawn(send_one(outgoing, sent));
    co_await side_by_side.join();
}

Task<void> RunVisits::send_one(const Outgoing& outgoing, std::vector<std::string>& sent) {
    const auto kind = outgoing.kind();
    if (kind == Outgoing::Kind::submission) {
        const auto packet = wire::decode(outgoing.packet);
        std::string id = packet ? wire::message_id(*packet, wire::kSubjectSubmit) : std::string{};
        // Where nobody knows whether it was stored it is sent again, under the same ids.
        const auto stored =
            co_await context_.ports.bus.publish(std::string(wire::kSubjectSubmit), outgoing.packet, std::move(id),
                                                context_.ports.clock.in(context_.tunables.publish_timeout));
        if (!stored.applied()) co_return;
    } else if (kind) {  // else of a later version: not ours to send, and not ours to keep
        const std::string_view subject =
            *kind == Outgoing::Kind::alert ? wire::kSubjectWorkflowEvent : wire::kSubjectCancel;
        const auto told = co_await context_.ports.bus.publish_core(std::string(subject), outgoing.packet);
        if (!told.applied()) co_return;
    }
    sent.push_back(outgoing.id);
}

void RunVisits::visit_later(std::string run, Duration after) {
    if (context_.stopping) return;
    const auto [entry, is_new] = later_runs_.emplace(run, Again{});
    if (is_new)
        later_.spawn(visit_until_done(std::move(run), after));
    else
        entry->second = {true, after};
}

Task<void> RunVisits::visit_until_done(std::string run, Duration after) {
    Duration pause = after;
    while (!context_.stopping) {
        if (pause > Duration{0}) co_await context_.ports.clock.sleep(pause);
        later_runs_[run].wanted = false;
        const Visited visited = co_await visit(run, {});
        if (visited == Visited::busy || visited == Visited::overtaken)
            pause = context_.tunables.retry_delay_busy;
        else if (visited == Visited::unreachable)
            pause = context_.tunables.retry_delay_store;
        else if (later_runs_[run].wanted)
            pause = later_runs_[run].after;
        else
            break;
    }
    later_runs_.erase(run);
}

void RunVisits::stop() {
    later_.cancel();
    later_runs_.clear();
    going_on_.clear();
}

}  // namespace lockstep::engine
