// A run takes nothing from the process that it is made in: not the locale, not the time zone, not the thread; and nothing from its judge.
#include <gtest/gtest.h>
#include <time.h>

#include <clocale>
#include <cstdlib>
#include <iterator>
#include <locale>
#include <sstream>
#include <thread>
#include <vector>

#include "sim/run/run_scenario.h"
#include "sim/scenario/loader.h"

namespace lockstep::sim {
namespace {

/// Something of everything that could format or read a number: rates, fractions, thousands, metrics, policy, retries.
constexpr std::string_view kScenario = R"({
    "name": "surroundings", "seed": 3, "duration": "20m",
    "cluster": {
      "schedulers": 2, "config": {"backoff_base": "1.5s"},
      "workers": [{"id": "w", "count": 3, "max_parallel_jobs": 4,
                   "service_time": {"dist": "lognormal", "median": "1.25s", "sigma": 0.75},
                   "outcomes": {"SUCCEEDED": 0.9, "FAILED_RETRYABLE": 0.1}}]
    },
    "load": [{"at": "1s", "topic": "job.default", "count": 60, "rate": "7.5/s"}],
    "faults": [{"at": "4s", "do": "redis.errors", "rate": 0.25, "outcome": "unknown", "for": "3s"},
               {"at": "9s", "do": "clock_jump", "target": "scheduler-0", "by": "1234567ms"}],
    "expect": {"invariants": "all", "metrics": {"cordum_scheduler_scheduler_dispatch_latency_seconds:p99": "< 1234.5s"}}
})";

RunResult run(const RunOptions& options = {}) {
    const auto scenario = parse_scenario(kScenario, "surroundings.json");
    if (!scenario) {
        ADD_FAILURE() << to_string(scenario.error().front());
        return {};
    }
    RunResult result = run_scenario(*scenario, 3, options);
    EXPECT_EQ(result.error, "");
    EXPECT_TRUE(result.passed);
    return result;
}

void expect_same_history(const RunResult& a, const RunResult& b) {
    EXPECT_EQ(a.digest, b.digest);
    EXPECT_EQ(a.events, b.events);
    EXPECT_EQ(a.states, b.states);
    EXPECT_EQ(a.metrics, b.metrics);
    EXPECT_EQ(a.virtual_ms, b.virtual_ms);
}

void expect_same(const RunResult& a, const RunResult& b) {
    expect_same_history(a, b);
    EXPECT_EQ(a.exercised, b.exercised);
}

/// 1.234.567,5, as most of Europe writes.
struct DecimalComma final : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
};

TEST(Surroundings, AnotherLocaleOfTheLibraryChangesNothing) {
    const RunResult before = run();
    const std::locale old = std::locale::global(std::locale(std::locale::classic(), new DecimalComma));
    std::ostringstream shown;
    shown << 1234.5;
    EXPECT_EQ(shown.str(), "1.234,5") << "the locale is in force";
    const RunResult inside = run();
    std::locale::global(old);
    expect_same(before, inside);
}

/// A German locale of the C library, made in a folder of our own where the system has none; whether there is one.
bool german_locale() {
    if (std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr) return true;
    const std::string folder = ::testing::TempDir() + "lockstep-locales";
    const std::string command = "mkdir -p " + folder + " && localedef -i de_DE -f UTF-8 --no-archive " + folder +
                                "/de_DE.UTF-8 >/dev/null 2>&1";
    (void)std::system(command.c_str());  // what it came to shows below
    ::setenv("LOCPATH", folder.c_str(), 1);
    return std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr;
}

TEST(Surroundings, AnotherLocaleOfTheCLibraryChangesNothing) {
    const RunResult before = run();
    if (!german_locale()) GTEST_SKIP() << "this system has no German locale, and nothing to make one from";
    EXPECT_STREQ(std::localeconv()->decimal_point, ",") << "the locale is in force";
    const RunResult inside = run();
    std::setlocale(LC_ALL, "C");
    ::unsetenv("LOCPATH");
    expect_same(before, inside);
}

TEST(Surroundings, AnotherTimeZoneChangesNothing) {
    const RunResult before = run();
    ::setenv("TZ", "UTC-13:45", 1);
    ::tzset();
    const time_t epoch = 0;
    tm local{};
    EXPECT_EQ(::localtime_r(&epoch, &local)->tm_hour, 13) << "the time zone is in force";
    const RunResult inside = run();
    ::unsetenv("TZ");
    ::tzset();
    expect_same(before, inside);
}

TEST(Surroundings, JudgingChangesNothing) {
    const RunResult judged = run();
    const RunResult alone = run({.judge = false});
    expect_same_history(judged, alone);
    EXPECT_GT(judged.exercised.at("legal_transitions"), 0U);
    EXPECT_TRUE(alone.exercised.empty());
}

TEST(Surroundings, RunsSideBySideDoNotMeet) {
    const RunResult alone = run();
    std::vector<RunResult> results(4);
    {
        std::vector<std::jthread> threads;
        for (RunResult& result : results) threads.emplace_back([&result] { result = run(); });
    }
    for (const RunResult& result : results) expect_same(alone, result);
}

}  // namespace
}  // namespace lockstep::sim
