// What a command came to, in the few lines that the page of a CI system has for it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "reports/annotation.h"

namespace lockstep::reports {

struct StepSummary {
    std::string title;     // "lockstep run: FAILED"
    std::string sentence;  // what came of it
    std::vector<Annotation> problems;
    std::string again;  // the command that shows the first of them; empty = none
    std::string build;  // of the program
};

/// Rows of its table. Why 20: a page shows the summaries of all steps, and whoever wants the rest has the log.
inline constexpr std::size_t kSummaryRowsMax = 20;

/// As Markdown, a hundred kilobytes at most whatever the problems say.
[[nodiscard]] std::string step_summary_markdown(const StepSummary& summary);

/// Adds to what other steps have written there. The error names the file and the reason.
[[nodiscard]] tl::expected<void, std::string> append_to_file(const std::filesystem::path& path, std::string_view text);

}  // namespace lockstep::reports
