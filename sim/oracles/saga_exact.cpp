#include "sim/oracles/saga_exact.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"
#include "engine/wire/validation.h"
#include "sim/model/job_keys.h"
#include "sim/oracles/undoing.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view kSharedPrefix = "saga:";
constexpr std::string_view kSharedSuffix = ":stack";
constexpr std::string_view kRunPrefix = "lockstep:saga:";  // and the length of the tenant
constexpr std::string_view kAside = "lockstep:saga:unreadable:";
constexpr std::string_view kExpiredId = "saga-expired-";
constexpr std::string_view kSharedLock = ":lock";
constexpr std::string_view kRunLock = "lockstep:saga:lock:";

bool is_stack(std::string_view key) {
    if (key.starts_with(kSharedPrefix)) return key.ends_with(kSharedSuffix);
    if (!key.starts_with(kRunPrefix)) return false;
    key.remove_prefix(kRunPrefix.size());
    return !key.empty() && key.front() >= '0' && key.front() <= '9';
}

/// Of the saga that a stack belongs to.
std::string lock_of(std::string_view stack) {
    if (stack.starts_with(kRunPrefix)) return fmt::format("{}{}", kRunLock, stack.substr(kRunPrefix.size()));
    return fmt::format("{}{}", stack.substr(0, stack.size() - kSharedSuffix.size()), kSharedLock);
}

template <class Map>
std::string value_of(const Map& map, const char* key) {
    const auto found = map.find(key);
    return found == map.end() ? std::string{} : found->second;
}

/// What a saga is called here, and whether it is a run's; an empty name for what belongs to no workflow.
template <class Labels>
std::pair<std::string, bool> saga_of(std::string_view tenant, const std::string& workflow_id, const Labels& labels) {
    const std::string workflow = workflow_id.empty() ? value_of(labels, "workflow_id") : workflow_id;
    const std::string run = value_of(labels, "run_id");
    if (workflow.empty()) return {};
    if (run.empty()) return {fmt::format("of workflow {}/{}", tenant, workflow), false};
    return {fmt::format("of run {}/{}", tenant, run), true};
}

std::pair<std::string, bool> saga_of(const cap::JobRequest& job) {
    return saga_of(engine::wire::tenant_of(job), job.workflow_id(), job.labels());
}

/// Whose lock this is; empty: it is none of a saga's.
std::string stack_of_lock(std::string_view key) {
    if (key.starts_with(kRunLock)) return fmt::format("{}{}", kRunPrefix, key.substr(kRunLock.size()));
    if (!key.starts_with(kSharedPrefix) || !key.ends_with(kSharedLock)) return {};
    return fmt::format("{}{}", key.substr(0, key.size() - kSharedLock.size()), kSharedSuffix);
}

/// Clocks of a cluster go a little differently.
engine::Duration nearly(engine::Duration duration) { return duration - duration / 16; }

bool success(std::string_view state) { return state == "SUCCEEDED" || state == "OUTPUT_QUARANTINED"; }

bool settled(std::string_view state) { return is_final(state) || state == "APPROVAL_REQUIRED"; }

}  // namespace

void SagaExact::string_set(fakes::NodeId client, std::string_view key, const std::string*, std::string_view after,
                           std::int64_t, std::int64_t) {
    if (key.starts_with(kAside)) on_kept_aside(client, key.substr(kAside.size()), after);
    if (key.starts_with(kLetterPrefix) && key.substr(kLetterPrefix.size()).starts_with("saga-"))
        letters_.emplace(key.substr(kLetterPrefix.size()));
    if (const std::string stack = stack_of_lock(key); !stack.empty()) on_lock(client, stack);
    if (!key.starts_with(kRequestPrefix)) return;
    const bool may_be_a_step = after.find("orkflow") != std::string_view::npos;
    const cap::JobRequest* request = may_be_a_step ? read_request(after) : nullptr;
    if (!request) return lose_request(key);
    auto [saga, of_run] = saga_of(*request);
    if (saga.empty()) return;
    Step& step = steps_[std::string(key.substr(kRequestPrefix.size()))];
    step.saga = std::move(saga);
    step.of_run = of_run;
    step.compensation = is_marked_as_compensation(*request);
    step.undoable = !step.compensation && request->has_compensation() && !request->compensation().topic().empty();
    if (request->has_compensation()) step.request = std::make_shared<const cap::JobRequest>(*request);
}

