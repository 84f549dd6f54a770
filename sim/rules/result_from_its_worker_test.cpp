#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr const char* kHashOfA = "job:meta:a";

struct ResultFromItsWorkerTest : RuleTest {
    ResultFromItsWorkerTest() : RuleTest(rules::result_from_its_worker) {
        define({
            {"sent", [this](auto& worker) { sent_to(worker.c_str()); }},
            {"end",
             [this](auto& by_worker) { ends_by(first(by_worker).c_str(), second(by_worker, "SUCCEEDED").c_str()); }},
            {"state", [this](auto& to) { write("state", to.c_str()); }},
            {"pointer", [this](auto&) { write("result_ptr", "redis://res:a"); }},
            {"gate", [this](auto&) { write("topic", "job.cordum.approval-gate"); }},
            {"unsent", [this](auto&) { forget_worker(); }},
            {"key", [this](auto& of) { keys.set_string("job:state:" + first(of), second(of), kNever); }},
            {"worker", [this](auto& of) { set_field(first(of), "worker_id", second(of)); }},
            {"pending", [this](auto& job) { set_field(job, "state", "PENDING"); }},
            {"lost",
             [this](auto&) {
                 keys.restore(
                     [this] { keys.remove(*keys.find(kHashOfA)), keys.set_string("job:state:a", "PENDING", kNever); });
             }},
            {"any", [this](auto&) { tunables.results_from_any_worker = true; }},
        });
    }

    void write(std::string_view field, const char* value) { set_field("a", field, value); }
    void forget_worker() { keys.hash_remove(*keys.find(kHashOfA), "ls_worker"); }
    void sent_to(const char* worker) {
        write("ls_worker", worker);
        write("state", "DISPATCHED");
    }
    /// What a result leaves behind.
    void ends_by(const char* worker, const char* state = "SUCCEEDED") {
        write("worker_id", worker);
        write("state", state);
    }
};

constexpr Story kEnds[] = {
    {"TheWorkerThatItWasSentToMayEndAJob", "sent=w state=RUNNING end=w times=1"},
    {"APointerSaysNothingOfItsWorker", "state=PENDING pointer"},
    {"AnotherMayNot", "sent=w end=x", "a result of worker \"x\" ends it, and it was sent to w"},
    {"WhatWasNotSentOutIsEndedByNobody", "state=APPROVAL_REQUIRED end=w:FAILED", "it was not sent out"},
    {"NorByAResultThatLeavesNoName", "state=PENDING state=SUCCEEDED", "it has not been sent out"},
    {"AGateSucceedsWithoutAWorker", "gate state=PENDING state=SUCCEEDED"},
    {"WhereNobodyKnowsWhoHasItAnybodyMayEndIt", "sent=w unsent end=x"},
    {"ADispatchThatIsTakenBackIsNone", "sent=w unsent state=SCHEDULED end=w",
     "it was not sent out|it has not been sent out"},
    // The state key keeps what an evicted hash has said.
    {"AfterAnEvictionTheStateKeyCounts", "sent=w key=a:RUNNING evict=job:meta:a end=x ok key=b:PENDING worker=b:x",
     "it is \"PENDING\""},
    {"WhatAFailoverTookBackIsGone", "sent=w lost end=w", "it was not sent out|it has not been sent out"},
    {"AfterTheEndItIsNotItsBusiness", "sent=w end=w end=x:FAILED"},
    {"TheSwitchLetsAnyWorkerSpeakOfWhatIsOut", "any sent=w worker=a:x ok pending=b worker=b:x", "b:"},
};
using EndsTold = Told<ResultFromItsWorkerTest>;
TEST_P(EndsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, EndsTold, ::testing::ValuesIn(kEnds), title_of);

}  // namespace
}  // namespace lockstep::sim
