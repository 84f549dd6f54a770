#include "sim/run/world_dumper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "sim/run/run_scenario.h"
#include "sim/scenario/loader.h"

namespace lockstep::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

/// The story in which a lock is stolen: a scheduler loses it with the data of Redis, and another takes it.
class Dumps : public ::testing::Test {
protected:
    Dumps() {
        const auto path = std::filesystem::path(LOCKSTEP_SCENARIOS) / "mechanisms" / "lock_fencing.json";
        auto loaded = load_scenario(path, {.overrides = {}, .without = {"lock_fencing"}});
        EXPECT_TRUE(loaded);
        scenario = std::move(*loaded);
        history = run_scenario(scenario, 1, {.history = true}).history;
    }
    [[nodiscard]] std::vector<WorldDump> at(std::vector<std::uint64_t> events) const {
        RunOptions options;
        options.dump_at = std::move(events);
        return run_scenario(scenario, 1, options).dumps;
    }
    /// The number of the nth event of this kind about the job's lock, from 1.
    [[nodiscard]] std::uint64_t number_of(fakes::EventKind kind, int nth) const {
        const TextId lock = history->texts.find("cordum:scheduler:job:stolen");
        for (std::size_t i = 0; i < history->events.size(); ++i) {
            const HistoryEvent& event = history->events[i];
            if (event.kind == kind && event.key == lock && --nth == 0) return i + 1;
        }
        ADD_FAILURE() << "no such event";
        return 1;
    }

    Scenario scenario;
    std::shared_ptr<const History> history;
};

TEST_F(Dumps, SayWhoHoldsALockAndWhoHasAMessageInHand) {
    const std::uint64_t taken = number_of(fakes::EventKind::lock_acquired, 1);
    const auto dumps = at({taken});
    ASSERT_THAT(dumps, SizeIs(1));
    const auto lock = dumps.front().locks.find("cordum:scheduler:job:stolen");
    ASSERT_NE(lock, dumps.front().locks.end());
    EXPECT_THAT(lock->second.shown, HasSubstr("held by scheduler-"));
    EXPECT_THAT(lock->second.shown, HasSubstr("TTL 60.000s")) << "it has only just been taken";
    EXPECT_THAT(to_text(dumps.front()), HasSubstr("delivery 1, to scheduler-"));
}

TEST_F(Dumps, AreOfThatEventAndOfNoneAfterIt) {
    const std::uint64_t taken = number_of(fakes::EventKind::lock_acquired, 1);
    const auto dumps = at({taken - 1, taken});
    ASSERT_THAT(dumps, SizeIs(2));
    EXPECT_FALSE(dumps.front().locks.contains("cordum:scheduler:job:stolen"));
    EXPECT_TRUE(dumps.back().locks.contains("cordum:scheduler:job:stolen"));
    EXPECT_THAT(difference_text(dumps.front(), dumps.back()), HasSubstr("\n+ cordum:scheduler:job:stolen  held by "));
}

TEST_F(Dumps, AreTheSameEveryTimeHoweverManyAreTaken) {
    const std::uint64_t lost = number_of(fakes::EventKind::lock_expired, 1);
    const auto alone = at({lost});
    const auto among = at({5, lost - 3, lost});
    ASSERT_THAT(alone, SizeIs(1));
    ASSERT_THAT(among, SizeIs(3));
    EXPECT_EQ(to_text(alone.front()), to_text(among.back()));
}

TEST_F(Dumps, TimeAloneIsNoDifference) {
    const std::uint64_t taken = number_of(fakes::EventKind::lock_acquired, 1);
    const auto dumps = at({taken + 1, taken + 2});  // its script has taken effect, and is answered some time later
    ASSERT_THAT(dumps, SizeIs(2));
    EXPECT_NE(to_text(dumps.front()), to_text(dumps.back()));
    EXPECT_THAT(difference_text(dumps.front(), dumps.back()), Not(HasSubstr("expires at")));
}

TEST_F(Dumps, OfAnEventThatNeverComesThereIsNone) { EXPECT_THAT(at({3, history->events.size() + 1}), SizeIs(1)); }

}  // namespace
}  // namespace lockstep::sim
