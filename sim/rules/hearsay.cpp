// What a snapshot says of a worker comes from heartbeats of that worker, and a replica never renews what it only read in a snapshot
// (redis-schema.md 6; engine/hazards.md, H-52).
//
// 1. A replica names a worker in a snapshot only if it received a heartbeat of it itself, and a sign of life no longer than `worker_ttl`
//    before it took the writer's lock. It writes what the worker reported last, then or since.
// 2. A snapshot is not dated ahead of the clock of Redis at the moment of the write.
// 3. A replica that knows a worker from a snapshot only sends it no job once the snapshot is older than `worker_ttl`, or was read longer
//    ago than `hydrated_worker_ttl`.
// 4. A write that takes effect after a crash of its replica is judged by what that replica knew.
#include <algorithm>

#include "sim/rules/rules.h"
#include "sim/spec/snapshot_age.h"

namespace lockstep::sim::rules {

namespace {

bool is_own(const WorkerReport& report) { return report.routable && !report.second_hand; }

bool same(const NamedWorker& said, const NamedWorker& heard) {
    return said.pool == heard.pool && said.active_jobs == heard.active_jobs &&
           said.max_parallel_jobs == heard.max_parallel_jobs &&
           static_cast<float>(said.cpu_load) == static_cast<float>(heard.cpu_load) &&
           static_cast<float>(said.gpu_utilization) == static_cast<float>(heard.gpu_utilization) &&
           static_cast<float>(said.memory_load) == static_cast<float>(heard.memory_load) &&
           said.region == heard.region && said.type == heard.type && said.capabilities == heard.capabilities &&
           said.labels == heard.labels;
}

Time latest_end(WorkerReports::Reports reports) {
    return std::ranges::max(reports, {}, &WorkerReport::perhaps_alive_until).perhaps_alive_until;
}

void names_what_it_heard(const SnapshotWritten& written, const Model& model, Verdict& verdict) {
    const SnapshotWriter& writer = model.snapshot_writer(written.node);
    verdict.exercised(std::ranges::any_of(writer.workers, [&written](const Liveness& worker) {
        const auto reports = worker.reports.all();
        return !reports.empty() && (reports.back().second_hand || reports.back().perhaps_alive_until < written.at);
    }));
    const Since locked = writer.locked.event != 0 ? writer.locked : Since{written.event, written.at};
    for (const auto& [name, said] : model.snapshot().text.workers) {
        const WorkerNumber number = model.number_of(name);
        const auto reports = number < writer.workers.size() ? writer.workers[number].reports.latest(locked.event)
                                                            : WorkerReports::Reports{};
        verdict.require(!reports.empty(), 0, "its worker snapshot names worker {}, from which it never heard", name);
        if (reports.empty()) return;
        const bool in_time = std::ranges::any_of(
            reports, [&](const auto& report) { return is_own(report) && report.perhaps_alive_until >= locked.at; });
        const bool as_reported = std::ranges::any_of(
            reports, [&](const auto& report) { return is_own(report) && same(said, report.facts); });
        verdict.require(std::ranges::any_of(reports, is_own), reports.back().event,
                        "its worker snapshot names worker {}, of which it has no heartbeat itself", name);
        verdict.require(in_time || !std::ranges::any_of(reports, is_own), reports.back().event,
                        "its worker snapshot names worker {}, whose last sign of life was too old {} ms before", name,
                        engine::to_millis(locked.at - reports.back().perhaps_alive_until));
        verdict.require(as_reported || !in_time, reports.back().event,
                        "its worker snapshot names worker {}, and not with what that worker reported last", name);
        if (!in_time || !as_reported) return;
    }
}

void goes_by_no_old_snapshot(const WorkerChosen& chosen, const Model& model, Verdict& verdict) {
    const Liveness* worker = model.liveness(chosen.node, chosen.worker);
    const auto reports = worker == nullptr ? WorkerReports::Reports{} : worker->reports.latest(chosen.since.event);
    if (reports.empty() || !std::ranges::all_of(reports, &WorkerReport::second_hand)) return;
    verdict.exercised();
    verdict.require(
        latest_end(reports) >= chosen.since.at, reports.front().event,
        "it goes to worker {}, which its replica knows from a snapshot only, and that was too old {} ms before",
        model.name_of(chosen.worker), engine::to_millis(chosen.since.at - latest_end(reports)));
}

}  // namespace

void hearsay(Rules& rules, const engine::Tunables& tunables) {
    rules.add<WorkerRoomChanged>(names_what_it_heard);
    rules.add(goes_by_no_old_snapshot);
    rules.add([&tunables](const SnapshotWritten&, const Model& model, Verdict& verdict) {
        if (model.clocks_jumped()) return;
        verdict.require(spec::age_when_written(model.snapshot(), tunables) >= -kCapturedAtPrecision, 0,
                        "a worker snapshot is dated ahead of the clock of Redis");
    });
}

}  // namespace lockstep::sim::rules
