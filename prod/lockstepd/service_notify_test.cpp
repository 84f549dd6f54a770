// O10
#include "prod/lockstepd/service_notify.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "engine/runtime/scope.h"
#include "fakes/testing/server_process.h"
#include "prod/loop/system_clock.h"
#include "prod/loop/uv_loop.h"

namespace lockstep::prod {
namespace {

using namespace std::chrono_literals;

/// Listens as systemd does.
class ServiceNotifyTest : public ::testing::Test {
protected:
    void SetUp() override {
        const std::string path = (folder.path() / "notify").string();
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
        ASSERT_EQ(::bind(manager, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
    }
    void TearDown() override {
        for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) ::unsetenv(name);
        ::close(manager);
    }
    std::vector<std::string> heard(std::chrono::milliseconds patience = 0ms) const {
        std::vector<std::string> all;
        pollfd polled{manager, POLLIN, 0};
        while (::poll(&polled, 1, static_cast<int>(patience.count())) > 0) {
            std::string text(256, '\0');
            const auto size = ::recv(manager, text.data(), text.size(), 0);
            text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
            all.push_back(std::move(text));
        }
        return all;
    }

    fakes::testing::TemporaryFolder folder;
    int manager = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    UvLoop loop;
    SystemClock clock;
};

TEST_F(ServiceNotifyTest, TheWatchdogHearsOfALoopThatTurnsAndNothingOfOneThatIsStuck) {
    engine::Scope scope(loop);
    scope.spawn(feed_watchdog(clock, 10ms));
    std::size_t signs = 0;
    EXPECT_TRUE(loop.run_until(
        [&] {
            for (const std::string& sign : heard()) {
                EXPECT_EQ(sign, "WATCHDOG=1");
                ++signs;
            }
            return signs >= 3;
        },
        20s));
    EXPECT_TRUE(heard(100ms).empty()) << "nobody has turned the loop since";
}

TEST_F(ServiceNotifyTest, OnlyTheProcessThatIsWatchedGivesSigns) {
    EXPECT_FALSE(watchdog_limit());
    ::setenv("WATCHDOG_USEC", "30000000", 1);
    EXPECT_EQ(watchdog_limit(), engine::Duration(30s));
    ::setenv("WATCHDOG_PID", "1", 1);
    EXPECT_FALSE(watchdog_limit());
    ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
    EXPECT_TRUE(watchdog_limit());
    ::setenv("WATCHDOG_USEC", "30s", 1);
    EXPECT_FALSE(watchdog_limit());
}

}  // namespace
}  // namespace lockstep::prod
