#include "sim/oracles/routing_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "engine/wire/text.h"
#include "sim/model/capacity_keys.h"
#include "sim/model/heartbeat_bounds.h"
#include "sim/model/job_keys.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

namespace wire = engine::wire;
using fakes::EventKind;
using fakes::EventOutcome;
using fakes::When;

/// The causes that say that nobody was found for a job.
constexpr std::string_view kNobody[] = {"no_workers:", "pool_overloaded:", "no_pool_mapping:"};

constexpr EventNumber kStillThere = std::numeric_limits<EventNumber>::max();

bool constrains_placement(std::string_view label) {
    return label.starts_with("placement.") || label.starts_with("constraint.") || label.starts_with("node.");
}

bool carries(const NamedWorker& worker, const std::map<std::string, std::string>& labels) {
    return std::ranges::all_of(labels, [&worker](const auto& label) {
        const auto found = worker.labels.find(label.first);
        return found != worker.labels.end() && found->second == label.second;
    });
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

/// The pools that a job may go to, in a table as it was written.
std::vector<std::string> pools_for(const std::string& topic, const std::string& preferred,
                                   const std::vector<std::string>& required, const engine::RoutingTable& table) {
    const auto served = table.topics.find(topic);
    if (served == table.topics.end()) return {};
    std::vector<std::string> pools = served->second;
    std::erase_if(pools, [&](const std::string& name) {
        const auto pool = table.pools.find(name);
        const bool known = pool != table.pools.end();
        if (known && pool->second.status != engine::PoolStatus::active) return true;
        if (!preferred.empty() && name != preferred) return true;
        return !std::ranges::all_of(
            required, [&](const std::string& item) { return known && contains(pool->second.requires_, item); });
    });
    return pools;
}

/// Whether others wait is read of these: of the queue by the engine, of all jobs where a queue was lost.
bool is_of_waiting(std::string_view key) { return key == kCapacityWaiting || key.starts_with(kCapacityTurns); }

float score_of(std::int64_t active, const NamedWorker& worker) {
    return static_cast<float>(active) + static_cast<float>(worker.cpu_load) / 100.0F +
           static_cast<float>(worker.gpu_utilization) / 100.0F;
}

bool overloaded(std::int64_t active, const NamedWorker& worker, const engine::Tunables& tunables) {
    const bool full =
        worker.max_parallel_jobs > 0 && static_cast<float>(active) / static_cast<float>(worker.max_parallel_jobs) >=
                                            static_cast<float>(tunables.overload_utilization);
    return full || static_cast<float>(worker.cpu_load) >= static_cast<float>(tunables.overload_cpu) ||
           static_cast<float>(worker.gpu_utilization) >= static_cast<float>(tunables.overload_gpu);
}

}  // namespace

void RoutingRules::on_event(const fakes::Event& event, Time now) {
    now_ = now;
    settings_.on_event(event, now);
    switch (event.kind) {
        case EventKind::lock_acquired:
        case EventKind::lock_released:
        case EventKind::lock_expired: on_lock(event, now); break;
        case EventKind::redis:
            on_call(event, now);
            if (event.when == When::answered) on_refusal_heard(event);
            [[fallthrough]];
        case EventKind::kernel_check: on_answer(event, now); break;
        case EventKind::publish: on_publish(event); break;
        case EventKind::node_down:
            traffic_.erase(event.node);
            std::erase_if(full_, [&event](const auto& entry) { return entry.first.first == event.node; });
            std::erase_if(awaited_, [&event](const auto& entry) { return entry.first.first.first == event.node; });
            std::erase_if(handlings_, [&event](const auto& entry) { return entry.first.first == event.node; });
            break;
        default: break;
    }
}

