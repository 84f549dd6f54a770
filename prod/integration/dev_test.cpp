// `lockstep dev`: one command starts everything, shows a job and leaves nothing, however it ends.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "prod/integration/deployment.h"

namespace lockstep::prod::testing {
namespace {

using namespace std::chrono_literals;

/// "(state, parent)" of a process; the state is X where there is none.
std::pair<char, pid_t> process_state(const std::string& pid) {
    std::ifstream in("/proc/" + pid + "/stat");
    std::string text;
    std::getline(in, text);
    std::istringstream behind_name(
        text.substr(text.rfind(')') == std::string::npos ? text.size() : text.rfind(')') + 1));
    char state = 'X';
    pid_t parent = 0;
    behind_name >> state >> parent;
    return {state, parent};
}

std::vector<std::string> children_of(pid_t parent) {
    std::vector<std::string> pids;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") == std::string::npos && process_state(name).second == parent)
            pids.push_back(name);
    }
    return pids;
}

bool all_gone(const std::vector<std::string>& pids) {
    return std::ranges::all_of(pids, [](const std::string& pid) {
        const char state = process_state(pid).first;
        return state == 'X' || state == 'Z';
    });
}

class DevTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (!Deployment::possible()) GTEST_SKIP() << "redis-server or nats-server is not installed";
        std::filesystem::create_directory(temporary());
    }
    [[nodiscard]] std::filesystem::path temporary() const { return own.path() / "tmp"; }
    [[nodiscard]] bool nothing_left() const { return std::filesystem::is_empty(temporary()); }

    Program launch(const std::string& program, std::vector<std::string> arguments, Program::Environment more = {}) {
        arguments.insert(arguments.begin(), std::string(LOCKSTEP_PROGRAM_FOLDER) + "/" + program);
        more.emplace("TMPDIR", temporary());
        return {std::move(arguments), std::move(more), own.path() / ("log-" + std::to_string(++launched))};
    }
    /// What an export line of the introduction gives this variable.
    static std::string told(const Program& dev, const std::string& variable) {
        const std::string text = dev.output();
        const auto at = text.find(variable + "=");
        if (at == std::string::npos) return {};
        const auto from = at + variable.size() + 1;
        return text.substr(from, text.find_first_of(" \n", from) - from);
    }

    fakes::testing::TemporaryFolder own;
    int launched = 0;
};

TEST_F(DevTest, RunsASampleJobToItsEndAndLeavesNothing) {
    Program dev = launch("lockstep", {"dev", "--until-done", "--replicas", "2"},
                         {{"REDIS_URL", "redis://not.meant:1"}, {"CORDUM_LOG_LEVEL", "error"}});
    EXPECT_EQ(dev.wait(60s), 0) << dev.output();
    EXPECT_NE(dev.output().find("hello  SUCCEEDED"), std::string::npos) << dev.output();
    EXPECT_NE(dev.output().find("replica-2"), std::string::npos);
    EXPECT_TRUE(nothing_left());
}

TEST_F(DevTest, GoesOnUntilItIsInterruptedAndIsReachedFromAnotherTerminal) {
    Program dev = launch("lockstep-dev", {});
    ASSERT_TRUE(dev.says("workers: 3,")) << dev.output();
    const auto children = children_of(dev.pid());
    EXPECT_EQ(children.size(), 7U) << "Redis, NATS, the kernel, a replica and a worker in each pool";
    Program other = launch("lockstepctl", {"submit", "--topic", "job.etl.load", "--wait"},
                           {{"REDIS_URL", told(dev, "REDIS_URL")}, {"NATS_URL", told(dev, "NATS_URL")}});
    EXPECT_EQ(other.wait(), 0) << other.output();
    EXPECT_TRUE(dev.says("jobs: 2 SUCCEEDED;")) << dev.output();
    EXPECT_FALSE(nothing_left());
    dev.signal(SIGINT);
    EXPECT_EQ(dev.wait(), 0) << dev.output();
    EXPECT_TRUE(all_gone(children));
    EXPECT_TRUE(nothing_left());
}

TEST_F(DevTest, AReplicaMayGoAndAServerMayNot) {
    Program dev = launch("lockstep-dev", {"--replicas", "2", "--workers", "0"});
    ASSERT_TRUE(dev.says("replicas: 2 of 2")) << dev.output();
    const auto pid_of = [&](const std::string& name) {
        const std::string text = dev.output();
        return std::stoi(text.substr(text.find("pid ", text.find("\n  " + name)) + 4));
    };
    const auto children = children_of(dev.pid());
    ::kill(pid_of("replica-1"), SIGKILL);
    EXPECT_TRUE(dev.says("replica-1 was ended by signal 9; 1 of its kind go on")) << dev.output();
    EXPECT_TRUE(dev.says("replicas: 1 of 2"));
    ::kill(pid_of("nats"), SIGKILL);
    EXPECT_EQ(dev.wait(), 1);
    EXPECT_NE(dev.output().find("lockstep dev: nats was ended by signal 9. The end of its log:\n  "), std::string::npos)
        << dev.output();
    EXPECT_TRUE(all_gone(children));
    EXPECT_TRUE(nothing_left());
}

TEST_F(DevTest, WhatDoesNotStartIsNamedWithItsOwnWords) {
    Program dev = launch("lockstep-dev", {"--env", "NATS_JS_ACK_WAIT=soon"});
    EXPECT_EQ(dev.wait(), 1);
    EXPECT_NE(dev.output().find("replica-1 has ended with exit code 2"), std::string::npos) << dev.output();
    EXPECT_NE(dev.output().find("NATS_JS_ACK_WAIT: expected a duration"), std::string::npos) << dev.output();
    EXPECT_TRUE(nothing_left());
}

TEST_F(DevTest, ASampleThatDoesNotSucceedIsAnExitCodeOfItsOwn) {
    const auto policy = own.path() / "policy.yaml";
    std::ofstream(policy) << "default_decision: deny\nrules: []\n";
    Program dev = launch("lockstep-dev", {"--until-done", "--policy", policy});
    EXPECT_EQ(dev.wait(60s), 4) << dev.output();
    EXPECT_NE(dev.output().find("hello  DENIED"), std::string::npos) << dev.output();
    EXPECT_NE(dev.output().find("DENIED  ended"), std::string::npos) << dev.output();
}

TEST_F(DevTest, AKillLeavesNoProcess) {
    Program dev = launch("lockstep-dev", {});
    ASSERT_TRUE(dev.says("A sample job:")) << dev.output();
    const auto children = children_of(dev.pid());
    EXPECT_EQ(children.size(), 7U);
    dev.kill();
    EXPECT_TRUE(Deployment::until([&] { return all_gone(children); }, 20s));
}

}  // namespace
}  // namespace lockstep::prod::testing
