#include "prod/rehearsal/record_order.h"

#include <utility>

namespace lockstep::prod::rehearsal {

engine::WallTime taken_at(const Record& record) {
    const std::int64_t micros = std::visit([](const auto& one) { return one.at_us; }, record);
    return engine::WallTime(std::chrono::microseconds(micros));
}

void RecordOrder::add(std::deque<Record> records) {
    for (Record& record : records) {
        const std::size_t tap = record.index();
        if (const auto* message = std::get_if<BusMessage>(&record)) early_.emplace_back(*message).is_early = true;
        taps_[tap].push_back(std::move(record));
    }
}

std::optional<Record> RecordOrder::next(engine::WallTime until) {
    const auto take = [](auto& from) {
        std::optional<Record> record(std::move(from.front()));
        from.pop_front();
        return record;
    };
    std::deque<Record>* first = nullptr;
    for (std::deque<Record>& tap : taps_) {
        if (tap.empty()) continue;
        const auto* line = std::get_if<MonitorLine>(&tap.front());
        if (line != nullptr && line->inside_script()) return take(tap);
        if (taken_at(tap.front()) > until) continue;
        if (first == nullptr || taken_at(tap.front()) < taken_at(first->front())) first = &tap;
    }
    if (!early_.empty()) return take(early_);
    return first == nullptr ? std::nullopt : take(*first);
}

}  // namespace lockstep::prod::rehearsal
