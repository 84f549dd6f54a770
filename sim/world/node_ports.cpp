#include "sim/world/node_ports.h"

#include <fmt/format.h>

#include <iterator>
#include <type_traits>

namespace lockstep::sim {

void NodeLog::reached(std::string_view name) {
    const auto mark = marks_.find(name);
    if (mark != marks_.end()) {
        ++mark->second;
    } else {
        marks_.emplace(name, 1);
    }
    fakes::Event event;
    event.kind = fakes::EventKind::reached;
    event.node = node_;
    event.name = name;
    trace_.emit(event);
}

void NodeLog::write(engine::LogLevel level, std::string_view message, std::initializer_list<engine::LogField> fields) {
    std::string text;
    for (const engine::LogField& field : fields) {
        if (!text.empty()) text += ' ';
        std::visit([&](const auto& value) { fmt::format_to(std::back_inserter(text), "{}={}", field.key, value); },
                   field.value);
    }
    fakes::Event event;
    event.kind = fakes::EventKind::log;
    event.node = node_;
    event.name = message;
    event.number = static_cast<std::int64_t>(level);
    event.payload = text;
    trace_.emit(event);
}

}  // namespace lockstep::sim
