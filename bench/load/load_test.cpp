// What is computed from what the servers and the kernel tell, without a server.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/load/costs.h"
#include "bench/load/figures.h"
#include "bench/load/measure.h"
#include "bench/load/processes.h"
#include "bench/load/report.h"

namespace lockstep::bench {
namespace {

TEST(Quantiles, AreValuesThatOccurredAtTheirRank) {
    std::vector<double> values;
    for (int i = 1; i <= 1000; ++i) values.push_back(i);
    EXPECT_EQ(quantile(values, 0.5), 500);
    EXPECT_EQ(quantile(values, 0.9), 900);
    EXPECT_EQ(quantile(values, 0.99), 990);
    EXPECT_EQ(quantile(values, 0.999), 999);
    EXPECT_EQ(quantile(values, 1), 1000);
    EXPECT_EQ(quantile({7}, 0.001), 7);
    EXPECT_EQ(quantile({1, 2, 3}, 0.5), 2);
}

Figures figures(std::initializer_list<std::pair<const char*, double>> values) {
    Figures all;
    for (const auto& [path, value] : values) all.set(path, value);
    return all;
}

TEST(Figures, WhatDidNotHappenInARoundIsZeroInIt) {
    const Figures middle = medians({figures({{"a", 3}, {"rare", 4}}), figures({{"a", 1}}), figures({{"a", 2}})});
    EXPECT_EQ(middle.at("a"), 2);
    EXPECT_EQ(middle.at("rare"), 0);
    EXPECT_EQ(medians({figures({{"a", 1}}), figures({{"a", 4}})}).at("a"), 2.5);
}

TEST(Figures, AreRelatedWhereBothHaveThem) {
    const Figures relation = ratios(figures({{"a", 4}, {"none", 0}, {"only_a", 1}}), figures({{"a", 1}, {"none", 2}}));
    EXPECT_EQ(relation.at("a"), 0.25);
    EXPECT_FALSE(relation.contains("none"));
    EXPECT_FALSE(relation.contains("only_a"));
}

History job(UnixMicros submitted, UnixMicros dispatched) {
    return {
        {submitted, "PENDING"}, {dispatched, "SCHEDULED"}, {dispatched, "DISPATCHED"}, {dispatched + 5, "SUCCEEDED"}};
}

/// Ten a second: jobs are planned for 0, 100, 200 and 300 ms.
constexpr double kTen = 10;
constexpr UnixMicros kBegan = 1'700'000'000'000'000;

TEST(Latencies, CountFromThePlanAndNotFromALateSubmission) {
    const Latencies times =
        latencies({job(kBegan, kBegan + 2'000), job(kBegan + 100'000, kBegan + 103'000),
                   job(kBegan + 900'000, kBegan + 901'000), job(kBegan + 901'000, kBegan + 902'000)},
                  kTen);
    EXPECT_EQ(times.dispatched_ms, (std::vector<double>{2, 3, 602, 701}));
    EXPECT_EQ(times.submitted_ms, (std::vector<double>{0, 0, 601, 700}));
}

TEST(Latencies, AFirstJobThatIsLateDelaysNoPlan) {
    const Latencies times =
        latencies({job(kBegan + 50'000, kBegan + 51'000), job(kBegan + 100'000, kBegan + 101'000)}, kTen);
    EXPECT_EQ(times.began, kBegan);
    EXPECT_EQ(times.dispatched_ms, (std::vector<double>{1, 51}));
}

TEST(Latencies, AJobThatWasNeverDispatchedIsNoMeasurement) {
    EXPECT_THROW((void)latencies({{{kBegan, "PENDING"}, {kBegan, "DENIED"}}}, kTen), Failed);
    EXPECT_THROW((void)latencies({{}}, kTen), Failed);
}

TEST(RedisCounts, AreReadFromInfo) {
    const RedisCounts counts = counts_in(
        "# Stats\r\ntotal_net_input_bytes:1000\r\ntotal_net_output_bytes:500\r\ntotal_net_repl_input_bytes:10\r\n"
        "total_net_repl_output_bytes:200\r\ntotal_reads_processed:7\r\n# Commandstats\r\n"
        "cmdstat_evalsha:calls=5,usec=900,usec_per_call=180.00,rejected_calls=0,failed_calls=0\r\n"
        "cmdstat_eval:calls=1,usec=50,usec_per_call=50.00,rejected_calls=0,failed_calls=0\r\n"
        "cmdstat_script|load:calls=2,usec=30,usec_per_call=15.00,rejected_calls=0,failed_calls=0\r\n");
    EXPECT_EQ(counts.calls, (std::map<std::string, double>{{"eval", 1}, {"evalsha", 5}, {"script|load", 2}}));
    EXPECT_EQ(counts.script_us, 950);
    EXPECT_EQ(counts.reads, 7);
    EXPECT_EQ(counts.bytes_in, 990);
    EXPECT_EQ(counts.bytes_out, 300);
    EXPECT_EQ(counts.replication_bytes, 210);
}

TEST(Costs, AreWhatLiesBetweenTwoSnapshotsForEachJob) {
    Snapshot before;
    before.redis.calls = {{"evalsha", 10}, {"zadd", 4}};
    before.redis.bytes_in = 100;
    before.cpu_seconds = {{kRedis, 1}, {kSchedulers, 3}};
    Snapshot after = before;
    after.redis.calls = {{"evalsha", 60}, {"zadd", 4}, {"wait", 20}};
    after.redis.bytes_in = 1100;
    after.cpu_seconds = {{kRedis, 1.5}, {kSchedulers, 4}, {kSubmitter, 0.1}};
    after.at_seconds = 2;
    after.machine_cpu_seconds = 2.5;
    const Figures costs = costs_between(before, after, 10, Submitted::before);
    EXPECT_EQ(costs.at("redis_per_job/evalsha"), 5);
    EXPECT_EQ(costs.at("redis_per_job/wait"), 2);
    EXPECT_EQ(costs.at("redis_per_job/commands"), 7);
    EXPECT_EQ(costs.at("redis_per_job/bytes_in"), 100);
    EXPECT_FALSE(costs.contains("redis_per_job/command/zadd"));
    EXPECT_DOUBLE_EQ(costs.at("cpu_us_per_job/redis-server"), 50'000);
    EXPECT_DOUBLE_EQ(costs.at("cpu_us_per_job/scheduler"), 100'000);
    EXPECT_DOUBLE_EQ(costs.at("machine/cores_busy_for_others"), 0.5);
    const Figures meanwhile = costs_between(before, after, 10, Submitted::meanwhile);
    EXPECT_NEAR(meanwhile.at("machine/cores_busy_for_others"), 0.45, 1e-9);
}

TEST(Bound, IsForASchedulerThatCostsNothing) {
    const Figures costs = figures({{"cpu_us_per_job/redis-server", 100},
                                   {"cpu_us_per_job/nats-server", 50},
                                   {"cpu_us_per_job/lockstep-kernel", 30},
                                   {"cpu_us_per_job/workers", 20},
                                   {"cpu_us_per_job/scheduler", 1000},
                                   {"cpu_us_per_job/submitter", 200}});
    const double most = cores() * 1e6 / 200;
    const Figures bound = bound_of(costs, most / 4, Submitted::before);
    EXPECT_DOUBLE_EQ(bound.at("jobs_per_second"), most);
    EXPECT_DOUBLE_EQ(bound.at("reached"), 0.25);
    EXPECT_DOUBLE_EQ(bound.at("jobs_per_second_of_redis"), 10'000);
    EXPECT_DOUBLE_EQ(bound_of(costs, 1, Submitted::meanwhile).at("jobs_per_second"), most / 2);
}

TEST(ProcessTable, CountsAProcessWithAllThatItHasStarted) {
    int gate[2];
    ASSERT_EQ(::pipe(gate), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        char byte = 0;
        ::close(gate[1]);
        ::_exit(static_cast<int>(::read(gate[0], &byte, 1)));  // until the other end closes
    }
    const ProcessTable table = ProcessTable::read();
    const auto tree = table.tree(::getpid());
    EXPECT_NE(std::ranges::find(tree, child), tree.end());
    EXPECT_EQ(table.tree(child), std::vector<pid_t>{child});
    EXPECT_GT(peak_resident_bytes(table, ::getpid()), 1e6);
    ::close(gate[0]);
    ::close(gate[1]);
    siginfo_t ended{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
    EXPECT_TRUE(ProcessTable::read().tree(child).empty()) << "a zombie is nobody to wait for";
    ::waitpid(child, nullptr, 0);
}

TEST(ProcessTable, SeesTimeGoByForWhoeverWorks) {
    const double before = ProcessTable::read().cpu_of(::getpid());
    while (ProcessTable::read().cpu_of(::getpid()) <= before) {
    }
    EXPECT_GE(cpu_of_machine(), before);
}

Plan plan_of_two() {
    Plan plan;
    plan.rounds = 2;
    Variant b;
    b.name = "B";
    b.environment["LOCKSTEP_X"] = "1";
    plan.variants = {Variant{}, b};
    return plan;
}

TEST(Report, ShowsEachRoundTheMediansAndHowTheyRelate) {
    const Rounds rounds{
        {figures({{"closed_loop/jobs_per_second", 100}}), figures({{"closed_loop/jobs_per_second", 300}})},
        {figures({{"closed_loop/jobs_per_second", 40}}), figures({{"closed_loop/jobs_per_second", 60}})}};
    const std::string text = as_text(plan_of_two(), rounds);
    EXPECT_NE(text.find("  jobs per second                             200       50.0    0.25   100 300 | 40.0 60.0"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("LOCKSTEP_X=1"), std::string::npos) << text;

    const auto document = nlohmann::json::parse(as_json(plan_of_two(), rounds, "1.2.3"));
    EXPECT_EQ(document["build"], "1.2.3");
    EXPECT_EQ(document["variants"][1]["rounds"][1]["closed_loop"]["jobs_per_second"], 60);
    EXPECT_EQ(document["variants"][0]["medians"]["closed_loop"]["jobs_per_second"], 200);
    EXPECT_EQ(document["ratios"]["closed_loop"]["jobs_per_second"], 0.25);
}

TEST(Report, HasEachHeadingOnceThoughALaterRoundCountsSomethingNew) {
    Plan plan = plan_of_two();
    plan.variants.pop_back();
    const std::string text =
        as_text(plan, {{figures({{"loop/redis/get", 1}, {"loop/cpu/nats", 1}}),
                        figures({{"loop/redis/get", 1}, {"loop/cpu/nats", 1}, {"loop/redis/del", 3}})}});
    EXPECT_EQ(text.find("  redis\n"), text.rfind("  redis\n")) << text;
    EXPECT_LT(text.find("    del"), text.find("  cpu\n")) << text;
}

}  // namespace
}  // namespace lockstep::bench
