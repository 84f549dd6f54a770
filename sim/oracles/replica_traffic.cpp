#include "sim/oracles/replica_traffic.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace lockstep::sim {

void ReplicaTraffic::add(Sending sending) {
    const std::uint64_t number = forgotten_ + sendings_.size();
    if (sending.worker.empty()) {
        for_nobody_known_.push_back(number);
    } else {
        workers_[sending.worker].sendings.push_back(number);
    }
    sendings_.push_back(std::move(sending));
    changed(number);
}

std::optional<std::uint64_t> ReplicaTraffic::latest_of(std::string_view job) const {
    const auto found = std::find_if(sendings_.rbegin(), sendings_.rend(), [job](const Sending& candidate) {
        return candidate.job == job && !candidate.worker.empty();
    });
    if (found == sendings_.rend()) return std::nullopt;
    return forgotten_ + static_cast<std::uint64_t>(sendings_.rend() - found) - 1;
}

const ReplicaTraffic::Sending* ReplicaTraffic::changed(std::uint64_t number) {
    const Sending& sending = numbered(number);
    if (sending.worker.empty()) return &sending;
    auto& unsure = workers_[sending.worker].unsure;
    if (sending.sent == 0 || sending.doubtful)
        unsure.insert(number);
    else
        unsure.erase(number);
    return &sending;
}

const ReplicaTraffic::Sending* ReplicaTraffic::mark_sent(std::string_view job, EventNumber when) {
    const auto number = latest_of(job);
    if (!number) return nullptr;
    sendings_[*number - forgotten_].sent = when;
    return changed(*number);
}

const ReplicaTraffic::Sending* ReplicaTraffic::mark_doubtful(std::string_view job) {
    const auto number = latest_of(job);
    if (!number) return nullptr;
    sendings_[*number - forgotten_].doubtful = true;
    return changed(*number);
}

bool ReplicaTraffic::has_unrecorded(std::string_view job) const {
    return std::ranges::any_of(
        uncounted_, [job](const End& end) { return end.answerable && end.command.empty() && end.job == job; });
}

void ReplicaTraffic::recorded(std::string_view job, std::string_view command, bool awaited) {
    for (End& end : uncounted_) {
        if (!end.answerable || !end.command.empty() || end.job != job) continue;
        end.command = command;
        end.answerable = awaited;
    }
}

void ReplicaTraffic::answered(std::string_view job, std::string_view command, bool applied, Time now) {
    for (End& end : uncounted_) {
        if (!end.answerable || end.job != job || end.command != command) continue;
        end.answerable = applied;
        if (!applied) continue;
        end.counted = now;
        workers_[end.worker].counted.push_back(end);
    }
    if (applied) std::erase_if(uncounted_, [](const End& end) { return end.counted.has_value(); });
}

ReplicaTraffic::Count ReplicaTraffic::since(const WorkerReport& said, const std::string& worker,
                                            const Moment& moment) const {
    Count count;
    if (const auto known = workers_.find(worker); known != workers_.end()) {
        count_sent(said, known->second, moment, count);
        for (const End& end : known->second.counted | std::views::reverse) {
            if (*end.counted < said.at) break;
            count_end(said, end, moment, count);
        }
    }
    count_unknown(said, moment, count);
    for (const End& end : uncounted_)
        if (end.worker == worker) count_end(said, end, moment, count);
    return count;
}

void ReplicaTraffic::count_sent(const WorkerReport& said, const OfWorker& worker, const Moment& moment,
                                Count& count) const {
    const Window& window = moment.window;
    for (const std::uint64_t number : worker.sendings | std::views::reverse) {
        const Sending& sending = numbered(number);
        // A worker's word starts the count anew.
        if (sending.last <= said.event) break;
        if (sending.first > window.to) continue;
        const bool sure = sending.sent != 0 && !sending.doubtful;
        ++count.perhaps_sent;
        if (sure && sending.first > said.event && sending.last < window.from) ++count.surely_sent;
    }
    for (const std::uint64_t number : worker.unsure) {
        const Sending& sending = numbered(number);
        if (sending.first <= window.to && sending.first <= said.event) ++count.perhaps_taken_off;
    }
}

void ReplicaTraffic::count_unknown(const WorkerReport& said, const Moment& moment, Count& count) const {
    for (const std::uint64_t number : for_nobody_known_) {
        const Sending& sending = numbered(number);
        if (sending.first > moment.window.to) continue;
        if (sending.first <= said.event) ++count.perhaps_taken_off;
        const bool off_again = sending.last < moment.window.from && sending.until < moment.from;
        const bool before = sending.last <= said.event && sending.until < said.at;
        if (!before && !off_again) ++count.perhaps_sent;
    }
}

void ReplicaTraffic::count_end(const WorkerReport& said, const End& end, const Moment& moment, Count& count) {
    if (end.first > moment.window.to) return;
    ++count.perhaps_ended;
    if (end.counted && *end.counted > said.at && *end.counted < moment.from) ++count.surely_ended;
}

void ReplicaTraffic::forget_before(Time too_old) {
    for (; !sendings_.empty() && sendings_.front().at < too_old; ++forgotten_) {
        if (sendings_.front().worker.empty()) {
            for_nobody_known_.pop_front();
        } else {
            OfWorker& worker = workers_[sendings_.front().worker];
            worker.unsure.erase(worker.sendings.front());
            worker.sendings.pop_front();
        }
        sendings_.pop_front();
    }
    for (auto& [name, worker] : workers_)
        while (!worker.counted.empty() && *worker.counted.front().counted < too_old) worker.counted.pop_front();
    std::erase_if(uncounted_, [too_old](const End& end) { return end.at < too_old; });
}

}  // namespace lockstep::sim
