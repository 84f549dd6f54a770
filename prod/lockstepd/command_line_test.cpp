#include "prod/lockstepd/command_line.h"

#include <gtest/gtest.h>

#include "reports/usage/test_walk.h"

namespace lockstep::prod {
namespace {

using Task = CommandLine::Task;

Task task_of(const std::vector<const char*>& words) {
    CommandLine line;
    EXPECT_TRUE(line.parse(static_cast<int>(words.size()), words.data()));
    return line.task();
}

TEST(LockstepdCommandLine, SaysWhatIsToBeDone) {
    EXPECT_EQ(task_of({"lockstepd"}), Task::serve);
    EXPECT_EQ(task_of({"lockstepd", "--role", "workflow"}), Task::serve);
    EXPECT_EQ(task_of({"lockstepd", "--check"}), Task::check);
    EXPECT_EQ(task_of({"lockstepd", "config", "print", "--json"}), Task::print_settings);
    EXPECT_EQ(task_of({"lockstepd", "config", "print", "--check"}), Task::print_settings);
    EXPECT_EQ(task_of({"lockstepd", "config", "reference"}), Task::print_reference);
    EXPECT_EQ(task_of({"lockstepd", "healthcheck", "--ready"}), Task::ask_health);
    EXPECT_EQ(task_of({"lockstepd", "completion", "fish"}), Task::print_completion);
    EXPECT_EQ(task_of({"lockstepd", "man"}), Task::print_manual);
    CommandLine line;
    const char* mistaken[]{"lockstepd", "--chek"};
    EXPECT_EQ(line.parse(2, mistaken).error(), 2);
}

// C9, C10
TEST(LockstepdCommandLine, IsWhatCompletionsAndTheManualPageTell) {
    const CommandLine line;
    usage::testing::expect_bash_covers(line.app());
    usage::testing::expect_zsh_and_fish_cover(line.app());
    usage::testing::expect_manual_covers(line.app());
}

}  // namespace
}  // namespace lockstep::prod
