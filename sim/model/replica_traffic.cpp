#include "sim/model/replica_traffic.h"

#include <algorithm>
#include <ranges>

#include "sim/model/weather.h"

namespace lockstep::sim {

namespace {

auto latest_of(auto& sendings, const Job* job) {
    const auto found =
        std::find_if(sendings.rbegin(), sendings.rend(), [job](const auto& one) { return one.job == job; });
    return found == sendings.rend() ? sendings.end() : std::prev(found.base());
}

}  // namespace

void ReplicaTraffic::chosen(WorkerNumber worker, const Job* job, EventNumber first, Since recorded) {
    at(worker).unsure.push_back({.job = job, .first = first, .last = recorded});
}

void ReplicaTraffic::sent(WorkerNumber worker, const Job* job) {
    auto& [sure, unsure, counted] = at(worker);
    const auto found = latest_of(unsure, job);
    const auto in_sure = latest_of(sure, job);
    // The same dispatch once more.
    const bool was_sent = in_sure != sure.end() && found != unsure.end() && found->last.event < in_sure->last.event;
    if (found == unsure.end() || was_sent) return;
    found->is_sent = true;
    if (found->is_doubtful) return;
    const auto newer = std::find_if(sure.rbegin(), sure.rend(),
                                    [&](const Sending& one) { return one.last.event <= found->last.event; });
    sure.insert(newer.base(), *found);
    unsure.erase(found);
}

std::optional<ReplicaTraffic::Sending> ReplicaTraffic::doubt(WorkerNumber worker, const Job* job) {
    auto& [sure, unsure, counted] = at(worker);
    const auto in_sure = latest_of(sure, job);
    auto in_unsure = latest_of(unsure, job);
    if (in_sure == sure.end() && in_unsure == unsure.end()) return std::nullopt;
    if (in_sure != sure.end() && (in_unsure == unsure.end() || in_unsure->last.event < in_sure->last.event)) {
        unsure.push_back(*in_sure);
        sure.erase(in_sure);
        in_unsure = std::prev(unsure.end());
    }
    const Sending before = *in_unsure;
    in_unsure->is_doubtful = true;
    return before;
}

void ReplicaTraffic::recorded(const Job* job, StateReads::CallKind call, bool awaited) {
    for (End& end : uncounted_) {
        if (!end.answerable || end.call != 0 || end.job != job) continue;
        end.call = call;
        end.answerable = awaited;
    }
}

void ReplicaTraffic::answered(const Job* job, StateReads::CallKind call, bool applied, Time now) {
    for (End& end : uncounted_) {
        if (!end.answerable || end.job != job || end.call != call) continue;
        end.answerable = applied;
        if (!applied) continue;
        end.counted = now;
        at(end.worker).counted.push_back(end);
    }
    if (applied) std::erase_if(uncounted_, [](const End& end) { return end.counted.has_value(); });
}

ReplicaTraffic::Load ReplicaTraffic::load(WorkerNumber worker, const WorkerReport& said, const Choice& choice,
                                          engine::Duration unaware_for) const {
    static const OfWorker kNothing;
    const OfWorker& of = worker < workers_.size() ? workers_[worker] : kNothing;
    std::int64_t surely_sent = 0, perhaps_sent = 0, surely_ended = 0, perhaps_ended = 0;
    // What was counted before the report, and has come to nothing since, is taken off what has been sent since.
    std::int64_t perhaps_taken_off = 0;
    for (const Sending& sending : of.sure | std::views::reverse) {
        if (sending.last.event <= said.event) break;  // a report starts the count anew
        if (sending.first > choice.to) continue;
        ++perhaps_sent;
        if (sending.first > said.event && sending.last.event < choice.from) ++surely_sent;
    }
    for (const Sending& sending : of.unsure) {
        if (sending.first > choice.to || sending.last.event > choice.made) continue;
        if (sending.first <= said.event) ++perhaps_taken_off;
        if (sending.last.event > said.event) ++perhaps_sent;
    }
    for (const Lost& lost : lost_) {
        if (lost.first > choice.to) continue;
        if (lost.first <= said.event) ++perhaps_taken_off;
        const Time until = lost.knows ? kBeforeAll : lost.lost.at + unaware_for;
        const bool is_off_again = lost.lost.event < choice.from && until < choice.from_at;
        const bool is_before = lost.lost.event <= said.event && until < said.at;
        if (!is_before && !is_off_again) ++perhaps_sent;
    }
    for (const EventNumber since : choice.undecided) {
        ++perhaps_sent;
        if (since <= said.event) ++perhaps_taken_off;
    }
    const auto count_end = [&](const End& end) {
        if (end.recorded.event > choice.to) return;
        ++perhaps_ended;
        if (end.counted && *end.counted > said.at && *end.counted < choice.from_at) ++surely_ended;
    };
    for (const End& end : of.counted | std::views::reverse) {
        if (*end.counted < said.at) break;
        count_end(end);
    }
    for (const End& end : uncounted_)
        if (end.worker == worker) count_end(end);
    const std::int64_t active = said.facts.active_jobs;
    surely_sent = std::max<std::int64_t>(0, surely_sent - perhaps_taken_off);
    return {std::max<std::int64_t>(0, active + surely_sent - perhaps_ended),
            std::max<std::int64_t>(0, active + perhaps_sent - surely_ended)};
}

void ReplicaTraffic::forget_before(Time too_old) {
    const auto is_old = [too_old](const Sending& sending) { return sending.last.at < too_old; };
    for (OfWorker& worker : workers_) {
        while (!worker.sure.empty() && is_old(worker.sure.front())) worker.sure.pop_front();
        std::erase_if(worker.unsure, is_old);
        while (!worker.counted.empty() && *worker.counted.front().counted < too_old) worker.counted.pop_front();
    }
    while (!lost_.empty() && lost_.front().lost.at < too_old) lost_.pop_front();
    std::erase_if(uncounted_, [too_old](const End& end) { return end.recorded.at < too_old; });
}

}  // namespace lockstep::sim