void SagaExact::on_lock(fakes::NodeId client, std::string_view stack) {
    locked_.insert_or_assign({client, std::string(stack)}, Locked{now_});
    const auto kept = stacks_.find(stack);
    if (kept == stacks_.end()) return;
    for (Entry* entry : kept->second)
        if (!entry->met) entry->met = now_;
}

void SagaExact::on_kept_aside(fakes::NodeId client, std::string_view id, std::string_view bytes) {
    kept_aside_.emplace(id, upcoming());
    const bool expired = id.starts_with(kExpiredId);
    for (auto& [name, saga] : sagas_) {
        for (Entry& entry : saga.entries) {
            if (entry.bytes != bytes) continue;
            entry.kept = true;
            entry.expired = entry.expired || expired;
            if (!expired || !entry.met || clock_jumped_ || saga.lost) continue;
            exercise();
            if (now_ - *entry.met < nearly(tunables_.saga_entry_max_age))
                violated(client, entry.parent,
                         fmt::format("its compensation is taken off {} for its age, and a rollback has first come "
                                     "across it {} ms ago",
                                     entry.stack, engine::to_millis(now_ - *entry.met)),
                         entry.recorded_at);
        }
    }
}

void SagaExact::judge_recorded(fakes::NodeId client, const cap::JobRequest& recorded) {
    const auto step = steps_.find(recorded.parent_job_id());
    if (step == steps_.end() || !is_scheduler(client) || step->second.request == nullptr) return;
    exercise();
    if (step->second.compensation) {
        violated(client, step->first, "it is a compensation, and another one is recorded for it");
        return;
    }
    const std::string wrong = misrecorded(recorded, *step->second.request);
    if (!wrong.empty()) violated(client, step->first, fmt::format("its compensation is recorded otherwise: {}", wrong));
}

void SagaExact::list_inserted(fakes::NodeId client, std::string_view key, std::size_t index, std::string_view value) {
    if (!is_stack(key)) return;
    cap::JobRequest job;
    const bool readable = job.ParseFromArray(value.data(), static_cast<int>(value.size())) && !job.topic().empty();
    const auto [name, of_run] = saga_of(job);
    Saga& saga = sagas_[readable ? name : std::string(key)];
    saga.of_run = of_run;
    if (lost_stacks_.contains(key)) {
        saga.lost = true;
        return;
    }
    if (readable && !saga.lost && find(saga, job.parent_job_id()) != nullptr)
        violated(client, job.parent_job_id(),
                 fmt::format("its compensation was recorded a second time in the saga {}", name));
    if (readable) judge_recorded(client, job);
    Entry& entry = saga.entries.emplace_back();
    entry.saga = &saga;
    entry.stack = key;
    entry.bytes = value;
    entry.readable = readable;
    entry.parent = job.parent_job_id();
    entry.idempotency_key = job.meta().idempotency_key();
    entry.recorded = ++order_;
    entry.recorded_at = upcoming();
    if (locks_.contains(lock_of(key))) entry.met = now_;  // a rollback that is under way may come across it from now on
    auto& stack = stacks_[std::string(key)];
    stack.insert(stack.begin() + static_cast<std::ptrdiff_t>(index), &entry);
}

