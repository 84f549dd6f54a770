#include "prod/observe/queue_watch.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <utility>

#include "engine/testing/scripted_bus.h"
#include "engine/testing/scripted_redis.h"
#include "engine/testing/virtual_loop.h"

namespace lockstep::prod {
namespace {

using engine::RedisValue;
using engine::testing::ScriptedRedis;

constexpr std::string_view kDurable = "dur_scheduler_sys_job_submit";

class QueueWatchTest : public testing::Test {
protected:
    QueueWatchTest() {
        redis.answer = [this](const std::vector<engine::RedisCommand>& commands) -> ScriptedRedis::Replies {
            if (!redis_answers) return ScriptedRedis::unknown();
            std::vector<RedisValue> replies;
            for (const auto& command : commands) replies.push_back(reply_to(command));
            return replies;
        };
        bus.on_read = [this](const std::string&,
                             engine::StreamSequence from) -> engine::Outcome<std::optional<engine::StoredMessage>> {
            asked_from = from.value();
            return oldest;
        };
        watch.know(
            {.stream = "CORDUM_SYS", .subject = "sys.job.submit", .queue = "q", .durable = std::string(kDurable)});
    }
    RedisValue reply_to(const engine::RedisCommand& command) {
        if (command[0] == "TIME") return RedisValue::Array{std::string("1000"), std::string("500000")};
        if (command[0] == "INFO") return RedisValue(memory);
        if (command[0] == "HGETALL") return counts;
        if (command[0] == "ZSCORE") return waiting.contains(command[2]) ? RedisValue(std::string("1")) : RedisValue();
        if (command[1] == "lockstep:capacity:waiting") return first(waiting);
        const bool is_pending = command[1] == "job:index:pending";
        if (command[0] == "ZCARD") return RedisValue(std::int64_t{is_pending ? 3 : 0});
        if (!is_pending) return RedisValue::Array{};
        if (command[3] == "0") return first(pending);
        RedisValue::Array page;
        const auto from = static_cast<std::size_t>(std::stoi(command[2]));
        for (std::size_t i = from; i < pending.size() && i <= from + 255; ++i) {
            page.emplace_back(pending[i].first);
            page.emplace_back(pending[i].second);
        }
        return page;
    }
    static RedisValue first(const auto& members) {
        if (members.empty()) return RedisValue::Array{};
        return RedisValue::Array{members.begin()->first, members.begin()->second};
    }
    void look() {
        engine::Scope scope(loop);
        scope.spawn(watch.look());
        loop.run_for(std::chrono::seconds(1));
    }
    [[nodiscard]] bool shows(const std::string& line) const {
        return metrics.text().find(line + "\n") != std::string::npos;
    }
    [[nodiscard]] std::string of_durable(const std::string& name) const {
        return "lockstep_consumer_" + name + R"({pod="p",durable=")" + std::string(kDurable) + R"("})";
    }

