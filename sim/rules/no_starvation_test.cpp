#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct NoStarvationTest : RuleTest {
    static constexpr const char* kQueue = "lockstep:tenant:waiting:small";
    static constexpr const char* kForWorkers = "lockstep:capacity:waiting";

    NoStarvationTest() : RuleTest(rules::no_starvation) {
        define({
            {"submit",
             [this](auto& jobs) {
                 for (const auto& job : parts_of(jobs, ',')) submit(first(job), second(job, "small"));
             }},
            {"crowd",
             [this](auto&) {
                 for (int i = 0; i < 100; ++i) submit("j" + std::to_string(i), "large");
             }},
            {"try", [this](auto& job) { attempt(job); }},
            {"state", [this](auto& of) { set_field(first(of), "state", second(of)); }},
            {"queue", [this](auto& job) { queue(kQueue, job); }},
            {"list", [this](auto& job) { queue("job:index:pending", job); }},
            {"leave", [this](auto& job) { leave(kQueue, job); }},
            {"wait_for_worker", [this](auto& job) { queue(kForWorkers, job); }},
            {"find_worker", [this](auto& job) { leave(kForWorkers, job); }},
            {"remove", [this](auto& key) { keys.remove(*keys.find(key)); }},
            {"others",
             [this](auto&) {
                 for (const char* key : {"lockstep:tenant:waiting:large", "lockstep:capacity:woken"})
                     queue(key, "b"), keys.remove(*keys.find(key));
             }},
            {"longest",
             [this](auto& more) {
                 now += tunables.pending_age + 2 * tunables.replayer_interval + 30s + duration_of(more);
             }},
            {"replays", [this](auto&) { now += 2 * tunables.replayer_interval; }},
            {"lost",
             [this](auto& job) {
                 keys.restore(
                     [&] { keys.remove(*keys.find("job:meta:" + job)), keys.remove(*keys.find("job:req:" + job)); });
             }},
            {"lost_request", [this](auto&) { keys.restore([this] { keys.remove(*keys.find("job:req:a")); }); }},
            {"lost_queue", [this](auto&) { keys.restore([this] { keys.remove(*keys.find(kQueue)); }); }},
            {"found_queue", [this](auto&) { keys.restore([this] { queue(kQueue, "a"); }); }},
            {"lost_place", [this](auto&) { keys.restore([this] { leave(kQueue, "a"); }); }},
            {"damaged", [this](auto&) { set_text("job:req:a", R"({"jobId)", {}); }},
            {"stored", [this](auto&) { set_text("job:req:a", R"({"jobId":"x"})"); }},
        });
    }

    void submit(const std::string& job, const std::string& tenant = "small") {
        set_field(job, "state", "PENDING");
        set_field(job, "tenant", tenant);
        set_text("job:req:" + job, R"({"jobId":"x"})");
    }
    void attempt(std::string_view job) {
        observe(EventKind::redis, job, {.key = "cordum:scheduler:job:x"}, When::before);
    }
    void queue(const std::string& key, const std::string& job) { keys.zset_set(at<SortedSet>(key), job, 1); }
    void leave(const std::string& key, const std::string& job) { keys.zset_remove(*keys.find(key), job); }
};

constexpr Story kStarvation[] = {
    {"AWaitingJobIsTriedAgainInTime", "submit=a try=a +30s try=a ok times=2 +10min try=a",
     "a: tenant small had 1 jobs waiting, and this one was not tried from 40"},
    {"AJobThatRedisHasForgottenWaitsForItsMessageOnly", "submit=a,b try=a try=b lost=a +10min try=a ok try=b",
     "b: tenant small had 1 jobs waiting"},
    // It has left its only queue.
    {"AQueueThatEndsTakesNoJobOutOfAnother",
     "submit=a,b queue=a queue=b lost_place wait_for_worker=a leave=b +10min try=a ok try=b", "b:"},
    {"AJobThatHasChangedItsQueueStaysInTheNewOne",
     "submit=a wait_for_worker=a queue=a find_worker=a +10min try=a wait_for_worker=a leave=a +10min try=a ok "
     "find_worker=a +10min try=a",
     "a:"},
    // There were too many until the last of them runs.
    {"ATenantWaitsForItsOwnJobs",
     "submit=j0:l,j1:l,j2:l,j3:l,j4:l,j5:l try=j0 +10min try=j0 ok times=0 +10min state=j5:RUNNING try=j0 ok +1s "
     "try=j0 +10min try=j0",
     "j0:"},
    {"TheJobsOfOthersAreNoExcuse", "crowd submit=a try=a +10min try=a", "a:"},
    // A flush is over at once: the ten minutes after it count.
    {"NothingIsAskedWhileAFaultGoesOn",
     "submit=a try=a fault=partition +10min try=a +10min heal=partition try=a fault=redis.script_flush +10min try=a",
     "a:"},
    {"TheFirstTryIsJudgedAsAnyOther", "submit=a +10min try=a", "a:"},
    {"AfterADisturbanceTheTimeCountsFromItsEnd",
     "submit=a try=a +10min down@other +200s try=a ok down@other +10min try=a", "a:"},
    {"TheReplicaThatLooksMayHaveToBeReplacedFirst",
     "submit=a try=a longest=0s try=a ok +1s down@other longest=0s replays try=a ok longest=1s try=a", "a:"},
    // Its time begins anew.
    {"AJobThatRunsDoesNotWait", "submit=a try=a state=a:RUNNING +10min try=a ok state=a:PENDING try=a"},
    // Whether it waits too long there is for slot_used.
    {"AQueuedJobWaitsUntilItIsWoken", "submit=a try=a queue=a +1h try=a leave=a +1s try=a ok +10min try=a", "a:"},
    {"OrUntilThereIsAWorker", "submit=a try=a wait_for_worker=a +1h try=a find_worker=a +1s try=a ok +10min try=a",
     "a:"},
    {"AJobThatLeavesItsQueueHasTimeFromThenOn", "submit=a queue=a +1h leave=a try=a"},
    {"AJobWhoseRequestIsDamagedCannotBeTried", "submit=a try=a damaged +10min try=a ok stored +10min try=a", "a:"},
    // In the end it is there again, with the data of another primary.
    {"AFailoverThatKeepsTheQueueKeepsTheJobInIt",
     "submit=a try=a queue=a failover +1h try=a ok lost_queue +1h try=a found=1 found_queue +1h try=a", "a:"},
    {"AJobWhoseRequestAFailoverHasTakenCannotBeTried", "submit=a try=a lost_request +1h try=a"},
    {"NorCanOneWhoseRequestWasEvicted", "submit=a try=a evict=job:req:a +1h try=a"},
    {"OneThatAnIndexHasLostWaitsForItsMessage",
     "submit=a,b list=a try=a try=b evict=job:index:pending +10min try=a ok try=b", "b:"},
    {"AJobLeavesItsQueueWhenThatIsGone",
     "submit=a try=a queue=a others +1h try=a ok remove=lockstep:tenant:waiting:small +1h try=a", "a:"},
    {"AndThatForWorkers",
     "submit=a try=a wait_for_worker=a others +1h try=a ok remove=lockstep:capacity:waiting +1h try=a", "a:"},
};
using StarvationTold = Told<NoStarvationTest>;
TEST_P(StarvationTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, StarvationTold, ::testing::ValuesIn(kStarvation), title_of);

}  // namespace
}  // namespace lockstep::sim
