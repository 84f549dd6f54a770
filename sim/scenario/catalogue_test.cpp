#include "sim/scenario/catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace lockstep::sim {
namespace {

TEST(Catalogue, TheDocumentationSaysWhichInvariantsHoldWhereDataIsLost) {
    std::ifstream in(LOCKSTEP_DELIVERY_SEMANTICS, std::ios::binary);
    const std::string page(std::istreambuf_iterator<char>(in), {});
    const auto holding = page.find("## What holds even then");
    const auto in_part = page.find("unless Redis loses some", holding);
    const auto broken = page.find("Four cannot hold", in_part);
    ASSERT_NE(broken, std::string::npos);
    const auto always = invariants_despite_data_loss(true);
    const auto mostly = invariants_despite_data_loss(false);
    for (const std::string& name : names_of(invariant_table(), true)) {
        const bool holds = std::ranges::count(always, name) > 0;
        const bool holds_in_whole = std::ranges::count(mostly, name) > 0;
        const auto told = page.find('`' + name + '`', holding);
        EXPECT_EQ(told < in_part, holds) << name;
        EXPECT_EQ(told < broken, holds_in_whole) << name;
        EXPECT_NE(told, std::string::npos) << name;
    }
}

TEST(Catalogue, NamesEveryScriptThereIs) {
    std::vector<std::string> there;
    std::istringstream folders(LOCKSTEP_SCRIPTS);
    for (std::string folder; std::getline(folders, folder, ':');)
        for (const auto& file : std::filesystem::directory_iterator(folder))
            if (file.path().extension() == ".lua" && file.path().stem() != "common")
                there.push_back(file.path().stem().string());
    std::ranges::sort(there);
    const auto listed = redis_scripts();
    EXPECT_EQ(std::vector<std::string>(listed.begin(), listed.end()), there);
}

}  // namespace
}  // namespace lockstep::sim