void RoutingRules::on_lock(const fakes::Event& event, Time now) {
    if (event.job.empty()) return;
    const fakes::NodeId holder = event.kind == EventKind::lock_acquired ? event.node : event.peer;
    const Place place{holder, std::string(event.job)};
    refused_.erase(place);
    if (const auto old = handlings_.find(place); old != handlings_.end()) {
        // It may have chosen, and nothing has come of it.
        const bool unaware = event.kind == EventKind::lock_expired;
        if (old->second.undecided)
            traffic_[holder].add(ReplicaTraffic::Sending{
                .job = place.second,
                .worker = {},
                .first = old->second.since,
                .last = present(),
                .doubtful = true,
                .at = now,
                .until = unaware ? now + tunables_.job_lock_ttl + tunables_.store_op_timeout : kBeforeAll});
        handlings_.erase(old);
    }
    if (event.kind != EventKind::lock_acquired || !is_scheduler(holder)) return;
    const std::string state = recorded_state(event.job);
    const bool may_choose = !is_final(state) && state != "DISPATCHED" && state != "RUNNING";
    const auto handed = handed_.find(event.job);
    handlings_[place] = {present(),  present(), now, present(),
                         may_choose, 0,         {},  handed == handed_.end() ? std::string{} : handed->second};
}

void RoutingRules::on_answer(const fakes::Event& event, Time now) {
    if (event.kind == EventKind::redis && event.when == When::applied) chosen_again_.reset();
    const bool has_answered = event.when == When::answered && event.kind == EventKind::kernel_check;
    if (event.job.empty() || (event.when != When::before && !has_answered)) return;
    const auto handling = handlings_.find({event.node, std::string(event.job)});
    if (handling == handlings_.end()) return;
    if (event.when == When::before) handling->second.called = present();
    if (has_answered) {
        handling->second.since = present();
        handling->second.since_at = now;
    }
}

void RoutingRules::on_call(const fakes::Event& event, Time now) {
    if (event.job.empty() || !is_scheduler(event.node)) return;
    ReplicaTraffic& traffic = traffic_[event.node];
    if (event.when == When::applied && !traffic.has_unrecorded(event.job)) return;
    const Call call{{event.node, std::string(event.job)}, fmt::format("{} {}", event.command, event.script)};
    if (event.when == When::before) {
        ++awaited_[call];
        return;
    }
    const auto awaited = awaited_.find(call);
    if (event.when == When::applied) {
        traffic.recorded(event.job, call.second, awaited != awaited_.end());
    } else if (event.when == When::answered) {
        traffic.answered(event.job, call.second, event.outcome == EventOutcome::applied, now);
        if (awaited != awaited_.end() && --awaited->second == 0) awaited_.erase(awaited);
    }
}

/// On its own topic a job goes to whoever listens there, where no worker is known that may have it; not where all are busy.
void RoutingRules::on_fallback(const fakes::Event& event) {
    const auto choice = choice_of(event.node, event.job);
    if (!choice) return;
    exercise();
    std::string busy;
    for (const engine::RoutingTable& table : tables_of(*choice)) {
        const auto pools = pools_for(choice->wanted.topic, choice->wanted.pool, choice->wanted.requires_, table);
        const auto known = model().workers_of(event.node);
        const auto found = std::ranges::find_if(known, [&](const Liveness& worker) {
            const auto reports = worker.reports.latest(choice->window.from, choice->window.to);
            return !reports.empty() && reports.front().event < choice->window.from &&
                   std::ranges::all_of(
                       reports,
                       [&](const WorkerReport& report) {
                           return report.routable && report.surely_alive_until >= now_ &&
                                  contains(pools, report.facts.pool) && carries(report.facts, choice->wanted.placement);
                       });
        });
        if (found == known.end()) return;
        busy = model().name_of(static_cast<WorkerNumber>(found - known.begin()));
    }
    if (!busy.empty())
        violated(event.node, event.job,
                 fmt::format("it goes out on {}, and worker {}, which may have it, is only busy", event.subject, busy),
                 choice->window.from);
}

void RoutingRules::on_publish(const fakes::Event& event) {
    if (event.job.empty()) return;
    if (event.when == When::before && event.subject.starts_with("job.") && is_scheduler(event.node))
        return on_fallback(event);
    if (!wire::worker_of(event.subject)) return;
    const auto traffic = traffic_.find(event.node);
    if (traffic == traffic_.end()) return;
    if (event.when == When::before) traffic->second.mark_sent(event.job, present());
    if (event.when == When::answered && event.outcome != EventOutcome::applied)
        traffic->second.mark_doubtful(event.job);
}