    engine::testing::VirtualLoop loop;
    engine::testing::VirtualClock clock{loop};
    ScriptedRedis redis{clock};
    engine::testing::ScriptedBus bus{clock};
    PrometheusMetrics metrics{"p"};
    QueueWatch watch{redis, bus, clock, metrics};
    bool redis_answers = true;
    std::vector<std::pair<std::string, std::string>> pending{{"J1", "910500000"}};
    std::map<std::string, std::string> waiting;
    RedisValue::Array counts;
    std::string memory =
        "# Memory\r\nused_memory:3000\r\nused_memory_peak:9\r\ntotal_system_memory:8000\r\nmaxmemory:4000\r\n";
    std::optional<engine::StoredMessage> oldest;
    std::uint64_t asked_from = 0;
};

// O12
TEST_F(QueueWatchTest, ShowsHowManyJobsWaitAndSinceWhenTheOldestDoes) {
    look();
    EXPECT_TRUE(shows(R"(lockstep_jobs{pod="p",state="PENDING"} 3)")) << metrics.text();
    EXPECT_TRUE(shows(R"(lockstep_oldest_job_age_seconds{pod="p",state="PENDING"} 90)"));
    EXPECT_TRUE(shows(R"(lockstep_jobs{pod="p",state="RUNNING"} 0)"));
    EXPECT_TRUE(shows(R"(lockstep_oldest_job_age_seconds{pod="p",state="RUNNING"} 0)"));
}

// Three hundred jobs wait for capacity, longer than one that no scheduler has taken up.
TEST_F(QueueWatchTest, JobsThatWaitForCapacityAreShownByPoolAndAreNoOrphans) {
    pending.clear();
    for (int i = 0; i < 300; ++i) {
        pending.emplace_back("W" + std::to_string(i), "400500000");
        waiting["W" + std::to_string(i)] = "100500000";
    }
    counts = {std::string("1;3:gpu."),
              std::string("200"),
              std::string("2;3:cpu3:gpu."),
              std::string("70"),
              std::string("1;3:gpu4:disk3:ssd."),
              std::string("30")};
    look();
    EXPECT_TRUE(shows(R"(lockstep_capacity_waiting{pod="p",pool="gpu"} 230)")) << metrics.text();
    EXPECT_TRUE(shows(R"(lockstep_capacity_waiting{pod="p",pool="cpu,gpu"} 70)"));
    EXPECT_TRUE(shows(R"(lockstep_capacity_oldest_wait_seconds{pod="p"} 900)"));
    EXPECT_TRUE(shows(R"(lockstep_oldest_job_age_seconds{pod="p",state="PENDING"} 0)"));
    pending.emplace_back("J1", "910500000");
    look();
    EXPECT_TRUE(shows(R"(lockstep_oldest_job_age_seconds{pod="p",state="PENDING"} 90)")) << metrics.text();
    waiting.clear();
    look();
    EXPECT_TRUE(shows(R"(lockstep_capacity_waiting{pod="p",pool="gpu"} 0)")) << "whatever is left of the counts";
    EXPECT_TRUE(shows(R"(lockstep_capacity_oldest_wait_seconds{pod="p"} 0)"));
    EXPECT_TRUE(shows(R"(lockstep_oldest_job_age_seconds{pod="p",state="PENDING"} 600)"));
}

TEST_F(QueueWatchTest, ShowsTheMemoryOfRedisAndWhatItMayUse) {
    look();
    EXPECT_TRUE(shows(R"(lockstep_redis_memory_used_bytes{pod="p"} 3000)")) << metrics.text();
    EXPECT_TRUE(shows(R"(lockstep_redis_memory_limit_bytes{pod="p"} 4000)"));
    memory = "used_memory:3000\r\ntotal_system_memory:8000\r\nmaxmemory:0\r\n";
    look();
    EXPECT_TRUE(shows(R"(lockstep_redis_memory_limit_bytes{pod="p"} 8000)")) << "without a limit the machine is one";
}

// O12
TEST_F(QueueWatchTest, ShowsHowFarADurableIsBehindTheFirstMessageThatItHasStillToDo) {
    bus.consumer_states[std::string(kDurable)] = {.waiting = 7, .in_hand = 2, .ack_floor = engine::StreamSequence(41)};
    oldest = engine::StoredMessage{engine::StreamSequence(50), "", "", "sys.job.submit",
                                   clock.now() - std::chrono::seconds(120)};
    look();
    EXPECT_TRUE(shows(of_durable("waiting_messages") + " 7")) << metrics.text();
    EXPECT_TRUE(shows(of_durable("in_hand_messages") + " 2"));
    EXPECT_TRUE(shows(of_durable("oldest_age_seconds") + " 120"));
    EXPECT_EQ(asked_from, 42U);
}

TEST_F(QueueWatchTest, ADurableThatHasCaughtUpIsNoSecondBehind) {
    bus.consumer_states[std::string(kDurable)] = {.waiting = 1, .in_hand = 0, .ack_floor = engine::StreamSequence(41)};
    oldest = engine::StoredMessage{engine::StreamSequence(50), "", "", "sys.job.submit",
                                   clock.now() - std::chrono::seconds(5)};
    look();
    bus.consumer_states.clear();
    look();
    EXPECT_TRUE(shows(of_durable("oldest_age_seconds") + " 0")) << metrics.text();
    EXPECT_TRUE(shows(of_durable("waiting_messages") + " 0"));
}

TEST_F(QueueWatchTest, ALookWithoutAnAnswerIsCountedAndChangesNothing) {
    look();
    redis_answers = false;
    bus.consumer_state_error = "no responders";
    look();
    EXPECT_TRUE(shows(R"(lockstep_jobs{pod="p",state="PENDING"} 3)")) << metrics.text();
    EXPECT_TRUE(shows(R"(lockstep_queue_watch_failures_total{pod="p",server="redis"} 1)"));
    EXPECT_TRUE(shows(R"(lockstep_queue_watch_failures_total{pod="p",server="nats"} 1)"));
}

TEST_F(QueueWatchTest, LooksAgainEveryFewSeconds) {
    engine::Scope scope(loop);
    scope.spawn(watch.keep_looking());
    loop.run_for(3 * QueueWatch::kInterval + std::chrono::seconds(1));
    EXPECT_EQ(redis.calls().size(), 8U) << "jobs and memory, each time";
}

}  // namespace
}  // namespace lockstep::prod