void SagaExact::list_removed(fakes::NodeId client, std::string_view key, std::size_t index, std::string_view) {
    const auto stack = is_stack(key) ? stacks_.find(key) : stacks_.end();
    if (stack == stacks_.end()) return;
    Entry& entry = *stack->second.at(index);
    const std::string lock = lock_of(key);
    const auto holder = locks_.find(lock);
    if (is_scheduler(client) && !lost_locks_.contains(lock) && (holder == locks_.end() || holder->second != client))
        violated(client, entry.parent, fmt::format("its compensation is taken off {} without {}", key, lock),
                 entry.recorded_at);
    entry.taken = true;
    stack->second.erase(stack->second.begin() + static_cast<std::ptrdiff_t>(index));
    Saga& saga = *entry.saga;
    saga.last_step = ++order_;
    if (!std::ranges::all_of(saga.entries, &Entry::taken)) return;
    saga.under_way = false;
    saga.ended = order_;
}

void SagaExact::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal why, const fakes::redis::Value&,
                            std::int64_t) {
    // An eviction destroys what was acknowledged, as a failover does. Whether a stack has lived for as long as it is to is for
    // lifetimes_kept.
    const bool gone = why == fakes::redis::Removal::evicted || why == fakes::redis::Removal::expired;
    if (gone && is_stack(key)) lose_stack(key);
    if (const auto empty = lost_stacks_.find(key); empty != lost_stacks_.end()) lost_stacks_.erase(empty);
    if (key.starts_with(kRequestPrefix)) lose_request(key);
}

/// Without its request, or where only half of it is left, nobody knows any more what undoes a job.
void SagaExact::lose_request(std::string_view key) {
    if (const auto step = steps_.find(key.substr(kRequestPrefix.size()));
        step != steps_.end() && !step->second.succeeded)
        step->second.undoable = false;
}

void SagaExact::on_holder(const fakes::Event& event) {
    if (stack_of_lock(event.key).empty()) return;
    if (const auto lost = lost_locks_.find(event.key); lost != lost_locks_.end()) lost_locks_.erase(lost);
    if (event.kind == fakes::EventKind::lock_acquired) {
        locks_.insert_or_assign(std::string(event.key), event.node);
    } else if (const auto lock = locks_.find(event.key); lock != locks_.end()) {
        locks_.erase(lock);
    }
}

void SagaExact::lose_stack(std::string_view key) {
    for (auto& [name, saga] : sagas_)
        if (std::ranges::find(saga.entries, key, &Entry::stack) != saga.entries.end()) saga.lost = true;
    if (const auto stack = stacks_.find(key); stack != stacks_.end()) stacks_.erase(stack);
}

bool SagaExact::lost(std::string_view saga) const {
    const auto found = sagas_.find(saga);
    return found != sagas_.end() && found->second.lost;
}

void SagaExact::power_cut() {
    for (const auto& [job, state] : published_)
        if (state.empty()) only_stored_.emplace(job);
}

bool SagaExact::cut_off(std::string_view job, std::string_view state) const {
    return state.empty() && only_stored_.contains(job);
}

void SagaExact::restored(const fakes::redis::Keyspace& now) {
    std::set<std::string, std::less<>> changed;
    for (const auto& [key, entries] : stacks_) {
        const auto* left = now.find(key);
        const auto* list = left == nullptr ? nullptr : std::get_if<fakes::redis::List>(&left->value);
        const bool same = list == nullptr ? entries.empty() : std::ranges::equal(*list, entries, {}, {}, &Entry::bytes);
        if (!same) changed.emplace(key);
    }
    lost_locks_.clear();
    for (const auto& [key, holder] : locks_) lost_locks_.emplace(key);
    for (const std::string_view key : now.keys()) {
        if (is_stack(key) && !stacks_.contains(key)) changed.emplace(key);
        if (!stack_of_lock(key).empty()) lost_locks_.emplace(key);
    }
    for (const std::string& key : changed) {
        lose_stack(key);
        if (now.find(key) != nullptr) lost_stacks_.emplace(key);
    }
    for (auto& [name, saga] : sagas_) saga.lost = saga.lost || saga.under_way || saga.owed_since;
    for (const auto& [job, step] : steps_)
        if (loss_of(job).taken_back()) sagas_[step.saga].lost = true;
    std::erase_if(kept_aside_, [this](const auto& kept) { return !letters_.contains(kept.first); });
}

