#include "engine/runs/definition_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/config/json_positions.h"
#include "engine/runs/definition_slips.h"
#include "engine/wire/json_text.h"

namespace lockstep::engine {

using nlohmann::json;

namespace {

using Mistakes = std::vector<PlacedMistake>;

/// The readable half of the parser's message, which begins with its own name and a place in bytes.
std::string message_of(const json::exception& error) {
    const std::string text = error.what();
    for (const std::string_view mark : {": syntax error ", "] "}) {
        const auto start = text.find(mark);
        if (start != std::string::npos) return "expected JSON: " + text.substr(start + mark.size());
    }
    return "expected JSON: " + text;
}

tl::expected<json, Mistakes> parse(std::string_view text) {
    try {
        return wire::sound_json(text, wire::Comments::skipped);
    } catch (const json::parse_error& error) {
        const Position at = position_at(text, error.byte == 0 ? 0 : error.byte - 1);
        return tl::make_unexpected(Mistakes{{at.line, at.column, "", message_of(error)}});
    } catch (const json::exception& error) {  // a number that no double can hold
        return tl::make_unexpected(Mistakes{{0, 0, "", message_of(error)}});
    }
}

/// The place of a member, or of the nearest one around it that stands in the text.
Position place_of(std::string pointer, const Positions& positions) {
    while (true) {
        const auto found = positions.by_pointer.find(pointer);
        if (found != positions.by_pointer.end()) return found->second;
        const auto slash = pointer.rfind('/');
        if (slash == std::string::npos) return {};
        pointer.resize(slash);
    }
}

}  // namespace

std::string PlacedMistake::describe(std::string_view file) const {
    const std::string place = line == 0 ? std::string(file) : fmt::format("{}:{}:{}", file, line, column);
    return pointer.empty() ? fmt::format("{}: {}", place, message)
                           : fmt::format("{}: at {}: {}", place, pointer, message);
}

tl::expected<DefinitionText, Mistakes> read_definition_text(std::string_view text, const DefinitionLimits& limits,
                                                            std::optional<WallTime> now) {
    if (text.size() > kDefinitionBytesMax)
        return tl::make_unexpected(
            Mistakes{{0, 0, "", fmt::format("it has {} bytes, of at most {}", text.size(), kDefinitionBytesMax)}});
    auto document = parse(text);
    if (!document) return tl::make_unexpected(document.error());
    const Positions positions = locate(text);
    if (positions.too_deep)
        return tl::make_unexpected(
            Mistakes{{0, 0, "", fmt::format("expected at most {} levels of nesting", kNestingMax)}});

    Mistakes mistakes;
    for (const auto& twice : positions.duplicates)
        mistakes.push_back(
            {twice.again.line, twice.again.column, twice.pointer,
             fmt::format("this key stands in the same object twice, first in line {}", twice.first.line)});
    const auto add_to = [&](Mistakes& list, DefinitionMistake mistake) {
        const Position at = place_of(mistake.pointer, positions);
        list.push_back({at.line, at.column, std::move(mistake.pointer), std::move(mistake.message)});
    };
    const auto in_order = [](Mistakes& list) {
        std::ranges::sort(list, {}, [](const PlacedMistake& mistake) {
            return std::tie(mistake.line, mistake.column, mistake.pointer, mistake.message);
        });
    };
    for (DefinitionMistake& slip : slips_in(*document)) add_to(mistakes, std::move(slip));
    auto definition = read_definition(*document, limits);
    Mistakes warnings;
    if (definition) {
        DefinitionRemarks remarks = remarks_on(*document, *definition, now);
        for (DefinitionMistake& refused : remarks.refused) add_to(mistakes, std::move(refused));
        for (DefinitionMistake& warning : remarks.warnings) add_to(warnings, std::move(warning));
        in_order(warnings);
    } else {
        for (DefinitionMistake& mistake : definition.error()) add_to(mistakes, std::move(mistake));
    }
    if (mistakes.empty()) return DefinitionText{std::move(*document), std::move(*definition), std::move(warnings)};
    in_order(mistakes);
    return tl::make_unexpected(std::move(mistakes));
}

}  // namespace lockstep::engine
