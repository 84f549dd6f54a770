// What is shown while it runs.
#include "prod/dev/dev_view.h"

#include <gtest/gtest.h>

namespace lockstep::prod {
namespace {

Overview look() {
    Overview overview;
    overview.at = 1'800'000'001'000'000;
    overview.snapshot_at = 1'800'000'000'500'000;
    overview.jobs = {{"PENDING", 0}, {"RUNNING", 2}, {"SUCCEEDED", 40}};
    overview.workers = {{"w1", {.pool = "default", .active = 2, .capacity = 4}},
                        {"w2", {.pool = "gpu", .active = 0, .capacity = 1}}};
    overview.submissions = MessagesWaiting{.waiting = 3, .in_hand = 1};
    return overview;
}

TEST(DevView, ALineForAFileHasTheCountersAlone) {
    EXPECT_EQ(dev_line(look(), {.running = 1, .of = 2}),
              "jobs: 2 RUNNING, 40 SUCCEEDED; workers: 2, 2 jobs in hand; replicas: 1 of 2\n");
    Overview later = look();
    later.at += 1'000'000;
    EXPECT_EQ(dev_line(later, {.running = 1, .of = 2}), dev_line(look(), {.running = 1, .of = 2}))
        << "time alone is no news";
    EXPECT_EQ(dev_line({}, {}), "jobs: none; workers: 0, 0 jobs in hand; replicas: 0 of 0\n");
}

TEST(DevView, TheScreenAlsoNamesReplicasAndTheWayOut) {
    const std::string text = dev_screen(look(), nullptr, {.running = 1, .of = 2});
    for (const char* part : {"jobs      2 RUNNING, 40 SUCCEEDED\n", "submissions: 3 not delivered yet, 1 in hand", "w1",
                             "replicas  1 of 2\n", "Ctrl-C"})
        EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
}

}  // namespace
}  // namespace lockstep::prod
