// Where the programs of a deployment are looked for, and what is said of those that are not there.
#include "prod/dev/programs.h"

#include <gtest/gtest.h>

#include <fstream>

#include "prod/dev/playground.h"

namespace lockstep::prod {
namespace {

class ProgramsTest : public ::testing::Test {
protected:
    void install(const std::string& folder, const std::string& name) const {
        const auto place = root.path() / folder / name;
        std::filesystem::create_directories(place.parent_path());
        std::ofstream(place) << "#!/bin/sh\n";
        std::filesystem::permissions(place, std::filesystem::perms::owner_all);
    }
    [[nodiscard]] std::string at(const std::string& folder) const { return (root.path() / folder).string(); }
    DevFolder root{false};
};

TEST_F(ProgramsTest, OursBesideThisProgramComeFirst) {
    for (const char* name : {"redis-server", "nats-server", "lockstepd"}) install("path", name);
    for (const char* name : {"lockstepd", "lockstep-kernel", "lockstep-worker"}) install("beside", name);
    const auto found = find_programs(at("beside"), at("empty") + ":" + at("path"));
    ASSERT_TRUE(found) << found.error();
    EXPECT_EQ(found->at("lockstepd"), root.path() / "beside" / "lockstepd");
    EXPECT_EQ(found->at("redis-server"), root.path() / "path" / "redis-server");
    install("path", "lockstep-kernel");
    std::filesystem::remove(root.path() / "beside" / "lockstep-kernel");
    EXPECT_EQ(find_programs(at("beside"), at("path"))->at("lockstep-kernel"), root.path() / "path" / "lockstep-kernel");
}

TEST_F(ProgramsTest, EveryOneThatIsMissingIsNamedWithWhatInstallsIt) {
    install("path", "redis-server");
    install("beside", "lockstepd");
    install("beside", "lockstep-worker");
    const auto found = find_programs(at("beside"), at("path"));
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().find("lockstep-kernel is neither in " + at("beside") + " nor on PATH"), std::string::npos)
        << found.error();
    EXPECT_EQ(found.error().find("redis-server"), std::string::npos);
    EXPECT_EQ(found.error().find("lockstepd is"), std::string::npos);
}

TEST_F(ProgramsTest, AServerThatIsMissingIsNamedWithItsPackage) {
    if (find_programs(at("beside"), "").error().find("redis-server") == std::string::npos)
        GTEST_SKIP() << "this machine has one in a folder of system programs";
    EXPECT_NE(find_programs(at("beside"), "").error().find("apt-get install redis-server"), std::string::npos);
}

TEST_F(ProgramsTest, WhatCannotBeRunIsNotThere) {
    std::filesystem::create_directories(root.path() / "beside");
    std::ofstream(root.path() / "beside" / "lockstepd") << "no program";
    EXPECT_NE(find_programs(at("beside"), "").error().find("lockstepd is neither"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::prod