void RoutingRules::note_request(std::string_view job, std::string_view json) {
    const cap::JobRequest* request = read_request(json);
    if (!request) {
        if (const auto known = wanted_.find(job); known != wanted_.end()) wanted_.erase(known);
        return;
    }
    Wanted wanted;
    wanted.topic = wire::trim(request->topic());
    for (const auto& [name, value] : request->labels()) {
        if (name == "preferred_pool") wanted.pool = value;
        if (name == "preferred_worker_id") wanted.worker = value;
        if (constrains_placement(name)) wanted.placement.emplace(name, value);
    }
    for (const std::string& item : request->meta().requires_())
        if (const auto bare = wire::trim(item); !bare.empty()) wanted.requires_.push_back(wire::ascii_lower(bare));
    wanted_.insert_or_assign(std::string(job), std::move(wanted));
}

void RoutingRules::string_set(fakes::NodeId, std::string_view key, const std::string*, std::string_view after,
                              std::int64_t, std::int64_t) {
    settings_.string_set(key, after);
    if (key.starts_with(kRequestPrefix)) note_request(key.substr(kRequestPrefix.size()), after);
}

void RoutingRules::hash_set(fakes::NodeId client, std::string_view key, std::string_view field,
                            const std::string* before, std::string_view after) {
    const auto job = is_scheduler(client) ? job_of_hash(key) : std::nullopt;
    if (!job) return;
    if (field == "ls_handed") handed_.insert_or_assign(std::string(*job), std::string(after));
    if (field == "ls_worker" && !after.empty()) on_choice(client, *job, after);
    if (field == "ls_last_cause" &&
        std::ranges::any_of(kNobody, [after](std::string_view cause) { return after.starts_with(cause); }))
        on_nobody(client, *job, after);
    if (field == "worker_id" && !after.empty())
        traffic_[client].add(
            ReplicaTraffic::End{std::string(after), std::string(*job), upcoming(), {}, now_, {}, true});
    if (field == "attempts" && chosen_again_ == Place(client, *job) && before != nullptr && *before != after)
        violated(client, *job, "its try is counted once more because its worker fell silent meanwhile");
}

void RoutingRules::hash_removed(fakes::NodeId client, std::string_view key, std::string_view field, std::string_view) {
    if (field == "ls_handed")
        if (const auto name = job_of_hash(key)) unhanded_ = *name;
    const auto job = field == "ls_worker" && is_scheduler(client) ? job_of_hash(key) : std::nullopt;
    if (!job) return;
    const ReplicaTraffic::Sending* sending = traffic_[client].mark_doubtful(*job);
    if (sending == nullptr) return;
    const auto handling = handlings_.find({client, std::string(*job)});
    if (handling == handlings_.end() || sending->sent != 0) return;
    handling->second.taken_back.insert_or_assign(sending->worker, sending->last);
    handling->second.since = upcoming();
    handling->second.since_at = now_;
    handling->second.undecided = true;
}

void RoutingRules::command(fakes::NodeId, std::span<const std::string_view>, std::int64_t) {
    if (!unhanded_.empty()) handed_.erase(std::exchange(unhanded_, {}));
    pushed_ = {};
}

void RoutingRules::list_inserted(fakes::NodeId, std::string_view key, std::size_t, std::string_view value) {
    if (key.starts_with(kWorkerSlots)) pushed_ = {std::string(key), std::string(value)};
}

void RoutingRules::list_removed(fakes::NodeId client, std::string_view key, std::size_t, std::string_view value) {
    if (pushed_.first != key || pushed_.second != value) return;
    full_.insert_or_assign(Place(client, key.substr(kWorkerSlots.size())), now_);
    refused_.insert_or_assign(Place(client, value), key.substr(kWorkerSlots.size()));
}