void SagaExact::on_event(const fakes::Event& event, Time) {
    if (event.kind == fakes::EventKind::fault && event.name.starts_with("clock_")) clock_jumped_ = true;
    if (event.kind == fakes::EventKind::fault && event.name == "nats.power_cut") power_cut();
    switch (event.kind) {
        case fakes::EventKind::lock_acquired:
        case fakes::EventKind::lock_released:
        case fakes::EventKind::lock_expired: on_holder(event); break;
        case fakes::EventKind::deliver:
        case fakes::EventKind::read_back:
            if (is_result_in_hand(event)) on_result_delivered(event);
            break;
        case fakes::EventKind::publish:
            if (const auto worker = engine::wire::worker_of(event.subject))
                sent_to_.insert_or_assign(std::string(event.job), *worker);
            if (event.when == fakes::When::before && event.subject == "sys.job.submit" && event.packet != nullptr &&
                event.packet->sender_id() == kSagaSender)
                on_sent(event);
            break;
        case fakes::EventKind::stored:
            if (event.subject == "sys.job.submit" && !garbled(event) && event.packet != nullptr &&
                event.packet->sender_id() == kSagaSender)
                on_published(event);
            break;
        case fakes::EventKind::state: on_state(event); break;
        case fakes::EventKind::kernel_check:
            if (event.when == fakes::When::before) on_question(event);
            if (event.when == fakes::When::applied && event.to == "DENY") on_denied(event.job);
            if (event.when == fakes::When::answered && event.job.starts_with("comp-"))
                answers_.insert_or_assign({event.node, std::string(event.job)}, event.to);
            break;
        default: break;
    }
}

void SagaExact::on_result_delivered(const fakes::Event& event) {
    const auto& result = event.packet->job_result();
    const bool fatal = result.status() == cap::JOB_STATUS_FAILED_FATAL;
    if (fatal) fatal_.insert(result.job_id());
    // One that is not from the worker which was sent the job is not believed, and then something else ended it.
    const auto sent = sent_to_.find(result.job_id());
    if (!fatal || sent == sent_to_.end() || sent->second != result.worker_id()) ambiguous_.insert(result.job_id());
}

void SagaExact::on_state(const fakes::Event& event) {
    if (const auto published = published_.find(event.job); published != published_.end()) published->second = event.to;
    const auto found = steps_.find(event.job);
    if (found == steps_.end()) return;
    Step& step = found->second;
    if (success(event.to)) step.succeeded = true;
    if (event.to != "FAILED" || step.compensation || !fatal_.contains(event.job)) return;
    Saga& saga = sagas_[step.saga];
    saga.of_run = step.of_run;
    saga.may_roll_back = true;
    if (!saga.under_way) saga.last_step = ++order_;
    saga.under_way = true;
    if (!ambiguous_.contains(event.job)) saga.owed_since = ++order_;
}

void SagaExact::on_question(const fakes::Event& event) {
    if (!event.job.starts_with("comp-")) return;
    cap::PolicyCheckRequest question;
    if (!question.ParseFromArray(event.payload.data(), static_cast<int>(event.payload.size()))) return;
    auto saga = saga_of(question.tenant(), value_of(question.labels(), "saga_workflow_id"), question.labels()).first;
    asked_.insert_or_assign(std::string(event.job), std::pair(std::move(saga), question.meta().idempotency_key()));
}

void SagaExact::on_denied(std::string_view job) {
    const auto asked = asked_.find(job);
    const auto saga = asked == asked_.end() ? sagas_.end() : sagas_.find(asked->second.first);
    if (saga == sagas_.end()) return;
    for (Entry& entry : saga->second.entries) {
        if (entry.idempotency_key == asked->second.second && entry.published_as.empty()) entry.denied = true;
    }
}

