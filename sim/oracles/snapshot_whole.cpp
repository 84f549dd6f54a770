#include "sim/oracles/snapshot_whole.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/model/job_keys.h"
#include "sim/model/snapshot_text.h"

namespace lockstep::sim {

namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr std::string_view kWriterLock = "cordum:scheduler:snapshot:writer";
constexpr engine::Duration kOldest = 20s;

bool is_worker(const Json& worker) {
    if (!worker.is_object() || !worker.contains("worker_id") || !worker["worker_id"].is_string()) return false;
    return !worker["worker_id"].get_ref<const std::string&>().empty() && worker.contains("pool") &&
           worker["pool"].is_string() && worker.contains("active_jobs") && worker["active_jobs"].is_number_integer() &&
           worker.contains("max_parallel_jobs") && worker["max_parallel_jobs"].is_number_integer();
}

/// What is wrong with the document; empty: nothing.
std::string flaw_of(const Json& document) {
    if (!document.is_object()) return "it is no JSON object";
    if (!document.contains("workers") || !document["workers"].is_array()) return "it has no list of workers";
    if (!std::ranges::all_of(document["workers"], is_worker)) return "one of its workers lacks what a gateway reads";
    if (!document.contains("captured_at") || !document["captured_at"].is_string())
        return "it does not say when it was captured";
    if (!seconds_of(document["captured_at"].get_ref<const std::string&>())) return "its time cannot be read";
    return {};
}

/// An error reply is an answer, and not one that lets the replica do its work: the server is out of memory, or still loading.
bool got_through(const fakes::Event& answered) {
    const bool refused = answered.payload.starts_with('-') && !answered.payload.starts_with("-NOSCRIPT");
    return answered.outcome == fakes::EventOutcome::applied && !refused;
}

}  // namespace

void SnapshotWhole::string_set(fakes::NodeId client, std::string_view key, const std::string*, std::string_view after,
                               std::int64_t, std::int64_t expires_at) {
    if (key != kWorkerSnapshot) return;
    if (!client.valid()) {  // a fault, which no replica can help; it is owed anew
        change_ = Change();
        return;
    }
    // Whoever was held up has lost its lock, and may have been overtaken.
    if (holder_.valid() && holder_ != client)
        violated(client, {}, "the worker snapshot is written by one replica while another holds its lock", locked_);
    const Json document = Json::parse(after, nullptr, false);
    if (const std::string flaw = flaw_of(document); !flaw.empty()) {
        violated(client, {}, fmt::format("the worker snapshot is not whole: {}", flaw));
        return;
    }
    // The key's expiry tells what the clock of Redis shows.
    const engine::Duration redis_clock = std::chrono::milliseconds(expires_at) - tunables_.data_ttl;
    const auto captured = *seconds_of(document["captured_at"].get_ref<const std::string&>());
    change_ = Change{client, std::max<engine::Duration>(redis_clock - captured, 0s)};
    if (captured < said_ && !clocks_jumped_)
        violated(client, {},
                 fmt::format("the worker snapshot gives way to one that was captured {} s before it",
                             (said_ - captured).count()),
                 written_);
    said_ = captured;
}

void SnapshotWhole::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal, const fakes::redis::Value&,
                                std::int64_t) {
    if (key == kWorkerSnapshot) change_ = Change();
}

void SnapshotWhole::restored(const fakes::redis::Keyspace&) {
    change_ = Change();
    holder_ = {};
    said_ = {};
}

void SnapshotWhole::on_event(const fakes::Event& event, Time now) {
    if (change_) settle(*change_, now);
    change_.reset();
    follow(event, now);
    if (now - captured_ > limit(now) && !told_) judge_age(now);
}

void SnapshotWhole::settle(const Change& change, Time now) {
    captured_ = now - change.age;
    written_ = present();
    told_ = false;
    if (!change.writer.valid()) return;
    if (last_writer_.valid() && last_writer_ != change.writer) exercise();
    last_writer_ = change.writer;
    lost_locks_ = 0;
}

void SnapshotWhole::follow(const fakes::Event& event, Time now) {
    using enum fakes::EventKind;
    switch (event.kind) {
        case redis: {
            if (event.when != fakes::When::answered) return;
            Replica& replica = replicas_[event.node];
            if (is_tick_lock(event.key) && !std::exchange(replica.known, true)) replica.reaches_since.reset();
            if (!got_through(event))
                replica.reaches_since.reset();
            else if (!replica.reaches_since && !replica.paused)
                replica.reaches_since = now;
            return;
        }
        case fault:
            if (event.name == "clock_jump") clocks_jumped_ = true;
            return;
        case node_down:
            if (const auto found = replicas_.find(event.node); found != replicas_.end()) found->second = Replica();
            return;
        case paused:
        case resumed:
            // The step in which the pause strikes is taken to its end.
            if (const auto found = replicas_.find(event.node); found != replicas_.end()) {
                found->second.paused = event.kind == paused;
                found->second.reaches_since.reset();
            }
            return;
        case connection_broken:
            for (const fakes::NodeId node : {event.node, event.peer}) {
                if (const auto found = replicas_.find(node); found != replicas_.end())
                    found->second.reaches_since.reset();
            }
            return;
        case lock_expired:
            if (event.key != kWriterLock) return;
            ++lost_locks_;
            locked_since_.reset();
            holder_ = {};
            exercise();
            return;
        case lock_acquired:
            if (event.key != kWriterLock) return;
            locked_since_ = now;
            holder_ = event.node;
            locked_ = present();
            return;
        case lock_released:
            if (event.key != kWriterLock) return;
            locked_since_.reset();
            holder_ = {};
            return;
        default: return;
    }
}

void SnapshotWhole::judge_age(Time now) {
    for (const auto& [node, replica] : replicas_) {
        if (!replica.known || !replica.reaches_since || now - *replica.reaches_since <= limit(now)) continue;
        told_ = true;
        violated(node, {},
                 fmt::format("the worker snapshot is {} ms old, and this replica has reached Redis for {} ms",
                             engine::to_millis(now - captured_), engine::to_millis(now - *replica.reaches_since)),
                 written_);
        return;
    }
}

engine::Duration SnapshotWhole::limit(Time now) const {
    // 20 s with the documented values.
    const engine::Duration held_up = tunables_.snapshot_lock_ttl + tunables_.snapshot_interval;
    const engine::Duration oldest = std::max(kOldest, held_up + tunables_.snapshot_interval);
    // A holder that has not written by now will not: it has lost its answer, or could not write.
    const bool being_lost = locked_since_ && now - *locked_since_ > tunables_.store_op_timeout;
    const int lost = lost_locks_ + (being_lost ? 1 : 0);
    return oldest + tunables_.store_op_timeout + kCapturedAtPrecision + std::max(lost - 1, 0) * held_up;
}

}  // namespace lockstep::sim
