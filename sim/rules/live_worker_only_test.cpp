#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct LiveWorkerOnlyTest : RuleTest {
    LiveWorkerOnlyTest() : RuleTest(rules::live_worker_only) {
        tunables.worker_ttl = 8s;
        tunables.hydrated_worker_ttl = 4s;
        define({
            {"commit", [this](auto& of) { commit(first(of), second(of)); }},
            {"send", [this](auto& job) { send(job, "worker.w.jobs"); }},
            {"on_topic", [this](auto& job) { send(job, "job.default"); }},
            {"dispatch", [this](auto& job) { dispatch(job); }},
            {"snapshot", [this](auto&) { read_snapshot("$9\r\n{\"workers\": [{\"worker_id\": \"w\"}]}\r\n"); }},
            {"cut_snapshot", [this](auto&) { read_snapshot("$9\r\n{\"workers\": [{\"worker_id\": \"w\r\n"); }},
        });
    }

    void commit(std::string_view job, std::string_view worker) {
        set_field(std::string(job), "ls_worker", worker);
        tell(event_of(EventKind::redis, job, When::answered));
    }
    void send(std::string_view job, std::string_view subject) {
        observe(EventKind::publish, job, {.subject = subject}, When::before);
    }
    void dispatch(std::string_view job) {
        commit(job, "w");
        send(job, "worker.w.jobs");
    }
};

constexpr Story kSent[] = {
    // STALE-01: the replica's clock may be an eighth slow; no worker was dead.
    {"AWorkerThatWasJustHeardMayBeSentTo", "hear=w +9s dispatch=a times=0"},
    // STALE-03
    {"AWorkerThatIsSilentForTooLongMayNot", "hear=w +9500ms dispatch=a",
     "a: it is published on worker.w.jobs by a replica to which that worker was dead for 500 ms"},
    {"WhatOthersHaveHeardDoesNotCount", "hear=w@other dispatch=a", "a replica that has never heard of that worker"},
    // Unheard, it lives for hydrated_worker_ttl only.
    {"ARestartedReplicaKnowsWhomTheSnapshotNames", "hear=w down snapshot +4500ms dispatch=a ok +100ms dispatch=b",
     "b:"},
    {"ASnapshotThatCannotBeReadNamesNobody", "cut_snapshot dispatch=a", "a:"},
    // It was frozen without knowing it.
    {"TheReplicaIsJudgedByItsLastLook", "hear=w commit=a:w +1min send=a"},
    {"SendingTheSameDispatchAgainIsAnotherRulesBusiness", "hear=w dispatch=a +1min send=a"},
    {"AJobOnItsTopicIsForWhoeverListens", "commit=a: on_topic=a"},
    // The second choice could have fallen on the other.
    {"IsPutToTheTestWhereSomebodyIsDead", "hear=w hear=other +10s commit=a:w times=1 hear=w dispatch=b times=2"},
};
using SentTold = Told<LiveWorkerOnlyTest>;
TEST_P(SentTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, SentTold, ::testing::ValuesIn(kSent), title_of);

}  // namespace
}  // namespace lockstep::sim