bool SagaExact::garbled(const fakes::Event& event) {
    const auto sent = sent_.find(event.message_id);
    if (sent == sent_.end()) return false;
    if (event.packet != nullptr && engine::wire::serialise(*event.packet) == sent->second) return false;
    cap::BusPacket meant;
    meant.ParseFromString(sent->second);
    const cap::JobRequest& job = meant.job_request();
    const auto saga = sagas_.find(saga_of(job).first);
    Entry* entry = saga == sagas_.end() ? nullptr : find(saga->second, job.parent_job_id());
    if (entry == nullptr) return true;
    exercise();
    entry->garbled = true;
    return true;
}

void SagaExact::on_published(const fakes::Event& event) {
    const auto& job = event.packet->job_request();
    const std::string name = saga_of(job).first;
    if (lost(name) || !published_.try_emplace(job.job_id()).second) return;  // the same job once more
    exercise();
    Saga& saga = sagas_[name];
    Entry* entry = find(saga, job.parent_job_id());
    if (!saga.may_roll_back) {
        violated(event.node, job.parent_job_id(),
                 fmt::format("it is undone by {}, and no job of the saga {} failed fatally", job.job_id(), name));
    } else if (entry == nullptr) {
        violated(event.node, job.parent_job_id(),
                 fmt::format("it is undone by {}, which was not recorded", job.job_id()));
    } else if (!saga.of_run && !saga.under_way && entry->recorded > saga.ended) {
        violated(event.node, entry->parent,
                 fmt::format("it is undone by {}, and nothing of the saga {} has failed since its last rollback",
                             job.job_id(), name));
    } else if (!entry->published_as.empty()) {
        violated(event.node, entry->parent,
                 fmt::format("it is undone by {}, and before that by {}", job.job_id(), entry->published_as),
                 entry->published_at);
    } else if (denied_when_sent_.contains({event.node, job.job_id()})) {
        violated(event.node, entry->parent, fmt::format("it is undone by {}, which policy had denied", job.job_id()));
    } else {
        judge_order(event, saga, *entry);
    }
    if (entry != nullptr) {
        entry->published_as = job.job_id();
        entry->published_at = present();
    }
}

void SagaExact::judge_order(const fakes::Event& event, const Saga& saga, const Entry& entry) {
    for (const Entry& other : saga.entries) {
        // One that was recorded after the look at the stack comes next.
        const bool was_above = !other.taken && other.recorded > entry.recorded && other.recorded < saga.last_step;
        if (was_above && other.published_as.empty() && !other.garbled)
            violated(event.node, entry.parent,
                     fmt::format("it is undone before {}, which succeeded later", other.parent), other.recorded_at);
    }
}

bool SagaExact::owed(const Saga& saga, const Entry& entry) {
    return saga.owed_since && (saga.of_run || entry.recorded < *saga.owed_since);
}

bool SagaExact::done(const Entry& entry) {
    return !entry.published_as.empty() || entry.garbled ||
           (entry.taken && (entry.denied || entry.kept || !entry.readable));
}

bool SagaExact::denied_to(fakes::NodeId node, const std::string& job) const {
    const auto answer = answers_.find({node, job});
    return answer != answers_.end() && answer->second == "DENY";
}

void SagaExact::on_sent(const fakes::Event& event) {
    sent_.insert_or_assign(std::string(event.message_id), engine::wire::serialise(*event.packet));
    const auto& job = event.packet->job_request();
    const auto saga = sagas_.find(saga_of(job).first);
    const Entry* entry = saga == sagas_.end() ? nullptr : find(saga->second, job.parent_job_id());
    const bool used_up = entry != nullptr && entry->denied && entry->taken;
    if (entry != nullptr && !entry->saga->lost) judge_sent(event, *entry);
    if (used_up || denied_to(event.node, job.job_id())) denied_when_sent_.emplace(event.node, job.job_id());
}

