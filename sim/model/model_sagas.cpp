// What the model makes of compensations and rollbacks.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/policy_marks.h"
#include "engine/wire/subjects.h"
#include "engine/wire/text.h"
#include "sim/model/job_keys.h"
#include "sim/model/model.h"
#include "sim/model/request_facts.h"
#include "sim/model/request_rules.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

using fakes::Event;
using fakes::EventKind;
using fakes::When;
namespace wire = engine::wire;

namespace {

constexpr std::string_view kAside = "lockstep:saga:unreadable:";
constexpr std::string_view kRun = "of run ", kWorkflow = "of workflow ";
/// Sagas of which a rollback is owed.
constexpr std::string_view kSagasOwed = "lockstep:saga:owed";
constexpr std::string_view kOfItsAge = "saga-expired-";

std::size_t digest_of_bytes(std::string_view bytes) { return std::hash<std::string_view>{}(bytes); }

template <class Map>
std::string value_in(const Map& map, const char* name) {
    const auto found = map.find(name);
    return found == map.end() ? std::string{} : found->second;
}

/// The lock under which compensations are taken off a stack.
std::string lock_of(std::string_view stack) {
    constexpr std::string_view kOfRuns = "lockstep:saga:", kSuffix = "stack";
    if (stack.starts_with(kOfRuns)) return fmt::format("{}lock:{}", kOfRuns, stack.substr(kOfRuns.size()));
    return fmt::format("{}lock", stack.substr(0, stack.size() - kSuffix.size()));
}

std::string workflow_of(const cap::JobRequest& request) {
    return request.workflow_id().empty() ? value_in(request.labels(), "workflow_id") : request.workflow_id();
}

template <class Labels>
std::string saga_name(std::string_view tenant, std::string_view workflow, const Labels& labels) {
    const std::string run = value_in(labels, "run_id");
    return run.empty() ? fmt::format("{}{}/{}", kWorkflow, tenant, workflow)
                       : fmt::format("{}{}/{}", kRun, tenant, run);
}

/// REQUIRES: it belongs to a workflow.
std::string saga_name(const cap::JobRequest& request) {
    return saga_name(tenant_named_by(request), workflow_of(request), request.labels());
}

/// Of a member of kSagasOwed, `<kind>:<length of tenant>:<tenant>:<run or workflow>`; empty: it is of an older version.
std::string saga_name(std::string_view member) {
    constexpr std::string_view kOwedRun = "run:", kOwedWorkflow = "workflow:";
    const bool is_run = member.starts_with(kOwedRun);
    if (!is_run && !member.starts_with(kOwedWorkflow)) return {};
    const std::size_t colon = member.find(':', is_run ? kOwedRun.size() : kOwedWorkflow.size());
    const auto length = static_cast<std::size_t>(whole_number(member.substr(member.find(':') + 1)));
    if (colon == std::string_view::npos || length >= member.size() - colon) return {};
    const std::string_view tenant = member.substr(colon + 1, length);
    const std::string_view id = member.substr(std::min(member.size(), colon + length + 2));
    return fmt::format("{}{}/{}", is_run ? kRun : kWorkflow, tenant, id);
}

SagaEntry* find_recorded(Saga& saga, const Job* undoes) {
    const auto found = std::ranges::find(saga.recorded, undoes, &SagaEntry::undoes);
    return found == saga.recorded.end() ? nullptr : &*found;
}

}  // namespace

bool belongs_to_workflow(const cap::JobRequest& request) { return !workflow_of(request).empty(); }

bool is_marked_as_compensation(const cap::JobRequest& request) {
    const auto is_set = [](const auto& map) {
        const std::string value = wire::ascii_lower(wire::trim(value_in(map, "saga_compensation")));
        return !value.empty() && value != "false";
    };
    return is_set(request.labels()) || is_set(request.env());
}

Saga& Sagas::named(const std::string& name) {
    const auto found = by_name.try_emplace(name).first;
    found->second.name = found->first;
    found->second.is_run = name.starts_with(kRun);
    return found->second;
}

Compensating& Sagas::compensation(const Job& job) {
    return compensations.try_emplace(job.number, Compensating{.job = &job}).first->second;
}

