// What a comparison of a simulated server with the real one has compared, as tables on a page: fakes/coverage.md. A test
// program that is linked with lockstep_test_coverage writes its section of the page when it is run with
// --write-coverage=<page>; the tables themselves are checked by the tests, on every run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::fakes::testing {

/// Counts by row and column. Rows stand in the order of their names.
class CoverageTable {
public:
    CoverageTable(std::string rows, std::vector<std::string> columns);

    void count(std::string_view row, std::size_t column, std::uint64_t times = 1);
    /// 0 for a row that never was.
    [[nodiscard]] std::uint64_t at(std::string_view row, std::size_t column) const;
    [[nodiscard]] std::string markdown() const;

private:
    std::string rows_;
    std::vector<std::string> columns_;
    std::map<std::string, std::vector<std::uint64_t>, std::less<>> counts_;
};

/// Adds to a section of the page, and prints it. The page has a place for it between `<!-- begin <section> -->` and
/// `<!-- end <section> -->`.
void add_to_coverage_page(const std::string& section, const std::string& text);

}  // namespace lockstep::fakes::testing
