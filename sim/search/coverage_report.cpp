#include "sim/search/coverage_report.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "sim/search/cannot_happen.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view kHeading = "## ";
constexpr std::string_view kDraws = "Draws without loss of data: ";
constexpr std::string_view kLosingDraws = "Draws with loss of data: ";

std::string shown(const CoverageItem& item) { return fmt::format("{} `{}`", item.group, item.name); }

std::uint64_t times_reached(const CoverageReport& report, const CoverageItem& item) {
    return report.plain.of(item) + (report.losing ? report.losing->of(item) : 0);
}

/// What does not depend on the number of draws.
std::vector<std::string> complaints_about_the_list(const CoverageReport& report) {
    std::vector<std::string> out;
    for (const CannotHappen& entry : cannot_happen()) {
        const CoverageItem item{entry.group, std::string(entry.name)};
        const bool unknown = !report.items.contains(item);
        if (unknown && item.group == coverage::kCall) continue;  // which calls there are, many draws tell
        if (unknown)
            out.push_back(
                fmt::format("{} is on the list of what cannot happen, and there is no such thing: take it off "
                            "sim/search/cannot_happen.cpp",
                            shown(item)));
        else if (const std::uint64_t count = times_reached(report, item); count > 0)
            out.push_back(
                fmt::format("{} is on the list of what cannot happen, and {} draws reached it: take it off "
                            "sim/search/cannot_happen.cpp",
                            shown(item), count));
    }
    return out;
}

std::string row(const CoverageReport& report, const CoverageItem& item) {
    const CannotHappen* excused = find_cannot_happen(item);
    std::string out = fmt::format("| `{}` | {} |", item.name, report.plain.of(item));
    if (report.losing) out += fmt::format(" {} |", report.losing->of(item));
    return out + fmt::format(" {} |\n", excused == nullptr ? "" : excused->why);
}

std::string_view next_line(std::string_view& text) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return line;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) return std::nullopt;
    return value;
}

/// What stands behind the name.
std::optional<CoverageTable::Row> row_in(std::string_view line, bool losing) {
    const std::size_t name_ends = line.find("` |");
    if (name_ends == std::string_view::npos) return std::nullopt;
    line.remove_prefix(name_ends + 3);
    const auto plain = number_in(line);
    const std::size_t next = line.find('|');
    if (!plain || next == std::string_view::npos) return std::nullopt;
    if (!losing) return CoverageTable::Row{*plain, 0};
    const auto lost = number_in(line.substr(next + 1));
    if (!lost) return std::nullopt;
    return CoverageTable::Row{*plain, *lost};
}

double share(std::uint64_t draws, std::uint64_t of) {
    return of == 0 ? 0 : static_cast<double>(draws) / static_cast<double>(of);
}

/// How many of the draws of `report` the table lets expect to reach what stands in `row`.
double expected(const CoverageReport& report, const CoverageTable& table, const CoverageTable::Row& row) {
    double out = static_cast<double>(row.plain) * share(report.plain.draws, table.draws);
    if (report.losing) out += static_cast<double>(row.losing) * share(report.losing->draws, table.losing_draws);
    return out;
}

}  // namespace

CoverageReport coverage_report(std::string command, Coverage plain, std::optional<Coverage> losing) {
    CoverageReport report{std::move(command), {}, std::move(plain), std::move(losing)};
    std::set<CoverageItem> seen;
    for (const auto& [item, count] : report.plain.counts) seen.insert(item);
    if (report.losing)
        for (const auto& [item, count] : report.losing->counts) seen.insert(item);
    report.items = with_calls(documented_items(), seen);
    return report;
}

std::string coverage_markdown(const CoverageReport& report) {
    std::string out = fmt::format(
        "# What draws reach\n\nHow many draws of `lockstep explore` reach what is documented: settings, fields of "
        "requests, "
        "outcomes of the calls of\nreplicas, changes of state, rare branches. Made by `{}`.\n\n{}{}\n",
        report.command, kDraws, report.plain.draws);
    if (report.losing) out += fmt::format("{}{}\n", kLosingDraws, report.losing->draws);
    out +=
        "\nWhat no draw reaches says why: those reasons are reviewed (`sim/search/cannot_happen.cpp`), and an entry "
        "that is "
        "reached\nafter all is a failure.\n";
    if (report.plain.draws < kEnough)
        out += fmt::format(
            "\nA row at zero without a reason is still to be reached by more draws: {} are enough to tell.\n", kEnough);
    for (const std::string& group : coverage_groups()) {
        out += fmt::format("\n{}{}\n\n| what | draws |{} why it cannot happen |\n|---|--:|{}---|\n", kHeading, group,
                           report.losing ? " with loss |" : "", report.losing ? "--:|" : "");
        for (const CoverageItem& item : report.items)
            if (item.group == group) out += row(report, item);
    }
    return out;
}

tl::expected<CoverageTable, std::string> parse_coverage_markdown(std::string_view text) {
    CoverageTable table;
    std::string group;
    while (!text.empty()) {
        const std::string_view line = next_line(text);
        if (line.starts_with(kDraws)) table.draws = number_in(line.substr(kDraws.size())).value_or(0);
        if (line.starts_with(kLosingDraws))
            table.losing_draws = number_in(line.substr(kLosingDraws.size())).value_or(0);
        if (line.starts_with(kHeading)) group = line.substr(kHeading.size());
        if (!line.starts_with("| `")) continue;
        const auto row = row_in(line, table.losing_draws > 0);
        if (!row) return tl::unexpected(fmt::format("expected a row of a name and its draws, got \"{}\"", line));
        table.rows[{group, std::string(line.substr(3, line.find("` |") - 3))}] = *row;
    }
    if (table.draws == 0) return tl::unexpected(fmt::format("expected a line \"{}N\"", kDraws));
    return table;
}

std::vector<std::string> coverage_complaints(const CoverageReport& report) {
    std::vector<std::string> out = complaints_about_the_list(report);
    for (const CoverageItem& item : report.items)
        if (times_reached(report, item) == 0 && find_cannot_happen(item) == nullptr)
            out.push_back(
                fmt::format("{}: no draw has reached it; let one, or say in sim/search/cannot_happen.cpp why "
                            "none can",
                            shown(item)));
    return out;
}

std::vector<std::string> coverage_complaints(const CoverageReport& report, const CoverageTable& table) {
    std::vector<std::string> out = complaints_about_the_list(report);
    for (const CoverageItem& item : report.items)
        if (!table.rows.contains(item))
            out.push_back(fmt::format("{} is not in the table: write it anew", shown(item)));
    for (const auto& [item, row] : table.rows) {
        // Which calls there are, and which changes lost records make possible, many draws tell.
        const bool told_by_draws = item.group == coverage::kCall || item.group == coverage::kState;
        if (!report.items.contains(item) && !told_by_draws)
            out.push_back(fmt::format("{} is in the table, and there is no such thing: write it anew", shown(item)));
        if (table.draws >= kEnough && row.plain + row.losing == 0 && find_cannot_happen(item) == nullptr)
            out.push_back(
                fmt::format("{}: the table says that no draw has reached it; let one, or say in "
                            "sim/search/cannot_happen.cpp why none can",
                            shown(item)));
        if (expected(report, table, row) >= kExpected && times_reached(report, item) == 0)
            out.push_back(fmt::format("{}: none of {} draws has reached it, of the table's {} it was {}", shown(item),
                                      report.plain.draws + (report.losing ? report.losing->draws : 0),
                                      table.draws + table.losing_draws, row.plain + row.losing));
    }
    return out;
}

}  // namespace lockstep::sim