void SagaExact::judge_sent(const fakes::Event& event, const Entry& entry) {
    cap::JobRequest recorded;
    const bool readable = recorded.ParseFromArray(entry.bytes.data(), static_cast<int>(entry.bytes.size()));
    const std::string wrong = readable ? missubmitted(event.packet->job_request(), recorded) : std::string{};
    if (!wrong.empty())
        violated(event.node, entry.parent, fmt::format("its compensation is submitted otherwise: {}", wrong),
                 entry.recorded_at);
    const auto locked = locked_.find({event.node, entry.stack});
    if (locked == locked_.end()) return;
    const bool first = !std::exchange(locked->second.has_submitted, true);
    const engine::Duration limit =
        first ? tunables_.saga_lock_ttl : std::min(tunables_.saga_rollback_timeout, tunables_.saga_lock_ttl);
    const engine::Duration passed = now_ - locked->second.at;
    if (nearly(passed) > limit)
        violated(event.node, entry.parent,
                 fmt::format("its compensation is submitted {} ms after its rollback was begun, which may last {} ms",
                             engine::to_millis(passed), engine::to_millis(limit)),
                 entry.recorded_at);
}

SagaExact::Entry* SagaExact::find(Saga& saga, std::string_view parent) {
    const auto found = std::ranges::find(saga.entries, parent, &Entry::parent);
    return found == saga.entries.end() ? nullptr : &*found;
}

bool SagaExact::waits() const {
    for (const auto& [name, saga] : sagas_) {
        if (saga.lost) continue;
        for (const Entry& entry : saga.entries) {
            const bool has_left = done(entry) && entry.taken;
            if (owed(saga, entry) && !has_left) return true;
        }
    }
    return std::ranges::any_of(published_, [this](const auto& job) {
        return !settled(job.second) && !loss_of(job.first).taken_back() && !cut_off(job.first, job.second);
    });
}

void SagaExact::at_rest(const RestView& view) {
    for (const auto& [name, saga] : sagas_) {
        if (saga.lost) continue;
        for (const Entry& entry : saga.entries) judge_entry(saga, name, entry);
    }
    for (const auto& [id, event] : kept_aside_)
        if (!letters_.contains(id))
            violated({}, {}, fmt::format("{}{} is kept, and there was never a dead letter {}", kAside, id, id), event);
    for (const auto& [job, step] : steps_) {
        if (!step.undoable || !step.succeeded || lost(step.saga)) continue;
        const auto saga = sagas_.find(step.saga);
        if (saga == sagas_.end() || find(saga->second, job) == nullptr)
            violated({}, job,
                     fmt::format("it succeeded, and its compensation was not recorded in the saga {}", step.saga));
    }
    for (const auto& [job, last] : published_) {
        // Of a record that is gone, its time being over or by eviction, the last that was seen counts.
        const std::string left = job_state(view.redis, job);
        const std::string& end = left.empty() ? last : left;
        if (!settled(end) && !loss_of(job).taken_back() && !cut_off(job, end))
            violated(
                {}, job,
                fmt::format("this compensation was published, and at the end it is {}", end.empty() ? "unknown" : end));
    }
}

void SagaExact::judge_entry(const Saga& saga, const std::string& name, const Entry& entry) {
    if (entry.taken && !entry.readable && !entry.kept)
        violated({}, entry.parent,
                 fmt::format("a compensation that nobody can use was taken off {}, and is not kept", entry.stack),
                 entry.recorded_at);
    if (entry.taken && !done(entry))
        violated({}, entry.parent, fmt::format("its compensation was taken off the saga {} and never published", name),
                 entry.recorded_at);
    if (!entry.taken && owed(saga, entry))
        violated({}, entry.parent,
                 fmt::format("its compensation is still on the stack of the saga {}, which failed", name),
                 entry.recorded_at);
    const auto step = steps_.find(entry.parent);
    const sim::Job* undone = model().find(entry.parent);
    // Its worker has done the work all the same.
    const bool pointer_refused = undone != nullptr && undone->letter.first_code == "invalid_result_pointer";
    if (entry.readable && step != steps_.end() && !step->second.succeeded && !pointer_refused)
        violated({}, entry.parent, "its compensation was recorded although it did not succeed", entry.recorded_at);
}

}  // namespace lockstep::sim
