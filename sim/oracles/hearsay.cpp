#include "sim/oracles/hearsay.h"

#include <fmt/core.h>

#include <algorithm>

#include "sim/model/job_keys.h"

namespace lockstep::sim {

namespace {

using fakes::EventKind;
using fakes::When;

constexpr std::string_view kWriterLock = "cordum:scheduler:snapshot:writer";

bool same(const NamedWorker& said, const NamedWorker& heard) {
    return said.pool == heard.pool && said.active_jobs == heard.active_jobs &&
           said.max_parallel_jobs == heard.max_parallel_jobs &&
           static_cast<float>(said.cpu_load) == static_cast<float>(heard.cpu_load) &&
           static_cast<float>(said.gpu_utilization) == static_cast<float>(heard.gpu_utilization) &&
           said.labels == heard.labels;
}

}  // namespace

void Hearsay::on_event(const fakes::Event& event, Time now) {
    now_ = now;
    if (const auto taken = taken_.find(event.node); event.kind == EventKind::node_down && taken != taken_.end())
        past_.insert_or_assign(event.node, Past{heard_.of(event.node), taken->second});
    heard_.on_event(event, present(), now);
    switch (event.kind) {
        case EventKind::lock_acquired:
            if (event.key == kWriterLock) taken_[event.node] = {present(), now};
            if (!event.job.empty()) since_[{event.node, std::string(event.job)}] = {present(), now};
            break;
        case EventKind::kernel_check:
            if (event.when == When::answered) since_[{event.node, std::string(event.job)}] = {present(), now};
            break;
        case EventKind::lock_released:
            if (!event.job.empty()) since_.erase({event.peer, std::string(event.job)});
            break;
        case EventKind::node_down:
            taken_.erase(event.node);
            std::erase_if(since_, [&event](const auto& entry) { return entry.first.first == event.node; });
            break;
        case EventKind::fault: clocks_jumped_ = clocks_jumped_ || event.name.starts_with("clock_"); break;
        default: break;
    }
}

void Hearsay::string_set(fakes::NodeId client, std::string_view key, const std::string*, std::string_view after,
                         std::int64_t, std::int64_t expires_at) {
    heard_.string_set(key, after);
    // What a fault wrote is nobody's word.
    if (key == kWorkerSnapshot && client.valid()) judge_snapshot(client, after, expires_at);
}

void Hearsay::judge_snapshot(fakes::NodeId writer, std::string_view text, std::int64_t expires_at) {
    const SnapshotText& snapshot = read_snapshot(text);
    if (knows_more_than_it_may_say(writer)) exercise();
    // The key's expiry tells what the clock of Redis shows.
    const engine::Duration redis_clock = std::chrono::milliseconds(expires_at) - tunables_.data_ttl;
    if (snapshot.captured_at && !clocks_jumped_ && *snapshot.captured_at - redis_clock > kCapturedAtPrecision)
        violated(writer, {}, "a worker snapshot is dated ahead of the clock of Redis");
    for (const auto& [worker, said] : snapshot.workers) {
        const std::string complaint = wrong(writer, worker, said);
        if (complaint.empty()) continue;
        violated(writer, {}, fmt::format("its worker snapshot names worker {}, {}", worker, complaint));
        return;
    }
}

const HeardWorkers::Workers& Hearsay::known_to(fakes::NodeId writer) const {
    const auto past = taken_.contains(writer) ? past_.end() : past_.find(writer);
    return past == past_.end() ? heard_.of(writer) : past->second.known;
}

std::string Hearsay::wrong(fakes::NodeId writer, const std::string& worker, const NamedWorker& said) const {
    const auto taken = taken_.find(writer);
    const auto past = past_.find(writer);
    const Instant since = taken != taken_.end() ? taken->second
                          : past != past_.end() ? past->second.taken
                                                : Instant{present(), now_};
    const auto known = known_to(writer).find(worker);
    if (known == known_to(writer).end()) return "of which it has never heard";
    const auto reports = HeardWorkers::latest(known->second, {since.event, upcoming()});
    const auto its_own = [](const HeardWorkers::Report& report) { return report.routable && !report.hearsay; };
    if (std::ranges::none_of(reports, its_own)) return "which it knows only by hearsay";
    if (std::ranges::none_of(reports, [&](const HeardWorkers::Report& report) {
            return its_own(report) && report.perhaps_alive_until >= since.at;
        }))
        return fmt::format("of which the last sign of life was too old {} ms before",
                           engine::to_millis(since.at - reports.back().perhaps_alive_until));
    if (std::ranges::none_of(
            reports, [&](const HeardWorkers::Report& report) { return its_own(report) && same(said, report.facts); }))
        return "and says of it what that worker has not said last";
    return {};
}

bool Hearsay::knows_more_than_it_may_say(fakes::NodeId writer) const {
    return std::ranges::any_of(known_to(writer), [this](const auto& worker) {
        const HeardWorkers::Report& last = worker.second.back();
        return last.hearsay || last.perhaps_alive_until < now_;
    });
}

void Hearsay::hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string*,
                       std::string_view after) {
    const auto job = field == "ls_worker" && client.valid() ? job_of_hash(key) : std::nullopt;
    const auto since = job ? since_.find({client, std::string(*job)}) : since_.end();
    const auto known = heard_.of(client).find(after);
    if (since == since_.end() || known == heard_.of(client).end()) return;
    const auto reports = HeardWorkers::latest(known->second, {since->second.event, upcoming()});
    const bool by_hearsay =
        !reports.empty() && std::ranges::all_of(reports, [](const auto& report) { return report.hearsay; });
    if (!by_hearsay) return;
    exercise();
    const Time until = std::ranges::max(reports, {}, &HeardWorkers::Report::perhaps_alive_until).perhaps_alive_until;
    if (until < since->second.at)
        violated(
            client, *job,
            fmt::format("it goes to worker {}, of which only a snapshot has told, and that was too old {} ms before",
                        after, engine::to_millis(since->second.at - until)),
            reports.front().event);
}

void Hearsay::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal, const fakes::redis::Value&,
                          std::int64_t) {
    heard_.key_removed(key);
}

void Hearsay::restored(const fakes::redis::Keyspace&) { heard_.restored(); }

}  // namespace lockstep::sim
