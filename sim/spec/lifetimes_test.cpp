// The register of keys (redis-schema.md 12) and the list by which `lifetimes_kept` goes say the same.
#include "sim/spec/lifetimes.h"

#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace lockstep::sim {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

/// The cells of a row of a table, without their blanks.
std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells;
    std::size_t from = 1;
    for (std::size_t to = line.find('|', from); to != std::string::npos; to = line.find('|', from)) {
        std::string cell = line.substr(from, to - from);
        const auto first = cell.find_first_not_of(' ');
        cells.push_back(first == std::string::npos ? "" : cell.substr(first, cell.find_last_not_of(' ') - first + 1));
        from = to + 1;
    }
    return cells;
}

/// The rows of the register by their key.
std::map<std::string, std::vector<std::string>> register_of_keys() {
    std::map<std::string, std::vector<std::string>> rows;
    std::ifstream page(LOCKSTEP_REDIS_SCHEMA);
    bool inside = false;
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with("## ")) inside = line.starts_with("## 12.");
        if (!inside || !line.starts_with("| `")) continue;
        auto cells = cells_of(line);
        std::string key = cells.at(0).substr(1, cells.at(0).size() - 2);
        EXPECT_TRUE(rows.emplace(key, std::move(cells)).second) << key << " stands there twice";
    }
    return rows;
}

TEST(Lifetimes, TheRegisterNamesEachKindOfKeyOnceAndSaysWhyOneHasNoExpiry) {
    const engine::Tunables tunables;
    const auto families = spec::Lifetimes(TunablesInForce(tunables)).families();
    const auto rows = register_of_keys();
    for (const auto& [pattern, may_have_no_expiry] : families) {
        const auto row = rows.find(pattern);
        if (row == rows.end()) {
            ADD_FAILURE() << "redis-schema.md 12 lacks " << pattern;
            continue;
        }
        ASSERT_EQ(row->second.size(), 4U) << pattern;
        EXPECT_EQ(!row->second[1].empty(), may_have_no_expiry) << pattern;
        EXPECT_EQ(!row->second[2].empty(), may_have_no_expiry) << pattern;
        EXPECT_THAT(row->second[3], Not(IsEmpty())) << pattern << ": who reads it";
    }
    for (const auto& [pattern, cells] : rows)
        EXPECT_TRUE(families.contains(pattern)) << pattern << " is in redis-schema.md 12, and nothing holds it to that";
}

}  // namespace
}  // namespace lockstep::sim
