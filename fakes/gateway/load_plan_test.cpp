#include "fakes/gateway/load_plan.h"

#include <gtest/gtest.h>

#include "engine/wire/messages.h"

namespace lockstep::fakes {
namespace {

using namespace std::chrono_literals;

LoadPlan plan_of(const std::vector<LoadItem>& items) {
    auto plan = LoadPlan::make(items, "x-");
    EXPECT_TRUE(plan.has_value());
    return std::move(*plan);
}

TEST(LoadPlan, SpreadsJobsByTheirRate) {
    LoadItem item{.at = 1s, .topic = "job.a", .count = 3, .per_second = 20};
    const LoadPlan plan = plan_of({item});
    ASSERT_EQ(plan.actions().size(), 3u);
    EXPECT_EQ(plan.actions()[0].at, 1s);
    EXPECT_EQ(plan.actions()[2].at, 1100ms);
    EXPECT_EQ(plan.actions()[2].job, "x-job-2");
    EXPECT_EQ(plan.request(2).job_id(), "x-job-2");
    EXPECT_EQ(plan.request(2).topic(), "job.a");
}

TEST(LoadPlan, OrdersByTimeAndKeepsTheOrderOfTheListWithin) {
    const LoadPlan plan = plan_of({{.at = 2s, .job_ids = {"c"}},
                                   {.at = 1s, .job_ids = {"a"}},
                                   {.at = 2s, .kind = LoadItem::Kind::cancel, .job_ids = {"c"}},
                                   {.at = 1s, .job_ids = {"b"}}});
    std::string order;
    for (const auto& action : plan.actions()) order += action.job;
    EXPECT_EQ(order, "abcc");
    EXPECT_EQ(plan.actions()[3].kind, LoadItem::Kind::cancel);
}

TEST(LoadPlan, TakesGivenIdsAndTemplates) {
    const LoadPlan plan = plan_of({{.job_ids = {"p", "q"}, .topic = "job.a", .job_json = R"({"topic": "job.b"})"},
                                   {.job_json = R"({"job_id": "own", "priority": "JOB_PRIORITY_BATCH"})"},
                                   {.count = 2}});
    ASSERT_EQ(plan.actions().size(), 5u);
    EXPECT_EQ(plan.actions()[1].job, "q");
    EXPECT_EQ(plan.request(1).topic(), "job.b");
    EXPECT_EQ(plan.actions()[2].job, "own");
    EXPECT_EQ(plan.request(2).priority(), cap::JOB_PRIORITY_BATCH);
    EXPECT_EQ(plan.actions()[4].job, "x-job-1");
}

TEST(LoadPlan, MakesThePacketsOfAStranger) {
    const LoadPlan plan = plan_of({{.at = 1s,
                                    .kind = LoadItem::Kind::forge,
                                    .count = 2,
                                    .per_second = 1,
                                    .packet_json = R"({"heartbeat": {"worker_id": "ghost", "active_jobs": -3}})"},
                                   {.at = 5s,
                                    .kind = LoadItem::Kind::forge,
                                    .packet_json = R"({"job_result": {"job_id": "j"}})",
                                    .subject = "sys.job.submit"}});
    ASSERT_EQ(plan.actions().size(), 3u);
    EXPECT_EQ(plan.actions()[1].at, 2s);
    EXPECT_EQ(plan.forged(1).subject, "sys.heartbeat");
    EXPECT_EQ(plan.forged(2).subject, "sys.job.submit");
    cap::BusPacket packet;
    ASSERT_TRUE(packet.ParseFromString(plan.forged(0).payload));
    EXPECT_EQ(packet.heartbeat().active_jobs(), -3);
}

TEST(LoadPlan, KnowsWherePacketsOfAKindBelong) {
    EXPECT_EQ(subject_of_forged(R"({"job_result": {}})"), "sys.job.result");
    EXPECT_EQ(subject_of_forged(R"({"job_request": {}})"), "sys.job.submit");
    EXPECT_EQ(subject_of_forged(R"({"handshake": {}})"), "sys.handshake");
    EXPECT_EQ(subject_of_forged(R"({"job_cancel": {}})"), "sys.job.cancel");
    EXPECT_EQ(subject_of_forged(R"({"trace_id": "x"})"), "");
    EXPECT_EQ(subject_of_forged("no packet"), "");
    EXPECT_FALSE(LoadPlan::make({{.kind = LoadItem::Kind::forge, .packet_json = "no packet"}}).has_value());
}

TEST(LoadPlan, RefusesWhatIsNoRequest) {
    const auto plan = LoadPlan::make({{.count = 1}, {.job_json = R"({"colour": "red"})"}});
    ASSERT_FALSE(plan.has_value());
    EXPECT_EQ(plan.error().item, 1u);
    EXPECT_FALSE(LoadPlan::make({{.kind = LoadItem::Kind::cancel}}).has_value());
}

TEST(LoadPlan, KnowsWhatIsDone) {
    LoadPlan plan = plan_of({{.count = 2}});
    EXPECT_EQ(plan.open(), 2u);
    plan.finish(0);
    plan.finish(0);
    EXPECT_EQ(plan.open(), 1u);
    EXPECT_TRUE(plan.done(0));
    EXPECT_FALSE(plan.done(1));
}

TEST(LoadPlan, KnowsWhatWasDecidedInVain) {
    const auto about = [](LoadItem::Kind kind, const char* job) {
        LoadItem item;
        item.kind = kind;
        item.job_ids = {job};
        return item;
    };
    LoadPlan plan = plan_of({about(LoadItem::Kind::cancel, "a"),
                             about(LoadItem::Kind::cancel, "a"),
                             about(LoadItem::Kind::approve, "b"),
                             about(LoadItem::Kind::reject, "c"),
                             {.count = 1}});
    plan.finish(0, true);
    plan.finish(1, false);
    plan.finish(2, false);
    const std::vector<std::string> expected{"the approval of b", "the rejection of c"};
    EXPECT_EQ(plan.in_vain(), expected) << "one is not even done";
}

}  // namespace
}  // namespace lockstep::fakes
