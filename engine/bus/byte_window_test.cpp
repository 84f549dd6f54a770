// When a replica that holds much stops asking for more, and when it asks again.
#include "engine/bus/byte_window.h"

#include <gtest/gtest.h>

#include "engine/testing/recorders.h"
#include "engine/testing/scripted_bus.h"
#include "engine/testing/scripted_kernel.h"
#include "engine/testing/scripted_redis.h"

namespace lockstep::engine {
namespace {

struct Asked {
    int pauses = 0;
    int resumptions = 0;
    bool bound = true;
};

class Binding final : public Consumption {
public:
    explicit Binding(Asked& asked) : asked_(asked) {}
    ~Binding() override { asked_.bound = false; }
    void pause() override { ++asked_.pauses; }
    void resume() override { ++asked_.resumptions; }

private:
    Asked& asked_;
};

class ByteWindowTest : public ::testing::Test {
protected:
    ByteWindowTest() : ByteWindowTest(Mechanisms{}) {}
    explicit ByteWindowTest(const Mechanisms& mechanisms)
        : context(
              {loop, clock, entropy, redis, bus, kernel, metrics, log},
              [] {
                  Tunables tunables;
                  tunables.bus_bytes_in_flight = 10'000'000;
                  return tunables;
              }(),
              mechanisms) {
        window.regulate(std::make_unique<Binding>(asked));
    }

    testing::VirtualLoop loop;
    testing::VirtualClock clock{loop};
    testing::ScriptedRedis redis{clock};
    testing::ScriptedBus bus{clock};
    testing::ScriptedKernel kernel{clock};
    testing::SeededEntropy entropy;
    testing::MetricRecorder metrics;
    testing::LogRecorder log;
    Context context;
    Asked asked;
    ByteWindow window{context};
};

TEST_F(ByteWindowTest, AboveTheBoundItPausesAndBelowHalfItResumes) {
    window.take(10'000'000);
    EXPECT_EQ(asked.pauses, 0) << "the bound itself is allowed";
    window.take(1);
    EXPECT_EQ(asked.pauses, 1);
    window.take(900'000);
    window.give_back(5'900'001);
    EXPECT_EQ(asked.resumptions, 0) << "half of it is still in hand";
    window.give_back(1);
    EXPECT_EQ(asked.resumptions, 1);
    window.take(100);
    EXPECT_EQ(asked.pauses, 1);
    EXPECT_EQ(window.bytes(), 5'000'099U);
}

TEST_F(ByteWindowTest, TwoOfTheLargestMessagesAlwaysFit) {
    bus.state.max_payload = 8'000'000;
    window.take(16'000'000);
    EXPECT_EQ(asked.pauses, 0);
    window.take(1);
    EXPECT_EQ(asked.pauses, 1);
}

TEST_F(ByteWindowTest, ANewBindingIsPausedWhereMuchIsInHandAlready) {
    window.close();
    EXPECT_FALSE(asked.bound);
    window.take(20'000'000);
    EXPECT_EQ(asked.pauses, 0);
    window.regulate(std::make_unique<Binding>(asked));
    EXPECT_EQ(asked.pauses, 1);
}

// Its owner is being destroyed by then, and whoever would be told may be gone.
TEST_F(ByteWindowTest, OnceItIsClosedNobodyIsTold) {
    window.take(9'000'000);
    window.close();
    bus.state.id = 2;
    window.give_back(9'000'000);
    EXPECT_EQ(log.times_reached("cut_off_with_much_in_hand"), 0);
    EXPECT_EQ(window.bytes(), 0U);
}

TEST_F(ByteWindowTest, AConnectionThatEndsWithMuchInHandIsLoggedWithTheSetting) {
    window.take(6'000'000);
    bus.state = {.connected = false, .id = 1, .server = "server-1", .max_payload = 1'048'576};
    window.give_back(1'000);
    EXPECT_EQ(log.times_reached("cut_off_with_much_in_hand"), 1);
    bus.state = {.connected = true, .id = 2, .server = "server-1", .max_payload = 1'048'576};
    window.take(1);
    window.give_back(5'000'000);
    EXPECT_EQ(log.times_reached("cut_off_with_much_in_hand"), 1) << "once for each connection";
    bus.state.id = 3;
    window.take(1);
    EXPECT_EQ(log.times_reached("cut_off_with_much_in_hand"), 1) << "there was little in hand";
}

class UnboundedTest : public ByteWindowTest {
protected:
    UnboundedTest()
        : ByteWindowTest([] {
              Mechanisms mechanisms;
              mechanisms.switch_off(Mechanism::byte_window);
              return mechanisms;
          }()) {}
};

TEST_F(UnboundedTest, WithoutTheMechanismItOnlyCounts) {
    window.take(50'000'000);
    EXPECT_EQ(asked.pauses, 0);
    EXPECT_EQ(window.bytes(), 50'000'000U);
}

TEST_F(ByteWindowTest, GivesBackNoMoreThanItHasTaken) {
    window.take(10);
    EXPECT_THROW(window.give_back(11), InvariantViolation);
    window.give_back(10);
    EXPECT_EQ(window.bytes(), 0u);
}

}  // namespace
}  // namespace lockstep::engine
