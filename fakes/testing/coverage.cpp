#include "fakes/testing/coverage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>
#include <utility>

namespace lockstep::fakes::testing {

namespace {

std::map<std::string, std::string>& sections() {
    static std::map<std::string, std::string> kSections;  // handed from the tests of this program to its main
    return kSections;
}

}  // namespace

CoverageTable::CoverageTable(std::string rows, std::vector<std::string> columns)
    : rows_(std::move(rows)), columns_(std::move(columns)) {}

void CoverageTable::count(std::string_view row, std::size_t column, std::uint64_t times) {
    auto found = counts_.find(row);
    if (found == counts_.end()) {
        found = counts_.emplace(std::string(row), std::vector<std::uint64_t>(columns_.size())).first;
    }
    found->second.at(column) += times;
}

std::uint64_t CoverageTable::at(std::string_view row, std::size_t column) const {
    const auto found = counts_.find(row);
    return found != counts_.end() ? found->second.at(column) : 0;
}

std::string CoverageTable::markdown() const {
    std::vector<std::vector<std::string>> lines{{rows_}, {"---"}};
    for (const std::string& column : columns_) {
        lines[0].push_back(column);
        lines[1].emplace_back("---:");
    }
    for (const auto& [row, counts] : counts_) {
        std::string name = row;
        for (std::size_t bar = name.find('|'); bar != std::string::npos; bar = name.find('|', bar + 2)) {
            name.insert(bar, 1, '\\');
        }
        lines.push_back({std::move(name)});
        for (const std::uint64_t count : counts) lines.back().push_back(std::to_string(count));
    }
    std::vector<std::size_t> widths(columns_.size() + 1);
    for (const auto& line : lines) {
        for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
    }
    std::string text;
    for (const auto& line : lines) {
        for (std::size_t i = 0; i < line.size(); ++i) {
            const std::string filling(widths[i] - line[i].size(), ' ');
            text += i == 0 ? "| " + line[i] + filling : " | " + filling + line[i];
        }
        text += " |\n";
    }
    return text + "\n";
}

void add_to_coverage_page(const std::string& section, const std::string& text) {
    sections()[section] += text;
    std::cout << text << std::flush;
}

/// False when the page has no place for a section.
static bool write_page(const std::string& file) {
    std::stringstream read;
    read << std::ifstream(file).rdbuf();
    std::string page = read.str();
    for (const auto& [section, text] : sections()) {
        const std::string begin = "<!-- begin " + section + " -->\n";
        const std::size_t from = page.find(begin);
        const std::size_t to = page.find("<!-- end " + section + " -->");
        if (from == std::string::npos || to == std::string::npos) {
            std::cerr << file << " has no place for the section " << section << "\n";
            return false;
        }
        page.replace(from + begin.size(), to - from - begin.size(), "\n" + text);
    }
    std::ofstream(file) << page;
    return true;
}

}  // namespace lockstep::fakes::testing

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    constexpr std::string_view kOption = "--write-coverage=";
    std::string page;
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument(argv[i]);
        if (!argument.starts_with(kOption)) {
            std::cerr << "unknown option " << argument << "; there is --write-coverage=<page>\n";
            return 2;
        }
        page = argument.substr(kOption.size());
    }
    const int failed = RUN_ALL_TESTS();
    if (failed != 0 || page.empty()) return failed;
    return lockstep::fakes::testing::write_page(page) ? 0 : 1;
}