void Sagas::lose(SagaStack& stack) {
    for (auto& [name, saga] : by_name)
        saga.is_lost |= std::ranges::find(saga.recorded, &stack, &SagaEntry::stack) != saga.recorded.end();
    stack.recorded.clear();
}

bool Compensating::is_open() const {
    // Of a record that is gone, its time being over or by eviction, the last state counts.
    const State state = job->in_hash == State::absent ? job->undoing.last : job->in_hash;
    const bool cut_off = job->submission.cut_off && state == State::absent;
    return is_stored && !is_final(state) && state != State::approval_required && !cut_off && !job->lost.taken_back();
}

bool Saga::owes_any() const {
    return std::ranges::any_of(recorded,
                               [this](const SagaEntry& one) { return owes(one) && !(one.is_done() && one.is_taken); });
}

bool Sagas::waits() const {
    const auto is_open = [](const Saga& saga) { return !saga.is_lost && saga.owes_any(); };
    return std::ranges::any_of(by_name, [&](const auto& entry) { return is_open(entry.second); }) ||
           std::ranges::any_of(compensations, [](const auto& entry) { return entry.second.is_open(); });
}

void Model::record_compensation(fakes::NodeId client, std::string_view key, std::size_t index, std::string_view bytes) {
    const auto request = std::make_shared<cap::JobRequest>();
    const bool is_request = request->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
    const bool is_usable = is_request && !request->topic().empty();
    SagaStack& stack = sagas_.stacks[lock_of(key)];
    stack.key = key;
    Saga& saga = sagas_.named(is_usable ? saga_name(*request) : std::string(key));
    const Job* undoes = is_request && !request->parent_job_id().empty() ? &job(request->parent_job_id()) : nullptr;
    CompensationRecorded& fact = note(CompensationRecorded{}, client, undoes, clock_.present());
    fact.carries_marks = is_request && wire::carries_policy_marks(*request);
    saga.is_lost |= stack.is_lost;
    if (stack.is_lost) return;
    // One that names no job, or is another implementation's, is nobody's second.
    fact.is_second = is_usable && undoes != nullptr && is_scheduler(client) && !saga.is_lost &&
                     find_recorded(saga, undoes) != nullptr;
    SagaEntry& made = saga.recorded.emplace_back(SagaEntry{.saga = &saga,
                                                           .stack = &stack,
                                                           .undoes = undoes,
                                                           .request = is_usable ? request : nullptr,
                                                           .text = digest_of_bytes(bytes),
                                                           .order = ++sagas_.order,
                                                           .event = upcoming()});
    // A rollback that is under way may come across it from now on.
    if (stack.locked_by.valid()) made.met = clock_.told_at();
    index = std::min(index, stack.recorded.size());
    stack.recorded.insert(stack.recorded.begin() + static_cast<std::ptrdiff_t>(index), &made);
    fact.recorded = &made;
}

void Model::take_compensation(fakes::NodeId client, std::string_view key, std::size_t index) {
    const auto found = sagas_.stacks.find(lock_of(key));
    if (found == sagas_.stacks.end() || index >= found->second.recorded.size()) return;
    auto& [lock, stack] = *found;
    SagaEntry& taken = *stack.recorded[index];
    CompensationTaken& fact = note(CompensationTaken{}, client, taken.undoes, clock_.present());
    fact.recorded = &taken;
    fact.lock = lock;
    fact.is_locked = !stack.is_lock_known || stack.locked_by == client;
    taken.is_taken = true;
    stack.recorded.erase(stack.recorded.begin() + static_cast<std::ptrdiff_t>(index));
    taken.saga->last_step = ++sagas_.order;
}

void Model::keep_aside(fakes::NodeId client, std::string_view key, std::string_view bytes) {
    if (!key.starts_with(kAside)) return;
    key.remove_prefix(kAside.size());
    job(key).undoing.kept_aside = upcoming();
    for (auto& [name, saga] : sagas_.by_name) {
        for (SagaEntry& kept : saga.recorded) {
            if (kept.text != digest_of_bytes(bytes)) continue;
            kept.is_kept = true;
            if (!key.starts_with(kOfItsAge) || !kept.met || saga.is_lost) continue;
            CompensationTooOld& fact = note(CompensationTooOld{}, client, kept.undoes, clock_.present());
            fact.recorded = &kept;
            fact.met_for = clock_.told_at() - *kept.met;
        }
    }
}

