#include "sim/cli/terminal_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "sim/cli/cli_fixture.h"
#include "sim/cli/progress.h"

namespace lockstep::sim::cli {
namespace {

using namespace std::chrono_literals;
using testing::Cli;
using ::testing::HasSubstr;

/// A wall clock that stands still until it is told.
class Wall {
public:
    [[nodiscard]] Watcher watcher(Watcher::Kind kind) {
        return {.kind = kind, .now = [this] { return now_; }};
    }
    void pass(std::chrono::milliseconds time) { now_ += time; }

private:
    std::chrono::steady_clock::time_point now_{1h};
};

TEST(TerminalLineTest, IsALineOfALogEveryFewSeconds) {
    Wall wall;
    std::ostringstream out;
    Progress progress(out, wall.watcher(Watcher::Kind::log), 100);
    for (int i = 0; i < 40; ++i) {
        progress.advance(i % 10 == 0);
        wall.pass(300ms);
    }
    progress.clear();
    EXPECT_EQ(out.str(), "18 of 100 runs done, 2 failed\n35 of 100 runs done, 4 failed\n");
}

TEST(TerminalLineTest, IsDrawnOverOnATerminalAndTakenOff) {
    Wall wall;
    std::ostringstream out;
    TerminalLine line(out, wall.watcher(Watcher::Kind::terminal));
    EXPECT_TRUE(line.due());
    line.draw("one");
    EXPECT_FALSE(line.due());
    wall.pass(200ms);
    EXPECT_TRUE(line.due());
    line.clear();
    EXPECT_EQ(out.str(), "\r\x1b[Kone\r\x1b[K");
}

TEST(TerminalLineTest, SaysNothingToNobody) {
    Wall wall;
    std::ostringstream out;
    TerminalLine line(out, wall.watcher(Watcher::Kind::nobody));
    wall.pass(1h);
    EXPECT_FALSE(line.due());
    line.draw("one");
    line.clear();
    EXPECT_EQ(out.str(), "");
}

TEST_F(Cli, WhatTakesLongSaysInALogHowFarItIsAndNotForEveryRun) {
    Wall wall;
    watcher = wall.watcher(Watcher::Kind::log);
    runner = [&](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        wall.pass(1s);
        return good(of, seed, options);
    };
    const auto lines = [this] { return std::ranges::count(err.str(), '\n'); };
    EXPECT_EQ(run({"run", path("a.json"), "--seeds", "21", "-j", "1"}), 0);
    EXPECT_EQ(lines(), 4) << err.str();
    EXPECT_THAT(err.str(), HasSubstr("5 of 21 runs done, 0 failed\n"));
    EXPECT_EQ(run({"verify-determinism", path("a.json"), "--seeds", "11", "-j", "1"}), 0);
    EXPECT_EQ(lines(), 4) << err.str();
    EXPECT_EQ(run({"explore", "--seeds", "21", "-j", "1", "--out", path("out")}), 0) << out.str();
    EXPECT_EQ(lines(), 4) << err.str();
    EXPECT_THAT(err.str(), HasSubstr("5 seeds, "));
    EXPECT_EQ(out.str().find("\r"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::sim::cli
