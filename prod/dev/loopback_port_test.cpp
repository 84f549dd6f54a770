// A port that a server is about to listen on.
#include "prod/dev/loopback_port.h"

#include <gtest/gtest.h>

#include <system_error>

#include "prod/dev/test_listener.h"

namespace lockstep::prod {
namespace {

TEST(LoopbackPort, TwoFreeOnesDiffer) {
    const LoopbackPort one(0);
    const LoopbackPort other(0);
    EXPECT_NE(one.number(), other.number());
}

TEST(LoopbackPort, AServerCanListenOnIt) {
    const LoopbackPort port(0);
    EXPECT_TRUE(testing::Listener(port.number()).listens());
}

TEST(LoopbackPort, TheWantedOneIsHadUnlessSomebodyListensThere) {
    int number = 0;
    {
        const LoopbackPort free(0);
        number = free.number();
    }
    const LoopbackPort wanted(number);
    EXPECT_EQ(wanted.number(), number);
    const testing::Listener server(number);
    EXPECT_TRUE(server.listens());
    EXPECT_THROW(const LoopbackPort taken(number), std::system_error);
}

}  // namespace
}  // namespace lockstep::prod
