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

TEST(Catalogue, TheDocumentationSaysWhichInvariantsExcuseWhatIsLost) {
    std::ifstream in(LOCKSTEP_DELIVERY_SEMANTICS, std::ios::binary);
    const std::string page(std::istreambuf_iterator<char>(in), {});
    const auto holding = page.find("## What holds even then");
    const auto excusing = page.find("Where Redis forgets, these excuse", holding);
    ASSERT_NE(excusing, std::string::npos);
    const auto excused = excused_by({.redis = true, .nats = true});
    for (const std::string& name : names_of(invariant_table(), true)) {
        const auto told = page.find('`' + name + '`', holding);
        EXPECT_NE(told, std::string::npos) << name;
        EXPECT_EQ(told > excusing, std::ranges::count(excused, name) > 0) << name;
    }
}

TEST(Catalogue, EachInvariantNamesTheParagraphThatItComesFrom) {
    for (const NamedItem& invariant : invariant_table()) EXPECT_NE(invariant.paragraph, "") << invariant.name;
}

TEST(Catalogue, WhereOnlyNatsForgetsNothingIsExcusedButWhatItAloneKnew) {
    EXPECT_EQ(excused_by({.redis = false, .nats = true}), (std::vector<std::string>{"no_lost_job", "run_progress"}));
    EXPECT_EQ(excused_by({}), std::vector<std::string>{});
    EXPECT_EQ(excused_by({.redis = true, .nats = false}).size(), 8U);
}

TEST(Catalogue, AFaultSaysWhoseDataItDestroys) {
    EXPECT_EQ(find_fault("nats.power_cut")->loses, (DataLoss{.redis = false, .nats = true}));
    for (const char* name : {"redis.failover", "redis.evict", "redis.restart", "redis.corrupt"})
        EXPECT_EQ(find_fault(name)->loses, (DataLoss{.redis = true, .nats = false})) << name;
    EXPECT_FALSE(find_fault("nats.restart")->loses.any());
    for (const std::string_view word : kDataLosses) EXPECT_EQ(name_of(*data_loss_named(word)), word);
    EXPECT_FALSE(data_loss_named("disk"));
}

TEST(Catalogue, NamesEveryScriptThereIs) {
    std::vector<std::string> there;
    std::istringstream folders(LOCKSTEP_SCRIPTS);
    for (std::string folder; std::getline(folders, folder, ':');)
        for (const auto& file : std::filesystem::directory_iterator(folder))
            if (file.path().extension() == ".lua" && file.path().stem() != "common" &&
                file.path().stem() != "run_common")
                there.push_back(file.path().stem().string());
    std::ranges::sort(there);
    const auto listed = redis_scripts();
    EXPECT_EQ(std::vector<std::string>(listed.begin(), listed.end()), there);
}

}  // namespace
}  // namespace lockstep::sim
