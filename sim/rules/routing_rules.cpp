// A job goes to the least loaded worker, by what its replica knew, of those that its rules allow (settings.md 1 and 2; C-04, C-05, C-22,
// C-23, C-34, H-25).
//
// 1. Allowed are workers of the pools that serve the job's topic, as far as `preferred_pool` and `requires` leave them and their status is
//    active, that carry every label that constrains placement, and are not overloaded. `preferred_worker_id` goes first among them, then
//    the lowest score, then the smallest id.
// 2. A replica counts what it has sent since a worker's last report, from the choice on, and what has ended since by results that it
//    recorded, from the answer to that on (`routing_inflight_correction`).
// 3. When exactly the replica chose is not known: after the last answer of policy, or after it took the job's lock or its last choice
//    back, and before the call that committed the choice. A choice is wrong when it is so at every instant of that time: of what may
//    count, the chosen worker is given the least, and every other one the most.
// 4. One try has at most `max_dispatch_retries` choices and counts once. None of them is a worker again that this try has taken the job
//    back from, unless that was heard in between.
// 5. A job for which there is no worker (`ls_last_cause`) has none by these rules either. One that goes out on its topic
//    (`topic_fallback`) has none either that is only busy. It may also be that others wait for capacity before it.
// 6. The store counts the jobs that each worker has in flight. A worker that it refused a replica is full there until its next heartbeat,
//    and a try that it refused a worker may leave the choice to it: the job waits, and the store gives it a free slot. A job that a worker
//    keeps a slot free for, now or when a replica acquired the job, may go there whatever the replica knows of its load.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "sim/model/heartbeat_bounds.h"
#include "sim/rules/rules.h"
#include "sim/spec/routing.h"

namespace lockstep::sim::rules {

namespace {

using PoolNames = std::vector<std::string>;

/// One choice of a replica, or that it has found no worker.
struct Routed {
    const Observed& fact;
    const Choice& choice;
    const Model& model;
    const engine::Tunables& tunables;
    const spec::Placement job = spec::placement_of(*fact.job->request.versions.back().request);
    const std::span<const Liveness> workers = model.workers_of(fact.node);  // by number

