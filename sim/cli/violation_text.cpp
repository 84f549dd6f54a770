#include "sim/cli/violation_text.h"

#include <fmt/format.h>

#include "sim/explain/explanation.h"

namespace lockstep::sim::cli {

namespace {

std::string fact_line(const char* label, const reports::Fact& fact) {
    return fmt::format("  {:<11} #{} {} {}  {}", label, fact.event, seconds_text(fact.at_ns), fact.node, fact.what);
}

void add_facts(const reports::Violation& violation, std::vector<std::string>& lines) {
    if (violation.fact.what.empty()) return;  // a run without a history knows numbers only
    if (violation.at_rest)
        lines.push_back(fmt::format("  {:<11} #{} {}  nothing happens any more, and so it is left", "at the end",
                                    violation.fact.event, seconds_text(violation.fact.at_ns)));
    else
        lines.push_back(fact_line("here", violation.fact));
    if (!violation.earlier || violation.earlier->what.empty()) return;
    // An event that contradicts what was before it, such as a step that comes too early, is told once.
    if (!violation.at_rest && violation.earlier->event == violation.fact.event) return;
    lines.push_back(fact_line("contradicts", *violation.earlier));
    lines.push_back(fmt::format("  {:<11} {}, {} events", "apart",
                                seconds_text(violation.fact.at_ns - violation.earlier->at_ns),
                                violation.fact.event - violation.earlier->event));
}

}  // namespace

std::vector<std::string> violation_lines(const reports::Violation& violation) {
    std::vector<std::string> lines;
    std::string head = fmt::format("{} at {:.3f}s", violation.invariant, static_cast<double>(violation.at_ms) / 1000.0);
    if (!violation.node.empty()) head += " on " + violation.node;
    if (!violation.job.empty()) head += ", job " + violation.job;
    lines.push_back(head + ": " + violation.detail);
    if (!violation.paragraph.empty()) lines.push_back(fmt::format("  {:<11} {}", "documented", violation.paragraph));
    add_facts(violation, lines);
    for (const std::string& line : violation.circumstances) lines.push_back("  " + line);
    return lines;
}

std::vector<std::string> last_lines(const std::vector<std::string>& story, std::size_t lines_max) {
    if (story.size() <= lines_max) return story;
    const std::size_t left_out = story.size() - lines_max + 1;
    std::vector<std::string> lines{fmt::format("... {} earlier lines", left_out)};
    lines.insert(lines.end(), story.begin() + static_cast<std::ptrdiff_t>(left_out), story.end());
    return lines;
}

}  // namespace lockstep::sim::cli
