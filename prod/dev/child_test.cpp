// One program: what is heard of it, and that nothing of it stays.
#include "prod/dev/child.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <system_error>
#include <thread>

#include "prod/dev/playground.h"

namespace lockstep::prod {
namespace {

class ChildTest : public ::testing::Test {
protected:
    [[nodiscard]] Child::Start shell(const std::string& script) const {
        return {.name = "child",
                .words = {"/bin/sh", "-c", script},
                .environment = {"GREETING=hi"},
                .log = folder.path() / "log"};
    }
    /// Waits for the end, however slow the machine is.
    static int code_of(Child& child) {
        std::optional<int> code;
        while (!(code = child.ended())) std::this_thread::yield();
        return *code;
    }
    DevFolder folder{false};
};

TEST_F(ChildTest, ItsOutputIsInItsLogAndItsEnvironmentIsWhatItIsGiven) {
    Child child(shell("echo one; echo \"two $GREETING\" >&2; echo \"home $HOME\"; exit 7"));
    EXPECT_EQ(code_of(child), 7);
    EXPECT_EQ(child.pid(), -1);
    EXPECT_EQ(child.ended(), 7) << "told again";
    EXPECT_TRUE(child.said("two hi\nhome \n"));
    EXPECT_FALSE(child.said("three"));
    EXPECT_EQ(child.last_lines(2), "  two hi\n  home \n");
}

TEST_F(ChildTest, OfALongLogTheEndIsTold) {
    std::ofstream(folder.path() / "log") << std::string(100'000, 'x') << "\n";
    Child child(shell("echo the end"));
    EXPECT_EQ(code_of(child), 0);
    EXPECT_EQ(child.last_lines(1), "  the end\n");
}

TEST_F(ChildTest, SignalsAreItsOwnBusinessAndItHasAGroupOfItsOwn) {
    ::signal(SIGTERM, SIG_IGN);  // what is ignored here would stay ignored there
    Child child(shell("echo ready; while :; do read -r line; sleep 1; done"));
    ::signal(SIGTERM, SIG_DFL);
    while (!child.said("ready")) std::this_thread::yield();
    EXPECT_EQ(::getpgid(child.pid()), child.pid());
    child.signal(SIGTERM);
    EXPECT_EQ(code_of(child), 128 + SIGTERM);
}

TEST_F(ChildTest, NothingRunsOnceTheObjectIsGone) {
    pid_t pid = -1;
    {
        const Child child(shell("trap '' TERM; while :; do sleep 1; done"));
        pid = child.pid();
        EXPECT_EQ(::kill(pid, 0), 0);
    }
    EXPECT_NE(::kill(pid, 0), 0);
}

TEST_F(ChildTest, WhatCannotBeStartedIsTold) {
    Child child({.name = "none",
                 .words = {(folder.path() / "no-such").string()},
                 .environment = {},
                 .log = folder.path() / "log"});
    EXPECT_EQ(code_of(child), 127);
    EXPECT_THROW(Child({.name = "none", .words = {"/bin/true"}, .environment = {}, .log = "/no/such/folder/log"}),
                 std::system_error);
}

}  // namespace
}  // namespace lockstep::prod
