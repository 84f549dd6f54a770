#include "engine/store/script_text.h"

#include <fmt/core.h>

#include <cstddef>
#include <functional>
#include <set>
#include <vector>

namespace lockstep::engine {

namespace {

constexpr std::string_view kLocal = "local ";
constexpr std::string_view kFunction = "function ";

bool in_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

using Names = std::set<std::string, std::less<>>;

/// Calls `take` with each line, without its end.
template <typename Take>
void each_line(std::string_view text, Take take) {
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        take(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
}

void add_names(std::string_view line, Names& names) {
    line = line.substr(0, line.find("--"));
    while (!line.empty()) {
        std::size_t end = 0;
        while (end < line.size() && in_name(line[end])) ++end;
        if (end > 0) names.emplace(line.substr(0, end));
        line.remove_prefix(end > 0 ? end : 1);
    }
}

struct Part {
    Names declares;
    Names uses;
    std::string text;
};

/// `local function f(...)` declares f, and `local a, b = ...` a and b.
Names declared_by(std::string_view line) {
    line.remove_prefix(kLocal.size());
    const bool function = line.starts_with(kFunction);
    if (function) line.remove_prefix(kFunction.size());
    Names names;
    add_names(line.substr(0, line.find(function ? '(' : '=')), names);
    return names;
}

std::vector<Part> parts_of(std::string_view library) {
    std::vector<Part> parts;
    each_line(library, [&](std::string_view line) {
        if (line.starts_with("--") || line.empty()) return;
        if (line.starts_with(kLocal)) parts.push_back({declared_by(line), {}, {}});
        if (parts.empty()) return;
        add_names(line, parts.back().uses);
        parts.back().text.append(line).push_back('\n');
    });
    return parts;
}

bool declares_one_of(const Part& part, const Names& names) {
    for (const std::string& name : part.declares)
        if (names.contains(name)) return true;
    return false;
}

}  // namespace

std::string parts_used(std::string_view library, std::string_view script) {
    Names used;
    each_line(script, [&](std::string_view line) { add_names(line, used); });
    const std::vector<Part> parts = parts_of(library);
    // What a part uses stands before it.
    std::string text;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        if (!declares_one_of(*part, used)) continue;
        used.insert(part->uses.begin(), part->uses.end());
        text.insert(0, part->text);
    }
    return text;
}

RedisScript with_library(std::string_view name, std::string_view library, std::string_view text) {
    return RedisScript(name, fmt::format("-- name: {}\n{}{}", name, parts_used(library, text), text));
}

}  // namespace lockstep::engine
