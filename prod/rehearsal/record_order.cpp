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
        taps_[tap].push_back(std::move(record));
    }
}

std::optional<Record> RecordOrder::next(engine::WallTime until) {
    std::deque<Record>* first = nullptr;
    for (std::deque<Record>& tap : taps_) {
        if (tap.empty() || taken_at(tap.front()) > until) continue;
        if (first == nullptr || taken_at(tap.front()) < taken_at(first->front())) first = &tap;
    }
    if (first == nullptr) return std::nullopt;
    std::optional<Record> record(std::move(first->front()));
    first->pop_front();
    return record;
}

}  // namespace lockstep::prod::rehearsal
