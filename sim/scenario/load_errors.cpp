#include "sim/scenario/load_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/wire/json_text.h"
#include "sim/scenario/parsed_file.h"

namespace lockstep::sim {

namespace {

using nlohmann::json;

/// The readable half of the parser's message, which begins with its own name and a place in bytes.
std::string syntax_message(const json::exception& error) {
    const std::string text = error.what();
    for (const std::string_view mark : {": syntax error ", "] "}) {
        const auto start = text.find(mark);
        if (start != std::string::npos) return "expected JSON: " + text.substr(start + mark.size());
    }
    return "expected JSON: " + text;
}

}  // namespace

void LoadErrors::at_offset(std::size_t offset, std::string message) {
    const engine::Position position = engine::position_at(text_, offset);
    errors_.push_back({file_, "", std::move(message), position.line, position.column});
}

void LoadErrors::plain(std::string message) { errors_.push_back({file_, "", std::move(message), 0, 0}); }

void LoadErrors::add(const Finding& finding, const engine::Positions& positions,
                     const std::map<std::string, std::string>& overridden) {
    LoadError error{file_, finding.pointer, finding.message, 0, 0};
    for (const auto& [pointer, origin] : overridden) {
        if (finding.pointer != pointer && !finding.pointer.starts_with(pointer + "/")) continue;
        error.expected += fmt::format(" ({})", origin);
        errors_.push_back(std::move(error));
        return;
    }
    const auto found = positions.by_pointer.find(finding.pointer);
    if (found != positions.by_pointer.end()) {
        error.line = found->second.line;
        error.column = found->second.column;
    }
    errors_.push_back(std::move(error));
}

void LoadErrors::add(const std::vector<Finding>& findings, const engine::Positions& positions,
                     const std::map<std::string, std::string>& overridden) {
    for (const Finding& finding : findings) add(finding, positions, overridden);
}

std::optional<LoadErrors::Parsed> LoadErrors::parse() {
    Parsed parsed;
    try {
        parsed.document = engine::wire::sound_json(text_, engine::wire::Comments::skipped);
    } catch (const json::parse_error& error) {
        at_offset(error.byte == 0 ? 0 : error.byte - 1, syntax_message(error));
        return std::nullopt;
    } catch (const json::exception& error) {  // a number that no double can hold
        plain(syntax_message(error));
        return std::nullopt;
    }
    parsed.positions = engine::locate(text_);
    if (parsed.positions.too_deep) {
        plain(fmt::format("expected at most {} levels of nesting", engine::kNestingMax));
        return std::nullopt;
    }
    for (const auto& twice : parsed.positions.duplicates)
        add(Finding{twice.pointer,
                    fmt::format("this key stands in the same object twice: lines {} and {}", twice.first.line,
                                twice.again.line),
                    false},
            parsed.positions);
    return parsed;
}

std::vector<LoadError> LoadErrors::take() {
    std::ranges::sort(errors_, {}, [](const LoadError& error) {
        return std::tie(error.line, error.column, error.pointer, error.expected);
    });
    return std::move(errors_);
}

}  // namespace lockstep::sim
