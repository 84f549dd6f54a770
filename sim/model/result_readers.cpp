#include "sim/model/result_readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/wire/messages.h"
#include "sim/model/job.h"

namespace lockstep::sim {

namespace {

/// Schedulers and workflow engines keep no list: what they read shows in the job and in its run.
constexpr bool has_no_list(std::string_view durable) {
    return is_schedulers_results(durable) || durable == kWorkflowsResults;
}

fakes::JobNumber number_of(const Job* job) { return job == nullptr ? 0 : job->number; }

}  // namespace

void ResultReaders::stored(const fakes::Event& event, const Job* job, EventNumber present) {
    // A server that has lost its power gives numbers out again.
    if (const auto known = results_.find(event.sequence); known != results_.end()) {
        std::ranges::for_each(known->second.readings, [this](Reading& reading) { finish(reading); });
        results_.erase(known);
    }
    if (event.packet == nullptr || !event.packet->has_job_result()) return;
    Result& result = results_[event.sequence];
    result.job = job;
    result.stored = present;
    for (const Consumer reader : readers_) {
        result.readings.push_back({.consumer = reader, .is_over = stalled_.contains(reader)});
        if (!result.readings.back().is_over) ++open_;
    }
}

void ResultReaders::delivered(const fakes::Event& event, const Job* job) {
    if (has_no_list(event.name)) return;
    const Consumer consumer = consumers_.number_of(event.name);
    stalled_.erase(consumer);
    if (readers_.insert(consumer).second) {
        for (auto& [sequence, result] : results_) result.readings.push_back({.consumer = consumer});
        open_ += results_.size();
    }
    unsettled_[consumer].insert(event.sequence);
    const Reading* reading = find(consumer, event.sequence);
    if (reading == nullptr) return;
    const auto [entry, is_first] = in_flight_.try_emplace(place_of(event));
    InFlight& known = entry->second;
    ++known.deliveries;
    // The replica may handle the earlier delivery, which came before the mark.
    known.marked_before = reading->is_marked && (is_first || known.marked_before);
    known.job = job;
}

std::optional<ResultReaders::Acknowledged> ResultReaders::acknowledged(const fakes::Event& event, EventNumber present) {
    const auto found = results_.find(event.sequence);
    if (found == results_.end()) return std::nullopt;
    Result& result = found->second;
    const Consumer consumer = consumers_.number_of(event.name);
    const auto is_other = [consumer](Consumer other) { return other != consumer; };
    const bool by_others_before = std::ranges::any_of(result.acknowledged_by, is_other);
    if (std::ranges::find(result.acknowledged_by, consumer) == result.acknowledged_by.end())
        result.acknowledged_by.push_back(consumer);
    Reading* reading = find(consumer, event.sequence);
    if (reading == nullptr) return std::nullopt;
    note_read(*reading, event.node, result.job, present);
    const auto delivery = in_flight_.find(place_of(event));
    const bool needs_mark = delivery != in_flight_.end() && !delivery->second.is_excused;
    requeued(event);
    return Acknowledged{event.sequence,   consumers_.name_of(consumer),     result.stored, reading->read,
                        by_others_before, needs_mark && !reading->is_marked};
}

void ResultReaders::requeued(const fakes::Event& event) {
    const auto delivery = in_flight_.find(place_of(event));
    if (delivery == in_flight_.end() || --delivery->second.deliveries > 0) return;
    const Job* job = delivery->second.job;
    in_flight_.erase(delivery);
    const bool has_more = std::ranges::any_of(in_flight_, [&](const auto& other) {
        return std::get<fakes::NodeId>(other.first) == event.node && other.second.job == job;
    });
    if (!has_more) listed_.erase({event.node, number_of(job)});
}

void ResultReaders::terminated(const fakes::Event& event) {
    requeued(event);
    if (Reading* reading = find(consumers_.find(event.name), event.sequence)) finish(*reading);
}

void ResultReaders::node_down(fakes::NodeId node) {
    std::erase_if(in_flight_, [node](const auto& entry) { return std::get<fakes::NodeId>(entry.first) == node; });
    std::erase_if(listed_, [node](const auto& entry) { return entry.first.first == node; });
}

void ResultReaders::settled(const fakes::Event& event) {
    if (const auto in_flight = unsettled_.find(consumers_.find(event.name)); in_flight != unsettled_.end())
        in_flight->second.erase(event.sequence);
}

void ResultReaders::leader_changed(std::int64_t max_in_flight) {
    for (const auto& [consumer, in_flight] : unsettled_)
        if (static_cast<std::int64_t>(in_flight.size()) >= max_in_flight) stalled_.insert(consumer);
    for (auto& [sequence, result] : results_)
        for (Reading& reading : result.readings) finish(reading);
}

void ResultReaders::power_cut() {
    results_.clear();
    unsettled_.clear();
    stalled_.clear();
    in_flight_.clear();
    listed_.clear();
    open_ = 0;
}

ResultReaders::Repeated ResultReaders::reads(fakes::NodeId node, const Job* job) {
    Repeated repeated;
    for (const auto& [place, delivery] : in_flight_) {
        const auto& [by, consumer, sequence] = place;
        if (by != node || delivery.job != job) continue;
        const Reading* reading = find(consumer, sequence);
        const bool was_read = reading != nullptr && delivery.marked_before && reading->is_marked;
        if (!was_read || delivery.is_excused) return {};
        repeated = {sequence, consumers_.name_of(consumer), reading->read};
    }
    return repeated;
}

void ResultReaders::listed(fakes::NodeId node, const Job* job) { ++listed_[{node, number_of(job)}]; }

void ResultReaders::marks(fakes::NodeId node, const ProcessedMark& mark, EventNumber present) {
    if (Reading* reading = find(consumers_.find(mark.durable), mark.sequence))
        note_read(*reading, node, results_.at(mark.sequence).job, present);
}

void ResultReaders::note_read(Reading& reading, fakes::NodeId node, const Job* job, EventNumber present) {
    const auto listed = listed_.find({node, number_of(job)});
    if (reading.read != 0 || listed == listed_.end()) return;
    if (--listed->second == 0) listed_.erase(listed);
    reading.read = present;
    finish(reading);
}

void ResultReaders::finish(Reading& reading) {
    if (!std::exchange(reading.is_over, true)) --open_;
}

void ResultReaders::redis_failed(fakes::NodeId node) {
    for (auto& [place, delivery] : in_flight_)
        if (std::get<fakes::NodeId>(place) == node) delivery.is_excused = true;
}

void ResultReaders::marked(const ProcessedMark& mark) {
    if (Reading* reading = find(consumers_.find(mark.durable), mark.sequence)) reading->is_marked = true;
}

void ResultReaders::unmarked(const ProcessedMark& mark) {
    const Consumer consumer = consumers_.find(mark.durable);
    Reading* reading = find(consumer, mark.sequence);
    if (reading == nullptr) return;
    reading->is_marked = false;
    for (auto& [place, delivery] : in_flight_)
        if (std::get<Consumer>(place) == consumer && std::get<Sequence>(place) == mark.sequence)
            delivery.is_excused = true;
}

void ResultReaders::restored(const fakes::redis::Keyspace& now) {
    // A mark of a result that was not read is that of an earlier message with its number.
    for (auto& [sequence, result] : results_)
        for (Reading& reading : result.readings)
            reading.is_marked = reading.read != 0 && now.find(fmt::format("{}{}:{}", kMarkPrefix, sequence,
                                                                          name_of(reading.consumer))) != nullptr;
    for (auto& [place, delivery] : in_flight_) delivery.is_excused = true;
}

ResultReaders::Reading* ResultReaders::find(Consumer consumer, Sequence sequence) {
    const auto result = results_.find(sequence);
    if (result == results_.end()) return nullptr;
    const auto found = std::ranges::find(result->second.readings, consumer, &Reading::consumer);
    return found == result->second.readings.end() ? nullptr : &*found;
}

}  // namespace lockstep::sim
