#include "prod/front/routing_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/wire/json_text.h"
#include "engine/wire/sha256.h"
#include "prod/front/durables.h"

namespace lockstep::prod {

namespace {

using engine::Outcome;
using nlohmann::json;

constexpr engine::Duration kAnswerTimeout = std::chrono::seconds(5);

struct RoutingRecord {
    std::string map;
    std::vector<std::string> cells;
    std::string file;
};

std::string record_text(const Routing& routing) {
    return engine::wire::json_text(json{{"map", routing.map.text()}, {"cells", routing.cells}, {"file", routing.file}});
}

std::string question_text(const Routing& routing) { return engine::wire::json_text(json{{"asks", routing.file}}); }

/// Of what a front that starts has asked: the file that it goes by.
std::optional<std::string> parse_question(const std::string& text) {
    const json document = engine::wire::read_json(text);
    if (!document.is_object() || !document.contains("asks") || !document["asks"].is_string()) return std::nullopt;
    return document["asks"].get<std::string>();
}

/// Nothing for what no front has written.
std::optional<RoutingRecord> parse_record(const std::string& text) {
    const json document = engine::wire::read_json(text);
    if (!document.is_object() || !document.contains("map") || !document["map"].is_string() ||
        !document.contains("cells") || !document["cells"].is_array())
        return std::nullopt;
    RoutingRecord record{.map = document["map"].get<std::string>(), .cells = {}, .file = {}};
    if (document.contains("file") && document["file"].is_string()) record.file = document["file"].get<std::string>();
    for (const json& cell : document["cells"])
        if (cell.is_string()) record.cells.push_back(cell.get<std::string>());
    return record;
}

engine::Task<Outcome<std::optional<engine::StoredMessage>>> read_next(engine::Bus& bus, const engine::Clock& clock,
                                                                      engine::StreamSequence from) {
    return bus.read_stream(std::string(engine::wire::kStreamSys), std::string(kSubjectRouting), from,
                           clock.in(kAnswerTimeout));
}

engine::Task<Outcome<engine::PublishAck>> write_down(engine::Bus& bus, const engine::Clock& clock, std::string text) {
    return bus.publish(std::string(kSubjectRouting), std::move(text), {}, clock.in(kAnswerTimeout));
}

/// The last one at or after `from`.
engine::Task<Outcome<std::optional<RoutingRecord>>> last_record(engine::Bus& bus, const engine::Clock& clock,
                                                                engine::StreamSequence from) {
    std::optional<RoutingRecord> last;
    while (true) {
        const auto next = co_await read_next(bus, clock, from);
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

Routing routing_of(const CellsFile& cells) {
    Routing routing{cells.map, {}, {}};
    std::string all = cells.map.text();
    for (const CellAddress& cell : cells.cells) {
        routing.cells.push_back(cell.name);
        all += fmt::format("\n{} {}", cell.name, cell.nats.url);
    }
    routing.file = engine::wire::sha256_hex(all).substr(0, 16);
    return routing;
}

engine::Task<Outcome<std::string>> find_other_front(engine::Bus& bus, const engine::Clock& clock, Routing routing) {
    const auto before = co_await last_record(bus, clock, engine::StreamSequence(1));
    if (!before.applied()) co_return before.failure_as<std::string>();
    if (!before.value() || before.value()->file == routing.file) co_return std::string();
    const auto asked = co_await write_down(bus, clock, question_text(routing));
    if (!asked.applied()) co_return asked.failure_as<std::string>();
    co_await clock.sleep(kFrontPatience);
    const auto after = co_await last_record(bus, clock, asked.value().sequence);
    if (!after.applied()) co_return after.failure_as<std::string>();
    if (!after.value() || after.value()->file == routing.file) co_return std::string();
    co_return fmt::format(
        "another front runs on this NATS and goes by another file, with the cells {}; all go by the same one: stop "
        "every "
        "front, change the file everywhere, start them",
        fmt::join(after.value()->cells, ", "));
}

engine::Task<Outcome<engine::Done>> RoutingWatch::record() {
    const auto written = co_await write_down(bus_, clock_, record_text(routing_));
    if (!written.applied()) co_return written.failure_as<engine::Done>();
    own_ = written.value().sequence;
    co_return engine::Done{};
}

engine::Task<Outcome<std::string>> RoutingWatch::look() {
    bool asked = false;
    while (true) {
        const auto next = co_await read_next(bus_, clock_, next_);
        if (!next.applied()) co_return next.failure_as<std::string>();
        if (!next.value()) break;
        next_ = next.value()->sequence.next();
        if (const auto question = parse_question(next.value()->payload)) asked = asked || *question != routing_.file;
        const auto record = parse_record(next.value()->payload);
        if (record && record->file != routing_.file && own_ < next.value()->sequence)
            co_return fmt::format(
                "another front on this NATS goes by another file since, with the cells {}; all go by the same one",
                fmt::join(record->cells, ", "));
    }
    if (!asked) co_return std::string();
    const auto answered = co_await record();
    if (!answered.applied()) co_return answered.failure_as<std::string>();
    co_return std::string();
}

engine::Task<Outcome<std::string>> find_unfinished_routing(engine::Bus& bus, const engine::Clock& clock,
                                                           Routing routing) {
    const std::vector<std::string>& cells = routing.cells;
    const auto record = co_await last_record(bus, clock, engine::StreamSequence(1));
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
    if (record.value()->map == routing.map.text()) co_return std::string();
    const auto submissions = co_await state_of(bus, clock, std::string(engine::wire::kSubjectSubmit));
    if (!submissions.applied()) co_return submissions.failure_as<std::string>();
    if (submissions.value().in_hand == 0) co_return std::string();
    co_return fmt::format(
        "the file routes otherwise than before, and {} submissions are in the hands of a front that went by the former "
        "one; stop every other front, or start with the former file once until lockstep_front_incoming is 0",
        submissions.value().in_hand);
}

}  // namespace lockstep::prod