/// A replica knows of a worker that it was refused from when it hears so, which after a pause may be long afterwards.
void RoutingRules::on_refusal_heard(const fakes::Event& event) {
    const auto refused = refused_.find(Place(event.node, event.job));
    if (refused != refused_.end()) full_.insert_or_assign(Place(event.node, refused->second), now_);
}

void RoutingRules::zset_set(fakes::NodeId, std::string_view key, std::string_view member, const double*, double) {
    if (is_of_waiting(key)) waiting_[{std::string(key), std::string(member)}] = kStillThere;
}

void RoutingRules::zset_removed(fakes::NodeId, std::string_view key, std::string_view member, double) {
    if (!is_of_waiting(key)) return;
    waiting_[{std::string(key), std::string(member)}] = upcoming();
    if (waiting_.size() < 2 * waiting_kept_) return;
    // What was over before any choice that is still to be made began is asked for by none.
    EventNumber oldest = present();
    for (const auto& [place, handling] : handlings_) oldest = std::min(oldest, handling.since);
    std::erase_if(waiting_, [oldest](const auto& place) { return place.second < oldest; });
    waiting_kept_ = std::max(kWaitingKept, waiting_.size());
}

void RoutingRules::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal, const fakes::redis::Value&,
                               std::int64_t) {
    settings_.key_removed(key);
    if (is_of_waiting(key))
        for (auto& [place, until] : waiting_)
            if (place.first == key && until == kStillThere) until = present();
    if (!key.starts_with(kRequestPrefix)) return;
    if (const auto wanted = wanted_.find(key.substr(kRequestPrefix.size())); wanted != wanted_.end())
        wanted_.erase(wanted);
}

void RoutingRules::restored(const fakes::redis::Keyspace& now) {
    handed_.clear();
    waiting_.clear();
    settings_.restored(now);
    wanted_.clear();
    for (const std::string_view key : now.keys()) {
        const fakes::redis::Value& value = now.find(key)->value;
        const auto* text = std::get_if<std::string>(&value);
        if (text != nullptr && key.starts_with(kRequestPrefix)) note_request(key.substr(kRequestPrefix.size()), *text);
        const auto job = job_of_hash(key);
        const auto handed = job ? hash_field(now, key, "ls_handed") : std::nullopt;
        if (handed) handed_.insert_or_assign(std::string(*job), std::string(*handed));
        const auto* places = is_of_waiting(key) ? std::get_if<fakes::redis::SortedSet>(&value) : nullptr;
        if (places == nullptr) continue;
        for (const auto& place : places->ranking())
            waiting_[{std::string(key), std::string(place.member)}] = kStillThere;
    }
}

std::optional<RoutingRules::Choice> RoutingRules::choice_of(fakes::NodeId replica, std::string_view job) const {
    const auto wanted = wanted_.find(job);
    const auto handling = handlings_.find({replica, std::string(job)});
    if (wanted == wanted_.end() || handling == handlings_.end()) return std::nullopt;
    Choice choice{replica,
                  std::string(job),
                  wanted->second,
                  {handling->second.since, std::max(handling->second.since, handling->second.called)},
                  handling->second.since_at,
                  {}};
    for (auto other = handlings_.lower_bound({replica, {}}); other != handlings_.end() && other->first.first == replica;
         ++other)
        if (other != handling && other->second.undecided && other->second.since <= choice.window.to)
            choice.undecided.push_back(other->second.since);
    return choice;
}

void RoutingRules::on_choice(fakes::NodeId replica, std::string_view job, std::string_view worker) {
    const std::string name(job);
    const auto handling = handlings_.find({replica, name});
    if (handling == handlings_.end()) return;
    if (!is_worker_id(worker))
        violated(replica, job, fmt::format("it goes to worker \"{}\", which is no name for one", worker));
    if (++handling->second.choices > 1) chosen_again_ = Place(replica, name);
    judge_repetition(replica, name, handling->second, worker);
    if (const auto choice = choice_of(replica, job)) {
        const auto is_known = [](const Liveness& worker) { return !worker.reports.all().empty(); };
        if (std::ranges::count_if(model().workers_of(replica), is_known) > 1 || !choice->wanted.placement.empty() ||
            !choice->wanted.pool.empty() || !choice->wanted.requires_.empty())
            exercise();
        const auto handed = handed_.find(job);
        const bool is_handed =
            handling->second.handed == worker || (handed != handed_.end() && handed->second == worker);
        std::string complaint;
        for (const engine::RoutingTable& table : tables_of(*choice)) {
            complaint = wrong(*choice, table, std::string(worker), is_handed);
            if (complaint.empty()) break;
        }
        if (!complaint.empty()) violated(replica, job, complaint, choice->window.from);
    }
    ReplicaTraffic& traffic = traffic_[replica];
    forget_old(traffic);
    traffic.add(ReplicaTraffic::Sending{
        .job = name, .worker = std::string(worker), .first = handling->second.since, .last = upcoming(), .at = now_});
    handling->second.undecided = false;
}

