// Reads scenario files: comments, overrides, the table, the rules between parts. All errors of a file are reported at
// once, each with its place. Nothing is ever guessed: an unknown name is an error with the nearest match.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "engine/config/json_positions.h"
#include "sim/scenario/scenario.h"

namespace lockstep::sim {

struct LoadError {
    std::string file;
    std::string pointer;   // JSON pointer; empty = the whole document
    std::string expected;  // a sentence: what was expected, or what is wrong
    int line = 0;          // from 1; 0 = unknown
    int column = 0;
};

/// `file:line:column: at /pointer: expected …`.
[[nodiscard]] std::string to_string(const LoadError& error);

/// What the `kind` of a failure file says, which is no scenario (sim/search/failure.h).
inline constexpr std::string_view kFailureKind = "lockstep failure";

struct LoadOptions {
    // What a file says it proves is about the file as it stands: either of these takes that out.
    std::vector<std::string> overrides;  // as in override.h, applied in this order
    std::vector<std::string> without;    // mechanisms to switch off besides those of the file
    std::vector<std::string> cell{};     // of the file's matrix
};

template <class T>
using Loaded = tl::expected<T, std::vector<LoadError>>;

[[nodiscard]] Loaded<Scenario> parse_scenario(std::string_view text, const std::string& file,
                                              const LoadOptions& options = {});
/// Of a file with a matrix (parts.h) it is one cell, which the overrides name.
[[nodiscard]] Loaded<Scenario> load_scenario(const std::filesystem::path& path, const LoadOptions& options = {});
/// The scenario of a file, or those of each cell of its matrix.
[[nodiscard]] Loaded<std::vector<Scenario>> load_scenarios(const std::filesystem::path& path,
                                                           const LoadOptions& options = {});

/// Where everything stands in the text of a file, by JSON pointer; empty where it is no JSON.
[[nodiscard]] std::map<std::string, engine::Position> places_in(std::string_view text);

/// Whether it holds a comparison of tunings (sim/compare/comparison_file.h) and no scenario: it asks a question, or stands in a folder
/// named `compare`.
[[nodiscard]] bool is_comparison_file(const std::filesystem::path& path);

/// The scenario files that these paths name: files as they are, folders with every *.json below them (except *.schema.json, *.part.json and
/// comparisons), sorted, each once. A path that does not exist is an error.
[[nodiscard]] Loaded<std::vector<std::filesystem::path>> find_scenarios(const std::vector<std::string>& paths);

}  // namespace lockstep::sim
