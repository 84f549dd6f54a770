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
    const auto broken = page.find("Four cannot hold where Redis forgets", in_part);
    ASSERT_NE(broken, std::string::npos);
    constexpr DataLoss kBoth{.redis = true, .nats = true};
    const auto always = invariants_despite(kBoth, {.in_part = true, .only_copy = true});
    const auto mostly = invariants_despite(kBoth, {.in_part = false, .only_copy = true});
    for (const std::string& name : names_of(invariant_table(), true)) {
        const bool holds = std::ranges::count(always, name) > 0;
        const bool holds_in_whole = std::ranges::count(mostly, name) > 0;
        const auto told = page.find('`' + name + '`', holding);
        EXPECT_EQ(told < in_part, holds) << name;
        EXPECT_EQ(told < broken, holds_in_whole) << name;
        EXPECT_NE(told, std::string::npos) << name;
    }
}

TEST(Catalogue, WhereOnlyNatsForgetsNothingBreaksButWhatItAloneKnew) {
    constexpr DataLoss kNats{.redis = false, .nats = true};
    EXPECT_EQ(invariants_despite(kNats, {}), names_of(invariant_table(), true));
    EXPECT_EQ(broken_by(kNats, {.in_part = true, .only_copy = true}), std::vector<std::string>{"no_lost_job"});
    EXPECT_EQ(broken_by({}, {.in_part = true, .only_copy = true}), std::vector<std::string>{});
    const auto by_redis = broken_by({.redis = true, .nats = false}, {});
    for (const char* name : {"no_duplicate_dispatch", "no_lost_job", "job_history", "result_kept"})
        EXPECT_EQ(std::ranges::count(by_redis, name), 1) << name;
    EXPECT_EQ(by_redis.size(), 4U);
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
            if (file.path().extension() == ".lua" && file.path().stem() != "common")
                there.push_back(file.path().stem().string());
    std::ranges::sort(there);
    const auto listed = redis_scripts();
    EXPECT_EQ(std::vector<std::string>(listed.begin(), listed.end()), there);
}

}  // namespace
}  // namespace lockstep::sim
