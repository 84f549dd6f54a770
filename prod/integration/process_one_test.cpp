// O8: lockstepd as process 1 of a PID namespace, as it is in a container: the kernel gives such a process no default action for a signal,
// and makes it the parent of whatever is orphaned there.
#include <signal.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "prod/integration/deployment_fixture.h"
#include "prod/kernel/test_silent_server.h"

namespace lockstep::prod::testing {
namespace {

using namespace std::chrono_literals;

std::vector<pid_t> own_children(pid_t process) {
    std::vector<pid_t> children;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
        std::ifstream list(thread.path() / "children");
        children.insert(children.end(), std::istream_iterator<pid_t>(list), std::istream_iterator<pid_t>());
    }
    return children;
}

/// The process' numbers from the outermost namespace to its own.
std::string numbers_of(pid_t process) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("NSpid:")) return line;
    return {};
}

class ProcessOne : public DeploymentFixture {
protected:
    void SetUp() override {
        DeploymentFixture::SetUp();
        if (!world) return;
        Program trial({"/usr/bin/unshare", "--pid", "--fork", "--mount-proc", "true"}, {},
                      world->folder() / "trial.log");
        if (trial.wait() != 0)
            GTEST_SKIP() << "NOT PUT TO THE TEST: this machine lets nobody make a PID namespace: " << trial.output();
    }
    /// Waits until it is ready.
    void start(Program::Environment more) {
        for (const auto& entry : world->environment) more.insert(entry);
        outside_ =
            std::make_unique<Program>(std::vector<std::string>{"/usr/bin/unshare", "--pid", "--fork", "--mount-proc",
                                                               "--kill-child=KILL", world->programs / "lockstepd"},
                                      std::move(more), world->folder() / "process-one.log");
        ASSERT_TRUE(outside_->says(" ready instance=")) << outside_->output();
        const auto children = own_children(outside_->pid());
        ASSERT_EQ(children.size(), 1U);
        lockstepd_ = children.front();
        ASSERT_TRUE(numbers_of(lockstepd_).ends_with("\t1")) << numbers_of(lockstepd_);
    }
    void signal(int number) const { ASSERT_EQ(::kill(lockstepd_, number), 0); }
    Program& program() { return *outside_; }
    [[nodiscard]] pid_t lockstepd() const { return lockstepd_; }

private:
    std::unique_ptr<Program> outside_;  // unshare, which ends as lockstepd does
    pid_t lockstepd_ = -1;
};

TEST_F(ProcessOne, DrainsAtSigtermAndEndsWithZero) {
    start({});
    world->add_worker("w1");
    EXPECT_EQ(world->ctl({"submit", "--wait", "--wait-for", "20s"}).exit_code, 0);
    signal(SIGTERM);
    EXPECT_EQ(program().wait(), 0) << program().output();
    EXPECT_NE(program().output().find("draining"), std::string::npos) << program().output();
}

TEST_F(ProcessOne, ASecondSignalForcesTheEnd) {
    const SilentServer kernel;
    start({{"SAFETY_KERNEL_ADDR", "127.0.0.1:" + std::to_string(kernel.port())},
           {"LOCKSTEP_SAFETY_TIMEOUT", "60s"},
           {"LOCKSTEP_JOB_LOCK_TTL", "60s"},
           {"LOCKSTEP_SHUTDOWN_GRACE", "60s"}});
    EXPECT_EQ(world->ctl({"submit", "--id", "held"}).exit_code, 0);
    EXPECT_TRUE(Deployment::until(
        [&] {
            signal(SIGUSR1);
            return program().output().find("scheduler_handlers=1") != std::string::npos;
        },
        20s))
        << program().output();
    signal(SIGTERM);
    EXPECT_TRUE(program().says("draining"));
    EXPECT_FALSE(program().wait(0ms)) << "it has a job in hand";
    signal(SIGTERM);
    EXPECT_EQ(program().wait(), 128 + SIGTERM);
    EXPECT_NE(program().output().find("second signal: ending at once"), std::string::npos);
}

// What `kubectl exec` or a probe leaves behind.
TEST_F(ProcessOne, OrphansLeaveNoZombie) {
    start({});
    Program exec({"/usr/bin/nsenter", "--target", std::to_string(lockstepd()), "--pid", "--mount", "sh", "-c",
                  "sleep 1000 & exit 0"},
                 {}, world->folder() / "exec.log");
    ASSERT_EQ(exec.wait(), 0) << exec.output();
    std::vector<pid_t> orphans;
    ASSERT_TRUE(Deployment::until([&] { return !(orphans = own_children(lockstepd())).empty(); }, 20s));
    for (const pid_t orphan : orphans) ::kill(orphan, SIGKILL);
    EXPECT_TRUE(Deployment::until([&] { return own_children(lockstepd()).empty(); }, 10s))
        << "a zombie stays a child until its parent asks for it";
    signal(SIGTERM);
    EXPECT_EQ(program().wait(), 0);
}

}  // namespace
}  // namespace lockstep::prod::testing
