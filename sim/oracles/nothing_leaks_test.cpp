#include "sim/oracles/nothing_leaks.h"

#include <gmock/gmock.h>

#include <chrono>

#include "sim/oracles/test_oracle.h"

namespace lockstep::sim {
namespace {

using namespace std::chrono_literals;
using fakes::EventKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kSagaLock = "saga:trip:lock";
constexpr const char* kTickLock = "cordum:reconciler:default";
constexpr std::int64_t kSomeTime = 1'000'000'000'000'000;

class NothingLeaksTest : public ::testing::Test {
protected:
    void grant(EventKind kind, const char* key, std::int64_t expires_at) {
        fakes::Event event = testing::event_of(kind, {});
        event.key = key;
        event.number = expires_at;
        oracle.on_event(event, now);
        keys.set_string(key, "token", expires_at);
    }
    void rest_after(engine::Duration wait) {
        now += wait;
        oracle.on_event(testing::event_of(EventKind::timer, {}), now);
        oracle.at_rest({.redis = keys, .quiet = true});
    }

    Time now{10s};
    testing::KeepingJudge judge;
    engine::Tunables tunables;
    NothingLeaks oracle{judge, tunables};
    fakes::redis::Keyspace keys;
};

TEST_F(NothingLeaksTest, NoLockOfAnyKindIsGrantedForEver) {
    for (const char* key : {kSagaLock, kTickLock, "cordum:scheduler:snapshot:writer"}) {
        judge.found.clear();
        grant(EventKind::lock_acquired, key, fakes::redis::kNever);
        EXPECT_THAT(judge.found, ElementsAre(HasSubstr("is granted for ever"))) << key;
    }
    judge.found.clear();
    rest_after(0s);
    EXPECT_EQ(judge.found.size(), 3U) << "and at rest it is still there";
}

TEST_F(NothingLeaksTest, NorMadeToLastForEverLater) {
    grant(EventKind::lock_acquired, kTickLock, kSomeTime);
    EXPECT_THAT(judge.found, IsEmpty());
    grant(EventKind::lock_renewed, kTickLock, fakes::redis::kNever);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("is granted for ever")));
}

TEST_F(NothingLeaksTest, ARollbacksLockIsGoneAfterItsLongestTime) {
    grant(EventKind::lock_acquired, kSagaLock, kSomeTime);
    rest_after(tunables.saga_lock_ttl);
    EXPECT_THAT(judge.found, IsEmpty()) << "its holder may have died with it";
    rest_after(tunables.saga_lock_ttl);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("saga:trip:lock was taken")));
}

TEST_F(NothingLeaksTest, WhoTicksKeepsItsLock) {
    grant(EventKind::lock_acquired, kTickLock, kSomeTime);
    rest_after(1h);
    EXPECT_THAT(judge.found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
