#include "prod/ctl/run_view.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/runs/run_document.h"
#include "engine/wire/rfc3339.h"

namespace lockstep::prod {
namespace {

using nlohmann::json;

const engine::WallTime kNow = *engine::wire::parse_rfc3339("2026-11-24T12:01:05Z");

const json kDefinition{{"id", "trip"},
                       {"steps",
                        {{"book", {{"topic", "job.book"}}},
                         {"wait", {{"type", "delay"}, {"delay_sec", 90}, {"depends_on", {"book"}}}},
                         {"each", {{"for_each", "input.seats"}, {"depends_on", {"book"}}}},
                         {"pay", {{"depends_on", {"wait", "each"}}, {"on_error", "sorry"}}},
                         {"sorry", {{"type", "notify"}}}}}};

json run() {
    return {{"id", "trip-1"},
            {"workflow_id", "trip"},
            {"status", "running"},
            {"created_at", "2026-11-24T11:59:59.5Z"},
            {"started_at", "2026-11-24T12:00:00Z"},
            {"triggered_by", "ann"},
            {"steps",
             {{"book",
               {{"status", "succeeded"},
                {"attempts", 2},
                {"started_at", "2026-11-24T12:00:00.5Z"},
                {"completed_at", "2026-11-24T12:00:02.75Z"}}},
              {"wait",
               {{"status", "running"},
                {"attempts", 1},
                {"started_at", "2026-11-24T12:00:02.8Z"},
                {"next_attempt_at", "2026-11-24T12:01:32.8Z"}}},
              {"each", {{"status", "running"}, {"attempts", 1}, {"started_at", "2026-11-24T12:00:02.8Z"}}},
              {"each[0]", {{"status", "waiting"}, {"started_at", "2026-11-24T12:00:03Z"}}},
              {"each[10]",
               {{"status", "failed"},
                {"started_at", "2026-11-24T12:00:03Z"},
                {"completed_at", "2026-11-24T12:00:04Z"},
                {"error", {{"message", "no\nseat"}}}}},
              {"each[2]", {{"status", "pending"}}}}}};
}

TEST(RunView, ShowsStepsInTheOrderInWhichTheyComeWithTheirTimes) {
    EXPECT_EQ(draw_run(run(), kDefinition, kNow, RunStyle::plain),
              "trip-1  trip  running  for 1m05s so far\n"
              "  created   2026-11-24T11:59:59.5Z\n"
              "  began     2026-11-24T12:00:00Z\n"
              "  by        ann\n"
              "  book        succeeded  +0.5s  took 2.2s  try 2\n"
              "  each        running    +2.8s  for 1m02s so far\n"
              "    each[0]   waiting    +3.0s  for 1m02s so far  waits for an approval\n"
              "    each[10]  failed     +3.0s  took 1.0s  no?seat\n"
              "    each[2]   pending\n"
              "  wait        running    +2.8s  for 1m02s so far  due in 27.8s\n"
              "  pay         pending    after wait, each\n"
              "  sorry       pending    after pay\n");
}

TEST(RunView, DrawsLinesAndColoursOnATerminal) {
    const std::string drawn = draw_run(run(), kDefinition, kNow, RunStyle::terminal);
    EXPECT_NE(drawn.find("├─ book        \x1b[32msucceeded\x1b[0m  +0.5s"), std::string::npos) << drawn;
    EXPECT_NE(drawn.find("│  └─ each[2]   \x1b[2mpending\x1b[0m\n"), std::string::npos) << drawn;
    EXPECT_NE(drawn.find("└─ sorry"), std::string::npos) << drawn;
}

TEST(RunView, AnEndedRunSaysHowLongItTookAndWhatWentWrong) {
    json ended = run();
    ended["status"] = "failed";
    ended["completed_at"] = "2026-11-24T14:05:00Z";
    ended["error"] = {{"message", "step each: no seat"}};
    ended["steps"]["pay"] = {{"status", "skipped"}, {"skip_reason", "each has failed"}};
    const std::string drawn = draw_run(ended, kDefinition, kNow, RunStyle::plain);
    EXPECT_NE(drawn.find("trip-1  trip  failed  took 2h05m\n"), std::string::npos) << drawn;
    EXPECT_NE(drawn.find("  error     step each: no seat\n"), std::string::npos) << drawn;
    EXPECT_NE(drawn.find("  pay         skipped    each has failed\n"), std::string::npos) << drawn;
}

// Ranking them by rounds over all steps took minutes for as many.
TEST(RunView, ALongChainIsDrawnAtOnceWhateverItsSteps) {
    constexpr int kSteps = 3'000;
    json steps = json::object();
    const auto name = [](int n) { return "s" + std::to_string(100'000 - n); };
    for (int n = 0; n < kSteps; ++n)
        steps[name(n)] = {{"depends_on", n == 0 ? json::array() : json::array({name(n - 1)})}};
    const std::string drawn = draw_run({{"id", "r"}}, {{"steps", steps}}, kNow, RunStyle::plain);
    std::size_t place = 0;
    for (int n = 0; n < kSteps && place != std::string::npos; ++n) place = drawn.find("\n  " + name(n) + " ", place);
    EXPECT_NE(place, std::string::npos);
}

// A gateway of the reference writes documents, too, and nobody checks them.
TEST(RunView, MakesSomethingOfAnyDocument) {
    EXPECT_EQ(draw_run(json::object(), json(), kNow, RunStyle::plain), "    \n");
    const json circle{{"steps",
                       {{"a", {{"type", "parallel"}, {"input", {{"steps", {"b"}}}}, {"depends_on", {"b"}}}},
                        {"b", {{"type", "parallel"}, {"input", {{"steps", {"a"}}}}, {"depends_on", {"a"}}}}}}};
    const std::string drawn =
        draw_run({{"id", "r"}, {"steps", {{"x[1", 7}, {"b", {{"status", 3}}}}}}, circle, kNow, RunStyle::plain);
    EXPECT_NE(drawn.find("a "), std::string::npos) << drawn;
    EXPECT_NE(drawn.find("b "), std::string::npos) << drawn;
}

}  // namespace
}  // namespace lockstep::prod