void Model::follow_rollback_lock(const Event& event, Time now) {
    SagaStack& stack = sagas_.stacks[std::string(event.key)];
    if (event.kind == EventKind::lock_renewed) return;
    const bool is_taken = event.kind == EventKind::lock_acquired;
    stack.is_lock_known = true;
    stack.locked_by = is_taken ? event.node : fakes::NodeId{};
    if (!is_taken || event.flag) return;
    std::erase_if(stack.rollbacks, [&](const SagaStack::Rollback& one) { return one.replica == event.node; });
    stack.rollbacks.push_back({event.node, now});
    ++sagas_.order;
    for (SagaEntry* one : stack.recorded) {
        if (!one->met) one->met = now;
        one->saga->last_step = sagas_.order;
    }
}

void Model::lose_stack(std::string_view key, fakes::redis::Removal why) {
    const auto found = is_saga_stack(key) ? sagas_.stacks.find(lock_of(key)) : sagas_.stacks.end();
    if (found == sagas_.stacks.end()) return;
    // Whether it has lived for as long as it is to is for lifetimes_kept.
    if (why != fakes::redis::Removal::deleted) sagas_.lose(found->second);
    found->second.is_lost = false;
}

void Model::lose_saga_of(const Job& job) {
    const cap::JobRequest* request = job.request.latest();
    if (request != nullptr && belongs_to_workflow(*request)) sagas_.named(saga_name(*request)).is_lost = true;
}

void Model::end_rollback(std::string_view key, std::string_view member) {
    const auto found = key == kSagasOwed ? sagas_.by_name.find(saga_name(member)) : sagas_.by_name.end();
    if (found != sagas_.by_name.end()) found->second.end_rollback(++sagas_.order);
}

void Model::restore_sagas(const fakes::redis::Keyspace& now) {
    for (const std::string_view key : now.keys())
        if (is_saga_stack(key) && container_at<fakes::redis::List>(now, key) != nullptr)
            sagas_.stacks[lock_of(key)].key = key;
    for (auto& [lock, stack] : sagas_.stacks) {
        stack.is_lock_known = !stack.locked_by.valid() && now.find(lock) == nullptr;
        const auto* kept = container_at<fakes::redis::List>(now, stack.key);
        const bool same = kept == nullptr
                              ? stack.recorded.empty()
                              : std::ranges::equal(*kept, stack.recorded, {}, digest_of_bytes, &SagaEntry::text);
        if (same) continue;
        sagas_.lose(stack);
        stack.is_lost = kept != nullptr;
    }
    // Redis may owe again what it had done.
    if (const auto* owed = container_at<fakes::redis::SortedSet>(now, kSagasOwed))
        for (const auto& [score, member] : owed->ranking())
            if (const std::string name = saga_name(member); !name.empty()) sagas_.named(name).is_under_way = true;
    for (auto& [name, saga] : sagas_.by_name) saga.is_lost |= saga.is_under_way || saga.owes_any();
    for (Job& job : jobs_) {
        if (job.letter.first_code.empty()) job.undoing.kept_aside = 0;
        if (job.lost.taken_back()) lose_saga_of(job);
    }
}

void Model::follow_saga(Job& job, State to) {
    job.undoing.last = to;
    const bool succeeds = to == State::succeeded || to == State::output_quarantined;
    job.undoing.has_succeeded |= succeeds;
    const cap::JobRequest* request = job.request.latest();
    const bool fails = to == State::failed && job.reported.fatal;
    if ((!succeeds && !fails) || request == nullptr) return;
    if (!belongs_to_workflow(*request) || is_marked_as_compensation(*request)) return;
    if (fails) {
        Saga& saga = sagas_.named(saga_name(*request));
        saga.may_roll_back = true;
        saga.is_under_way = true;
        if (!job.reported.in_doubt) saga.owed_since = ++sagas_.order;
    } else if (!request->compensation().topic().empty() && job.causes.request_stored && !job.request_damaged) {
        job.undoing.due_in = &sagas_.named(saga_name(*request));
    }
}

