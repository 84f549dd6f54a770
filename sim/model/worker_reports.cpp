#include "sim/model/worker_reports.h"

#include <algorithm>
#include <utility>

#include "engine/wire/messages.h"

namespace lockstep::sim {

namespace {

using engine::Duration;

/// By the fastest and by the slowest of clocks.
Duration at_least(Duration duration) { return duration - duration / 8; }
Duration at_most(Duration duration) { return duration + duration / 8; }

}  // namespace

void WorkerReports::on_heartbeat(const cap::Heartbeat& heartbeat, Since now, const LivenessTimes& times) {
    WorkerReport report{now, now.at + at_least(times.worker_ttl), now.at + at_most(times.worker_ttl)};
    NamedWorker& facts = report.facts;
    facts.pool = heartbeat.pool();
    facts.active_jobs = heartbeat.active_jobs();
    facts.max_parallel_jobs = heartbeat.max_parallel_jobs();
    facts.cpu_load = heartbeat.cpu_load();
    facts.gpu_utilization = heartbeat.gpu_utilization();
    facts.memory_load = heartbeat.memory_load();
    facts.region = heartbeat.region();
    facts.type = heartbeat.type();
    facts.capabilities.assign(heartbeat.capabilities().begin(), heartbeat.capabilities().end());
    facts.labels.insert(heartbeat.labels().begin(), heartbeat.labels().end());
    add(std::move(report), times);
}

void WorkerReports::on_handshake(Since now, const LivenessTimes& times) {
    const Time sure = now.at + at_least(times.worker_ttl);
    const Time maybe = now.at + at_most(times.worker_ttl);
    // The load of a worker that was dead is forgotten: the handshake only says that it lives.
    if (reports_.empty() || reports_.back().perhaps_alive_until < now.at)
        return add({now, sure, maybe, /*routable=*/false}, times);
    WorkerReport& last = reports_.back();
    if (last.surely_alive_until >= now.at) last.surely_alive_until = sure;
    last.perhaps_alive_until = std::max(last.perhaps_alive_until, maybe);
}

void WorkerReports::on_snapshot(const NamedWorker& named, std::optional<Time> written, Since now,
                                const LivenessTimes& times) {
    const bool heard = !reports_.empty() && !reports_.back().second_hand;
    if (heard && reports_.back().perhaps_alive_until >= now.at) return;
    Time sure{};
    Time maybe = now.at + at_most(std::min(times.worker_ttl, times.hydrated_worker_ttl));
    if (written) {
        const Time oldest = *written - times.snapshot_lock_ttl - kCapturedAtPrecision;
        sure = std::min(now.at + at_least(times.hydrated_worker_ttl), oldest + at_least(times.worker_ttl));
        maybe = std::min(maybe, *written + at_most(times.worker_ttl) + kCapturedAtPrecision);
    }
    add({now, sure, maybe, /*routable=*/true, /*second_hand=*/true, named}, times);
}

void WorkerReports::add(WorkerReport report, const LivenessTimes& times) {
    const Time too_old = report.at - 2 * times.worker_ttl;
    std::erase_if(reports_, [too_old](const WorkerReport& old) { return old.perhaps_alive_until < too_old; });
    constexpr std::size_t kMax = 256;  // of a worker that floods
    if (reports_.size() >= kMax) reports_.erase(reports_.begin(), reports_.begin() + kMax / 2);
    reports_.push_back(std::move(report));
}

WorkerReports::Reports WorkerReports::latest(EventNumber from, EventNumber to) const {
    const auto end =
        std::ranges::partition_point(reports_, [to](const WorkerReport& said) { return said.event <= to; });
    auto begin =
        std::partition_point(reports_.begin(), end, [from](const WorkerReport& said) { return said.event < from; });
    if (begin != reports_.begin()) --begin;  // it was the latest at `from`
    return {begin, end};
}

}  // namespace lockstep::sim