    [[nodiscard]] WorkerReports::Reports reports_of(WorkerNumber worker) const {
        return worker < workers.size() ? workers[worker].reports.latest(choice.from, choice.to)
                                       : WorkerReports::Reports{};
    }
    [[nodiscard]] ReplicaTraffic::Load load_of(WorkerNumber worker, const WorkerReport& report) const {
        if (!tunables.routing_inflight_correction) return {report.facts.active_jobs, report.facts.active_jobs};
        return model.traffic_of(fact.node).load(worker, report, choice, spec::unaware_for(tunables));
    }
    /// The replica knew for sure that the worker lived and could have the job, be it busy.
    [[nodiscard]] bool is_surely_known(WorkerNumber worker, const PoolNames& pools) const {
        const auto reports = reports_of(worker);
        return !reports.empty() && reports.front().event < choice.from &&
               std::ranges::all_of(
                   reports,
                   [&](const WorkerReport& report) {
                       return report.routable && report.surely_alive_until >= fact.at &&
                              spec::may_have(report.facts, job, pools);
                   });
    }
    /// Its score at most, where it was surely not busy either.
    [[nodiscard]] std::optional<float> score_if_free(WorkerNumber worker, const PoolNames& pools) const {
        if (!is_surely_known(worker, pools)) return std::nullopt;
        // An answer may take as long as a call may: what was heard meanwhile does not count.
        const Time full_until = model.found_full(fact.node, worker) + tunables.store_op_timeout;
        float score = 0;
        for (const WorkerReport& report : reports_of(worker)) {
            const std::int64_t most = load_of(worker, report).most;
            if (report.at <= full_until || spec::is_overloaded(report.facts, most, tunables)) return std::nullopt;
            score = std::max(score, spec::score_of(report.facts, most));
        }
        return score;
    }
    /// What `flaw_by` finds with the pools of each table that the replica may have gone by; empty: nothing with one of them, or the
    /// replica may have gone by its own file.
    template <class Finding>
    [[nodiscard]] std::string flaw(Finding flaw_by) const {
        std::string found;
        const auto pools_of = [](const SettingsText& text) { return text.pools ? &*text.pools : nullptr; };
        for (const auto& table : model.settings().possible(fact.node, choice.from_at, fact.at, pools_of)) {
            found = table ? flaw_by(spec::pools_for(job, *table)) : std::string{};
            if (found.empty()) break;
        }
        return found;
    }
    /// The name of the first worker of which this is true; empty: of none.
    template <class Fitting>
    [[nodiscard]] std::string first_worker(Fitting fits) const {
        for (WorkerNumber worker = 1; worker < workers.size(); ++worker)
            if (fits(worker)) return std::string(model.name_of(worker));
        return {};
    }
};

/// Redis has the request by which the replica chose: none that others have stored since its handler read it.
bool has_request(const Observed& fact, const Choice& choice) {
    const Job& job = *fact.job;
    const bool is_its_own = job.request.last_stored < choice.acquired || job.request.stored_by == fact.node;
    return is_its_own && job.causes.request_stored && !job.request_damaged && !job.request.versions.empty();
}

/// The least score of the chosen worker by one of its reports; else `why` it may not have the job.
std::optional<float> least_score(const Routed& routed, const WorkerChosen& chosen, const PoolNames& pools,
                                 std::string& why) {
    std::optional<float> score;
    for (const WorkerReport& report : routed.reports_of(chosen.worker)) {
        const std::int64_t least = chosen.is_kept_free ? 0 : routed.load_of(chosen.worker, report).least;
        const NamedWorker& worker = report.facts;
        if (!report.routable)
            why = "which has said nothing of its load";
        else if (std::ranges::find(pools, worker.pool) == pools.end())
            why = fmt::format("which is of pool \"{}\"", worker.pool);
        else if (!spec::carries(worker.labels, routed.job.labels))
            why = "which does not carry the labels that it asks for";
        else if (spec::is_overloaded(worker, least, routed.tunables))
            why = fmt::format("which is overloaded with at least {} jobs of {}", least, worker.max_parallel_jobs);
        else
            score = std::min(score.value_or(spec::score_of(worker, least)), spec::score_of(worker, least));
    }
    return score;
}

/// 1 to 3; empty: nothing is wrong with the choice.
std::string flaw_of(const Routed& routed, const WorkerChosen& chosen, const PoolNames& pools) {
    const std::string_view name = routed.model.name_of(chosen.worker);
    if (pools.empty())
        return fmt::format("it goes to worker {}, and no active pool of topic {} may have it", name, routed.job.topic);
    std::string why;
    const auto score = least_score(routed, chosen, pools, why);
    if (!score) return why.empty() ? why : fmt::format("it goes to worker {}, {}", name, why);
    if (name == routed.job.worker || chosen.is_kept_free) return {};
    for (WorkerNumber worker = 1; worker < routed.workers.size(); ++worker) {
        const auto most = worker == chosen.worker ? std::nullopt : routed.score_if_free(worker, pools);
        if (!most) continue;
        const std::string_view other = routed.model.name_of(worker);
        if (other == routed.job.worker)
            return fmt::format("it goes to worker {}, and {}, which it prefers, is free", name, other);
        if (*most < *score || (*most == *score && other < name))
            return fmt::format("it goes to worker {} with a load of {:.2f}, and {} has {:.2f} at most", name, *score,
                               other, *most);
    }
    return {};
}

void goes_where_it_may(const WorkerChosen& chosen, const Model& model, Verdict& verdict,
                       const engine::Tunables& tunables) {
    if (!chosen.choice) return;
    const std::string_view name = model.name_of(chosen.worker);
    verdict.require(is_worker_id(name), 0, "it goes to worker \"{}\", which is no name for one", name);
    verdict.cite("engine/wire/wire.md 8.4");
    verdict.require(chosen.number <= std::max<std::int64_t>(tunables.max_dispatch_retries, 1), chosen.begun,
                    "it is the {}th worker that one try chose, and {} fell silent already", chosen.number,
                    chosen.number - 1);
    if (chosen.taken_back != 0) {
        verdict.exercised();
        const Liveness* known = model.liveness(chosen.node, chosen.worker);
        verdict.require(known != nullptr && known->heard.event > chosen.taken_back, chosen.taken_back,
                        "worker {} is chosen again by the try that took it back, and was not heard since", name);
    }
    verdict.cite("engine/config/settings.md 2");
    if (!has_request(chosen, *chosen.choice)) return;
    const Routed routed{chosen, *chosen.choice, model, tunables};
    const auto is_known = [](const Liveness& worker) { return !worker.reports.all().empty(); };
    verdict.exercised(std::ranges::count_if(routed.workers, is_known) > 1 || !routed.job.labels.empty() ||
                      !routed.job.pool.empty() || !routed.job.requires_.empty());
    const std::string flaw = routed.flaw([&](const PoolNames& pools) { return flaw_of(routed, chosen, pools); });
    verdict.require(flaw.empty(), chosen.choice->from, "{}", flaw);
}

/// 5
void has_no_worker(const NotSent& not_sent, const Model& model, Verdict& verdict, const engine::Tunables& tunables) {
    constexpr std::string_view kNoWorker[] = {"no_workers:", "pool_overloaded:", "no_pool_mapping:"};
    const auto says = [&](std::string_view cause) { return not_sent.cause.starts_with(cause); };
    if (!std::ranges::any_of(kNoWorker, says) || !has_request(not_sent, not_sent.choice) || not_sent.was_refused)
        return;
    // Jobs that came earlier go first, whichever worker is free. A job in its queue has a place itself, and its tenant has one. Whether
    // it was let into none by the number of queues, they are not told apart.
    const std::string_view queue = not_sent.job->capacity_queue;
    const std::size_t own = queue.empty() ? 0 : 2;
    if (says("pool_overloaded:") && model.capacity().places_since(queue, not_sent.choice.from) > own) return;
    verdict.exercised();
    const Routed routed{not_sent, not_sent.choice, model, tunables};
    const std::string none = routed.flaw([&](const PoolNames& pools) {
        const auto fits = [&](WorkerNumber worker) {
            return std::ranges::any_of(routed.reports_of(worker), [&](const WorkerReport& report) {
                return spec::may_have(report.facts, routed.job, pools);
            });
        };
        return routed.first_worker(fits).empty() ? "none" : "";
    });
    verdict.require(!says("pool_overloaded:") || none.empty(), not_sent.choice.from,
                    "it is to wait for a worker that is busy, and no worker may have it");
    const std::string free = routed.flaw([&](const PoolNames& pools) {
        return routed.first_worker(
            [&](WorkerNumber worker) { return routed.score_if_free(worker, pools).has_value(); });
    });
    verdict.require(free.empty(), not_sent.choice.from, "it is turned away (\"{}\"), and worker {} is free",
                    not_sent.cause, free);
}

/// 5: on its own topic a job goes to any subscriber, where no worker is known that may have it; not where all are busy.
void has_no_known_worker(const SentOnTopic& sent, const Model& model, Verdict& verdict,
                         const engine::Tunables& tunables) {
    if (!has_request(sent, sent.choice)) return;
    verdict.exercised();
    const Routed routed{sent, sent.choice, model, tunables};
    const std::string busy = routed.flaw([&](const PoolNames& pools) {
        return routed.first_worker([&](WorkerNumber worker) { return routed.is_surely_known(worker, pools); });
    });
    verdict.require(busy.empty(), sent.choice.from, "it goes out on {}, and worker {}, which may have it, is only busy",
                    sent.subject, busy);
}

}  // namespace

void routing_rules(Rules& rules, const engine::Tunables& tunables) {
    rules.add([&tunables](const WorkerChosen& chosen, const Model& model, Verdict& verdict) {
        goes_where_it_may(chosen, model, verdict, tunables);
    });
    rules.add([&tunables](const NotSent& not_sent, const Model& model, Verdict& verdict) {
        has_no_worker(not_sent, model, verdict, tunables);
    });
    rules.add([&tunables](const SentOnTopic& sent, const Model& model, Verdict& verdict) {
        has_no_known_worker(sent, model, verdict, tunables);
    });
    rules.add([](const JobWritten& written, const Model&, Verdict& verdict) {
        verdict.cite("engine/wire/wire.md 8.4");
        verdict.require(!written.change->is_chosen_again || !written.change->is_recounted, 0,
                        "its try is counted once more because its worker fell silent meanwhile");
    });
}

}  // namespace lockstep::sim::rules
