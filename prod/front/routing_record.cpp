#include "prod/front/routing_record.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "prod/front/durables.h"

namespace lockstep::prod {

namespace {

using engine::Outcome;
using nlohmann::json;

constexpr engine::Duration kAnswerTimeout = std::chrono::seconds(5);

struct RoutingRecord {
    std::string map;
    std::vector<std::string> cells;
};

std::string record_text(const CellMap& map, const std::vector<std::string>& cells) {
    return json{{"map", map.text()}, {"cells", cells}}.dump();
}

/// Nothing for what no front has written.
std::optional<RoutingRecord> parse_record(const std::string& text) {
    const json document = json::parse(text, nullptr, false);
    if (!document.is_object() || !document.contains("map") || !document["map"].is_string() ||
        !document.contains("cells") || !document["cells"].is_array())
        return std::nullopt;
    RoutingRecord record{.map = document["map"].get<std::string>(), .cells = {}};
    for (const json& cell : document["cells"])
        if (cell.is_string()) record.cells.push_back(cell.get<std::string>());
    return record;
}

engine::Task<Outcome<std::optional<RoutingRecord>>> last_record(engine::Bus& bus, const engine::Clock& clock) {
    std::optional<RoutingRecord> last;
    engine::StreamSequence from(1);
    while (true) {
        const auto next = co_await bus.read_stream(std::string(engine::wire::kStreamSys), std::string(kSubjectRouting),
                                                   from, clock.in(kAnswerTimeout));
        if (!next.applied()) co_return next.failure_as<std::optional<RoutingRecord>>();
        if (!next.value()) co_return last;
        if (auto record = parse_record(next.value()->payload)) last = std::move(record);
        from = next.value()->sequence.next();
    }
}

/// Of a durable that is not there: 0.
engine::Task<Outcome<engine::ConsumerState>> state_of(engine::Bus& bus, const engine::Clock& clock,
                                                      std::string subject) {
    const auto state = co_await bus.consumer_state(std::string(engine::wire::kStreamSys), front_durable(subject),
                                                   clock.in(kAnswerTimeout));
    if (!state.applied()) co_return state.failure_as<engine::ConsumerState>();
    co_return state.value().value_or(engine::ConsumerState{});
}

}  // namespace

engine::Task<Outcome<std::string>> find_unfinished_routing(engine::Bus& bus, const engine::Clock& clock, CellMap map,
                                                           std::vector<std::string> cells) {
    const auto record = co_await last_record(bus, clock);
    if (!record.applied()) co_return record.failure_as<std::string>();
    if (!record.value()) co_return std::string();
    for (const std::string& cell : record.value()->cells) {
        if (std::ranges::find(cells, cell) != cells.end()) continue;
        const auto line = co_await state_of(bus, clock, line_subject(cell));
        if (!line.applied()) co_return line.failure_as<std::string>();
        if (const auto left = line.value().waiting + line.value().in_hand; left > 0)
            co_return fmt::format(
                "cell {} is not in the file any more, and {} submissions stand in its line; keep it there until "
                "lockstep_front_waiting is 0 (with no tenants and \"dedicated: true\" nothing more comes)",
                cell, left);
    }
    if (record.value()->map == map.text()) co_return std::string();
    const auto submissions = co_await state_of(bus, clock, std::string(engine::wire::kSubjectSubmit));
    if (!submissions.applied()) co_return submissions.failure_as<std::string>();
    if (submissions.value().in_hand == 0) co_return std::string();
    co_return fmt::format(
        "the file routes otherwise than before, and {} submissions are in the hands of a front that went by the former "
        "one; stop every other front, or start with the former file once until lockstep_front_incoming is 0",
        submissions.value().in_hand);
}

engine::Task<Outcome<engine::Done>> record_routing(engine::Bus& bus, const engine::Clock& clock, CellMap map,
                                                   std::vector<std::string> cells) {
    const auto written =
        co_await bus.publish(std::string(kSubjectRouting), record_text(map, cells), {}, clock.in(kAnswerTimeout));
    if (!written.applied()) co_return written.failure_as<engine::Done>();
    co_return engine::Done{};
}

}  // namespace lockstep::prod