void RoutingRules::judge_repetition(fakes::NodeId replica, const std::string& job, const Handling& handling,
                                    std::string_view worker) {
    if (handling.choices > std::max<std::int64_t>(tunables_.max_dispatch_retries, 1))
        violated(replica, job,
                 fmt::format("it is the {}th worker that one try chose, and {} fell silent already", handling.choices,
                             handling.choices - 1),
                 handling.begun);
    const auto before = handling.taken_back.find(worker);
    if (before == handling.taken_back.end()) return;
    exercise();
    const Liveness* known = model().liveness(replica, worker);
    if (known == nullptr || known->heard.event <= before->second)
        violated(replica, job,
                 fmt::format("worker {} is chosen again by the try that took it back, and was not heard since", worker),
                 before->second);
}

void RoutingRules::on_nobody(fakes::NodeId replica, std::string_view job, std::string_view cause) {
    const auto choice = choice_of(replica, job);
    if (!choice) return;
    // Jobs that came earlier go first, whichever worker is free.
    if (others_waited(*choice)) return;
    if (refused_.contains(Place(replica, job))) return;
    exercise();
    std::string free;
    for (const engine::RoutingTable& table : tables_of(*choice)) {
        free = somebody_for(*choice, table);
        if (free.empty()) return;
    }
    if (!free.empty())
        violated(replica, job, fmt::format("it is turned away (\"{}\"), and worker {} is free", cause, free),
                 choice->window.from);
}

bool RoutingRules::others_waited(const Choice& choice) const {
    // A job that waits is one of all jobs, and its tenant is one of its queue's.
    constexpr std::ptrdiff_t kOwn = 2;
    const auto own = waiting_.find({std::string(kCapacityWaiting), choice.job});
    const auto waited =
        std::ranges::count_if(waiting_, [&choice](const auto& place) { return place.second >= choice.window.from; });
    return waited > (own != waiting_.end() && own->second >= choice.window.from ? kOwn : 0);
}

std::vector<engine::RoutingTable> RoutingRules::tables_of(const Choice& choice) const {
    std::vector<engine::RoutingTable> tables;
    for (auto& table : settings_.possible(choice.replica, choice.from, now_,
                                          [](const engine::Overlay& overlay) { return overlay.pools; })) {
        if (!table) return {};  // what the replica's own file says, nobody outside knows
        tables.push_back(std::move(*table));
    }
    return tables;
}

bool RoutingRules::surely_free(const Choice& choice, const std::vector<std::string>& pools, const std::string& worker,
                               WorkerReports::Reports reports, float& score) const {
    const auto full = full_.find(Place(choice.replica, worker));
    for (const WorkerReport& report : reports) {
        // Its answer may take as long as a call may: what was heard meanwhile is forgotten again.
        if (full != full_.end() && report.at <= full->second + tunables_.store_op_timeout) return false;
        if (!report.routable || report.surely_alive_until < now_) return false;
        if (!contains(pools, report.facts.pool) || !carries(report.facts, choice.wanted.placement)) return false;
        const std::int64_t most = load_of(choice, worker, report).most;
        if (overloaded(most, report.facts, tunables_)) return false;
        score = std::max(score, score_of(most, report.facts));
    }
    return !reports.empty() && reports.front().event < choice.window.from;
}

