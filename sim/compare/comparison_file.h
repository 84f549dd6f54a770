// Comparison files (scenarios/compare/*.json): which tunings are held against each other, in which scenarios or drawn
// clusters, under which seeds, and what better means. sim/scenario/format.md, "Comparison files", is the user's page.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/compare/comparison.h"
#include "sim/scenario/loader.h"

namespace lockstep::sim {

/// One tuning: what it sets, as `--set` does.
struct VariantPlan {
    std::string name;
    std::vector<std::pair<std::string, std::string>> settings;  // name as written and value, in the order of the file
    [[nodiscard]] std::vector<std::string> overrides() const;
};

struct ComparisonPlan {
    std::string file;
    std::string title;
    std::string question;
    std::vector<std::string> scenarios;  // files
    std::uint64_t drawn = 0;             // clusters that exploration draws, from `first_drawn` on
    std::uint64_t first_drawn = 1;
    std::vector<VariantPlan> variants;  // the first one is the one that the others are held against
    std::vector<std::pair<std::string, std::vector<std::string>>> axes;  // of a grid; empty when variants are given
    std::uint64_t first_seed = 1;
    std::uint64_t seeds = 20;
    std::vector<std::string> measures;  // to show; empty = all that were taken
    reports::Criteria criteria;
    bool event_faults = false;  // faults that are placed on events are let through, and named as not shared
};

[[nodiscard]] Loaded<ComparisonPlan> parse_comparison(std::string_view text, const std::string& file);
/// Files that it names are sought from its own folder.
[[nodiscard]] Loaded<ComparisonPlan> load_comparison(const std::filesystem::path& path);

/// A plan without a file: `scenario` with `vary`, each `NAME=VALUE,VALUE,…`. The error is a sentence.
[[nodiscard]] tl::expected<ComparisonPlan, std::string> quick_comparison(const std::string& scenario,
                                                                         const std::vector<std::string>& vary);

/// What scenarios/compare/comparison.schema.json must be.
[[nodiscard]] std::string comparison_schema();

/// The files below these paths that are comparisons: folders named `compare` hold nothing else.
[[nodiscard]] std::vector<std::filesystem::path> find_comparisons(const std::vector<std::string>& paths);

}  // namespace lockstep::sim