void Model::follow_question(const Event& event, Job& job) {
    if (!job.name.starts_with("comp-")) return;
    Compensating& known = sagas_.compensation(job);
    const bool denies = event.to == "DENY";
    if (event.when == When::before) {
        const auto question = std::make_shared<cap::PolicyCheckRequest>();
        if (!question->ParseFromArray(event.payload.data(), static_cast<int>(event.payload.size()))) return;
        const auto& labels = question->labels();
        known.asked_in = &sagas_.named(saga_name(question->tenant(), value_in(labels, "saga_workflow_id"), labels));
        known.asked_key = question->meta().idempotency_key();
        known.question = question;
    } else if (event.when == When::answered) {
        std::erase(known.denied_to, event.node);
        if (denies) known.denied_to.push_back(event.node);
    } else if (event.when == When::applied && denies && known.asked_in != nullptr) {
        for (SagaEntry& one : known.asked_in->recorded)
            if (one.request != nullptr && one.submitted == nullptr)
                one.is_denied |= one.request->meta().idempotency_key() == known.asked_key;
    }
}

void Model::on_compensation(const Event& event) {
    if (event.when != When::before || event.subject != wire::kSubjectSubmit || event.packet == nullptr) return;
    if (!event.packet->has_job_request() || event.packet->sender_id() != kSagaSender) return;
    const cap::JobRequest& undo = event.packet->job_request();
    const Job* undoes = known_job(undo.parent_job_id());
    Job& by = job(undo.job_id());
    Compensating& known = sagas_.compensation(by);
    known.sent = digest_of_bytes(wire::serialise(*event.packet));
    CompensationSent& fact = note(CompensationSent{}, event.node, undoes, clock_.present());
    fact.tenant = tenant_named_by(undo);
    fact.conflict = tenant_conflict_in(undo);
    fact.by = &by;
    fact.request = &undo;
    fact.was_denied = std::ranges::count(known.denied_to, event.node) > 0;
    fact.question = known.question;
    Saga& saga = sagas_.named(saga_name(undo));
    known.looked = saga.last_step;
    SagaEntry* recorded = find_recorded(saga, undoes);
    fact.recorded = known.recorded = recorded;
    if (recorded == nullptr) return;
    fact.was_denied |= recorded->is_denied && recorded->is_taken;
    for (SagaStack::Rollback& rollback : recorded->stack->rollbacks)
        if (rollback.replica == event.node) {
            fact.rollback = rollback;
            rollback.has_submitted = true;
        }
}

/// `by`: that the message id names.
void Model::on_compensation_stored(const Event& event, const Job& by) {
    const bool is_one =
        event.packet != nullptr && event.packet->has_job_request() && event.packet->sender_id() == kSagaSender;
    if (!is_one && !sagas_.compensations.contains(by.number)) return;
    Compensating& known = sagas_.compensation(by);
    if (!is_one && known.sent == 0) return;
    if (known.sent != 0 && (!is_one || digest_of_bytes(wire::serialise(*event.packet)) != known.sent)) {
        // It was changed on its way, and its sender cannot know.
        if (known.recorded != nullptr) known.recorded->submitted = &by;
        return;
    }
    const cap::JobRequest& undo = event.packet->job_request();
    Saga& saga = sagas_.named(saga_name(undo));
    if (saga.is_lost || std::exchange(known.is_stored, true)) return;
    const Job* undoes = known_job(undo.parent_job_id());
    CompensationStored& fact = note(CompensationStored{}, event.node, undoes, clock_.present());
    fact.by = &by;
    fact.saga = &saga;
    fact.looked = known.sent != 0 ? known.looked : saga.last_step;
    SagaEntry* recorded = find_recorded(saga, undoes);
    fact.recorded = recorded;
    if (recorded == nullptr) return;
    fact.before = std::exchange(recorded->submitted, &by);
    fact.stored_before = std::exchange(recorded->stored, clock_.present());
}

}  // namespace lockstep::sim
