#include "sim/oracles/output_scans.h"

#include <fmt/core.h>

#include "engine/wire/messages.h"
#include "engine/wire/text.h"
#include "sim/model/job_keys.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

using namespace std::chrono_literals;
using engine::Duration;
using fakes::EventKind;
using fakes::EventOutcome;
using fakes::When;

constexpr std::string_view kMarkOfScan = "ls_scan_pending";
constexpr std::string_view kScansDue = "lockstep:output:scan_pending";
constexpr std::string_view kOutputKeys = "res:";
constexpr std::string_view kSchemeOfOutputs = "redis://";

constexpr int kTriesOfScan = 3;
constexpr Duration kPausesOfScan = 3s;
constexpr Duration kLookedFor = 500ms;
/// Clocks of a cluster go a little differently.
constexpr Duration a_little_less(Duration duration) { return duration - duration / 16; }

}  // namespace

std::string OutputScans::on_event(const fakes::Event& event, Time now) {
    if (event.kind == EventKind::lock_acquired && !event.job.empty())
        under_lock_[std::string(event.job)].insert(event.node);
    if (event.kind == EventKind::node_down) {
        for (auto& [job, scan] : scans_) scan.claims.erase(event.node);
        for (auto& [job, holders] : under_lock_) holders.erase(event.node);
    }
    if (event.kind != EventKind::output_check) return {};
    if (event.when == When::before) return on_question(event, now);
    const auto scan = event.when == When::answered ? scans_.find(event.job) : scans_.end();
    if (scan == scans_.end()) return {};
    const auto claim = scan->second.claims.find(event.node);
    if (claim == scan->second.claims.end()) return {};
    if (event.outcome == EventOutcome::applied)
        claim->second.heard = true;
    else
        ++claim->second.tries;
    return {};
}

std::string OutputScans::on_question(const fakes::Event& event, Time now) {
    const auto holders = under_lock_.find(event.job);
    const bool about_a_result = holders != under_lock_.end() && holders->second.erase(event.node) == 1;
    const auto found = scans_.find(event.job);
    if (found == scans_.end() || !listed_.contains(event.job) || found->second.changed) return {};
    const auto claim = found->second.claims.find(event.node);
    if (claim == found->second.claims.end() && about_a_result) return {};
    if (claim == found->second.claims.end()) return "its output is scanned by a replica that has not claimed that";
    cap_output::OutputCheckRequest asked;
    if (!asked.ParseFromArray(event.payload.data(), static_cast<int>(event.payload.size()))) return {};
    const std::string_view pointer = engine::wire::trim(asked.result_ptr());
    if (!asked.output_content().empty() || !pointer.starts_with(kSchemeOfOutputs)) return {};
    const std::string_view key = pointer.substr(kSchemeOfOutputs.size());
    if (!key.starts_with(kOutputKeys) || outputs_.contains(key)) return {};
    const Duration passed = now - claim->second.since;
    if (passed >= a_little_less(kLookedFor)) return {};
    return fmt::format("its output counts as none {} ms after its scan was begun", engine::to_millis(passed));
}

std::string OutputScans::given_up(fakes::NodeId replica, std::string_view job, Time now) const {
    const auto found = scans_.find(job);
    if (found == scans_.end() || found->second.changed) return {};
    const auto known = found->second.claims.find(replica);
    if (known == found->second.claims.end() || known->second.heard) return {};
    const Claim& claim = known->second;
    const Duration passed = now - claim.since;
    const bool circuit_waited_for = passed >= a_little_less(2 * tunables_.circuit_open_for);
    if (circuit_waited_for) return {};
    if (passed < a_little_less(kPausesOfScan))
        return fmt::format(
            "the scan of its output is given up {} ms after it was begun, and it is to be tried {} times",
            engine::to_millis(passed), kTriesOfScan);
    // What cannot be read, or asked for want of the store, is a try as well.
    if (claim.tries >= kTriesOfScan || !weather_.clear_for(replica, claim.since)) return {};
    return fmt::format(
        "the scan of its output is given up after {} ms and {} questions without an answer, and nothing "
        "has disturbed its replica or Redis: three are asked, or an open circuit is waited for",
        engine::to_millis(passed), claim.tries);
}

void OutputScans::over(std::string_view job) {
    const auto found = scans_.find(job);
    if (found != scans_.end()) scans_.erase(found);
    if (const auto listed = listed_.find(job); listed != listed_.end()) listed_.erase(listed);
}

void OutputScans::change(std::string_view job) {
    const auto found = scans_.find(job);
    if (found != scans_.end()) found->second.changed = true;
}

void OutputScans::hash_set(fakes::NodeId client, std::string_view key, std::string_view field) {
    const auto job = field == kMarkOfScan ? job_of_hash(key) : std::nullopt;
    if (!job || begun_before_a_loss_.contains(*job)) return;
    Scan& scan = scans_[std::string(*job)];
    scan = {};
    scan.changed = !is_scheduler(client) || requests_gone_.contains(*job);
    if (is_scheduler(client)) scan.claims.emplace(client, Claim{now_});
}

void OutputScans::zset_set(fakes::NodeId client, std::string_view key, std::string_view member) {
    if (key != kScansDue) return;
    listed_.emplace(member);  // before or after its mark
    const auto found = scans_.find(member);
    if (found == scans_.end()) return;
    if (!is_scheduler(client)) {
        found->second.changed = true;
        return;
    }
    // Whoever is at it and claims it again goes on.
    found->second.claims.try_emplace(client, Claim{now_});
}

void OutputScans::string_set(fakes::NodeId client, std::string_view key) {
    if (key.starts_with(kOutputKeys)) outputs_.emplace(key);
    // Under another request it is judged anew, and one that nobody can read is not asked about.
    if (!key.starts_with(kRequestPrefix)) return;
    const std::string_view job = key.substr(kRequestPrefix.size());
    if (const auto gone = requests_gone_.find(job); gone != requests_gone_.end()) requests_gone_.erase(gone);
    if (!is_scheduler(client)) change(job);
}

void OutputScans::key_removed(std::string_view key) {
    if (key.starts_with(kRequestPrefix)) {
        const std::string_view job = key.substr(kRequestPrefix.size());
        requests_gone_.emplace(job);
        change(job);
    }
    if (key == kScansDue)
        for (auto& [job, scan] : scans_) scan.changed = true;
    if (const auto job = job_of_hash(key)) over(*job);
}

void OutputScans::restored() {
    for (const auto& [job, scan] : scans_) begun_before_a_loss_.emplace(job);
    scans_.clear();
    listed_.clear();
}

}  // namespace lockstep::sim