std::string RoutingRules::somebody_for(const Choice& choice, const engine::RoutingTable& table) const {
    const Wanted& wanted = choice.wanted;
    const auto pools = pools_for(wanted.topic, wanted.pool, wanted.requires_, table);
    const auto known = model().workers_of(choice.replica);
    for (WorkerNumber number = 0; number < known.size(); ++number) {
        float score = 0;
        const auto reports = known[number].reports.latest(choice.window.from, choice.window.to);
        const std::string worker(model().name_of(number));
        if (surely_free(choice, pools, worker, reports, score)) return worker;
    }
    return {};
}

std::string RoutingRules::wrong(const Choice& choice, const engine::RoutingTable& table, const std::string& worker,
                                bool handed) const {
    const Wanted& wanted = choice.wanted;
    const auto pools = pools_for(wanted.topic, wanted.pool, wanted.requires_, table);
    if (pools.empty())
        return fmt::format("it goes to worker {}, and no active pool of topic {} may have it", worker, wanted.topic);
    const Liveness* chosen = model().liveness(choice.replica, worker);
    if (chosen == nullptr) return {};  // live_worker_only
    std::string why;
    std::optional<float> score;
    for (const WorkerReport& report : chosen->reports.latest(choice.window.from, choice.window.to)) {
        const std::int64_t least = handed ? 0 : load_of(choice, worker, report).least;
        if (!report.routable)
            why = "which has said nothing of its load";
        else if (!contains(pools, report.facts.pool))
            why = fmt::format("which is of pool \"{}\"", report.facts.pool);
        else if (!carries(report.facts, wanted.placement))
            why = "which does not carry the labels that it asks for";
        else if (overloaded(least, report.facts, tunables_))
            why = fmt::format("which is overloaded with at least {} jobs of {}", least, report.facts.max_parallel_jobs);
        else
            score = std::min(score.value_or(score_of(least, report.facts)), score_of(least, report.facts));
    }
    if (!score) return why.empty() ? why : fmt::format("it goes to worker {}, {}", worker, why);
    if (worker == wanted.worker || handed) return {};
    const auto known = model().workers_of(choice.replica);
    for (WorkerNumber number = 0; number < known.size(); ++number) {
        const std::string other(model().name_of(number));
        if (other == worker) continue;
        float most = 0;
        const auto reports = known[number].reports.latest(choice.window.from, choice.window.to);
        if (!surely_free(choice, pools, other, reports, most)) continue;
        if (other == wanted.worker)
            return fmt::format("it goes to worker {}, and {}, which it prefers, is free", worker, other);
        if (most < *score || (most == *score && other < worker))
            return fmt::format("it goes to worker {} with a load of {:.2f}, and {} has {:.2f} at most", worker, *score,
                               other, most);
    }
    return {};
}

RoutingRules::Load RoutingRules::load_of(const Choice& choice, const std::string& worker,
                                         const WorkerReport& report) const {
    const std::int64_t said = report.facts.active_jobs;
    if (!tunables_.routing_inflight_correction) return {said, said};
    ReplicaTraffic::Count count;
    if (const auto traffic = traffic_.find(choice.replica); traffic != traffic_.end())
        count = traffic->second.since(report, worker, {choice.window, choice.from});
    for (const EventNumber since : choice.undecided) {
        ++count.perhaps_sent;
        if (since <= report.event) ++count.perhaps_taken_off;
    }
    const std::int64_t surely_sent = std::max<std::int64_t>(0, count.surely_sent - count.perhaps_taken_off);
    return {std::max<std::int64_t>(0, said + surely_sent - count.perhaps_ended),
            std::max<std::int64_t>(0, said + count.perhaps_sent - count.surely_ended)};
}

void RoutingRules::forget_old(ReplicaTraffic& traffic) const {
    // A worker's word does not outlive three times its time to live, and each begins to count anew; a replica may be frozen
    // before it counts.
    constexpr engine::Duration kFrozen = std::chrono::minutes{10};
    traffic.forget_before(now_ - 3 * tunables_.worker_ttl - kFrozen);
}

}  // namespace lockstep::sim
