// What policy and operators have said of a job, and whether it may be sent then. policy_before_dispatch, approval_bound and content_seen
// share what they know of that: each story is told to all three.
#include "engine/wire/job_hash.h"
#include "engine/wire/json.h"
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

// Each story begins when the job has been submitted, and says which rules object to it.
struct PolicyStoryTest : RuleTest {
    PolicyStoryTest() : RuleTest({rules::policy_before_dispatch, rules::approval_bound, rules::content_seen}) {
        model().set_answers_good_for(5s);
        request.set_job_id("a");
        set_field("a", "state", "PENDING", Topology::kGateway);
        define({
            {"take", [this](auto&) { command(by, [&] { keys.set_string(kLock, "token", kNever); }); }},
            {"return", [this](auto&) { command(by, [&] { keys.remove(*keys.find(kLock)); }); }},
            {"lost_lock", [this](auto&) { set_back(EventKind::lock_expired); }},
            {"found_lock", [this](auto&) { set_back(EventKind::lock_acquired); }},
            {"asks", [this](auto&) { ask(); }},
            {"hears", [this](auto& decision) { hear_policy(decision); }},
            {"ask", [this](auto& decision) { ask(), hear_policy(decision); }},
            {"vain", [this](auto&) { ask_in_vain(); }},
            {"full", [this](auto&) { command(by, [&] { keys.zset_set(at<SortedSet>(kQueue), "a", 1); }); }},
            {"enter", [this](auto& state) { set_field("a", "state", state, by); }},
            {"recorded", [this](auto& answer) { set_field("a", "safety_decision", answer, by); }},
            {"unread", [this](auto&) { set_field("a", "ls_input_unread", "1", by); }},
            {"send", [this](auto&) { send(); }},
            {"label", [this](auto& name) { (*request.mutable_labels())[name] = "true"; }},
            {"input", [this](auto& pointer) { request.set_context_ptr(pointer); }},
            {"hide", [this](auto&) { input_is_shown = false; }},
            {"open", [this](auto&) { open_fail_mode(); }},
            {"forgotten", [this](auto& state) { keys.restore([&] { set_field("a", "state", state, {}); }); }},
            {"store", [this](auto&) { store(Topology::kGateway); }},
            {"approve", [this](auto&) { approve(); }},
            {"reject", [this](auto&) { reject(); }},
        });
    }

    void ask() {
        cap::PolicyCheckRequest question;
        question.set_job_id("a");
        question.set_tenant("default");
        *question.mutable_labels() = request.labels();
        if (!request.context_ptr().empty() && input_is_shown) question.set_input_content("what to do");
        observe(EventKind::kernel_check, "a", {.payload = question.SerializeAsString()}, When::before, by);
    }
    void hear_policy(const std::string& decision) {
        cap::PolicyCheckResponse answer;
        answer.set_approval_required(decision.ends_with("_IF_APPROVED"));
        const std::string said = decision.substr(0, decision.find("_IF_"));
        for (const When when : {When::applied, When::answered})
            observe(EventKind::kernel_check, "a", {.to = said, .payload = answer.SerializeAsString()}, when, by);
    }
    void ask_in_vain() {
        ask();
        observe(EventKind::kernel_check, "a", {.outcome = EventOutcome::unknown, .to = "status:4"}, When::answered, by);
    }
    void set_back(EventKind kind) {
        observe(kind, "a", {.flag = true, .peer = kReplica, .key = kLock, .name = "token"});
    }
    void send() {
        for (const char* state : {"SCHEDULED", "DISPATCHED"}) set_field("a", "state", state, by);
        cap::BusPacket packet;
        *packet.mutable_job_request() = request;
        const fakes::Event sent{.subject = "worker.w.jobs", .packet = &packet};
        observe(EventKind::publish, "a", sent, When::before, by);
        observe(EventKind::core_deliver, "a", sent, When::applied, NodeId{7});
    }
    void open_fail_mode() {
        set_text(std::string(kSettingsKey), R"({"data":{"scheduler":{"input_fail_mode":"open"}}})",
                 Topology::kOperator);
        read_settings();
    }
    void store(NodeId client) { set_text("job:req:a", engine::wire::to_json(request), client); }
    void approve() {
        observe(EventKind::approve, "a", {}, When::before, Topology::kOperator);
        tell_word("label=approval_granted");
        store(Topology::kOperator);
        record_hash();
    }
    void reject() {
        observe(EventKind::approve, "a", {.to = "DENIED"}, When::before, Topology::kOperator);
        record_hash();
    }
    void record_hash() { set_field("a", "approval_job_hash", engine::wire::job_hash(request), Topology::kOperator); }

    static constexpr const char* kLock = "cordum:scheduler:job:a";
    static constexpr const char* kQueue = "lockstep:tenant:waiting:default";
    cap::JobRequest request;
    bool input_is_shown = true;  // to policy
};

using ToldOfPolicy = Told<PolicyStoryTest>;
TEST_P(ToldOfPolicy, IsJudged) {
    for (const std::string& word : parts_of(GetParam().told, ' ')) tell_word(word);
    const std::set<std::string_view> objecting(objected.begin(), objected.end());
    EXPECT_EQ(fmt::format("{}", fmt::join(objecting, " ")), GetParam().finds);
}

constexpr const char* kBefore = "policy_before_dispatch";
constexpr const char* kBoth = "approval_bound policy_before_dispatch";
constexpr Story kPolicyStories[] = {
    {"AnAllowThatItsSenderHasHeardLetsAJobGo", "take ask=ALLOW send"},
    {"NobodyGoesUnasked", "take send", kBefore},
    {"ALaterRefusalRevokesAnEarlierAllow", "take ask=ALLOW return take ask=THROTTLE send", kBefore},
    {"AnAllowAfterARefusalCounts", "take ask=DENY return take ask=ALLOW send"},
    {"AnAllowIsForTheContentThatWasAskedAbout", "take ask=ALLOW label=amount send", kBefore},
    {"WhatAnotherReplicaIsToldMeanwhileChangesNothing", "take ask=ALLOW ask=DENY@other send"},
    {"NobodySendsOnWhatOnlyAnotherReplicaHasHeard", "take@other ask=ALLOW@other return@other take send", kBefore},
    // After a wait for a slot of the tenant an answer is good for five seconds.
    {"OfAJobThatDidNotWaitNothingIsKept", "take ask=ALLOW return take send", kBefore},
    {"AnAllowIsGoodForAWhile", "take ask=ALLOW full return +4s take send"},
    {"ThenPolicyIsAskedAgain", "take ask=ALLOW full return +6s take send", kBefore},
    {"WhoFindsTheJobWaitingChangesNothing", "take ask=ALLOW full return take return take send"},
    {"WhoLosesTheJobLeavesTheAnswerToTheNext",
     "take ask=ALLOW full return take evict=cordum:scheduler:job:a take send"},
    {"SoDoesWhoLosesItBeforeItCouldBeGivenBack", "take ask=ALLOW full evict=cordum:scheduler:job:a take send"},
    {"WhoLosesTheJobLeavesNoOldAnswer", "take ask=ALLOW full return take evict=cordum:scheduler:job:a +6s take send",
     kBefore},
    {"WhoLosesTheJobLeavesNoRefusalAsALeave",
     "take ask=ALLOW full return take ask=DENY evict=cordum:scheduler:job:a take send", kBefore},
    {"ARefusalThatAnyReplicaHasHeardRevokesIt",
     "take ask=ALLOW full return take@other ask=DENY@other return@other take send", kBefore},
    {"OneToAQuestionOfBeforeIsOlderHoweverLateItIsHeard",
     "take@other asks@other evict=cordum:scheduler:job:a take ask=ALLOW full return hears=DENY@other take send"},
    {"WhatRedisHasLostOfAnotherWordRevokesNothing",
     "take ask=ALLOW full return take@other ask=DENY@other return@other failover take return take send"},
    // Two handlers of one replica.
    {"WhatAnEarlierHandlerHasAskedIsNoWordForALaterOne", "take asks evict=cordum:scheduler:job:a take hears=ALLOW send",
     kBefore},
    {"WhoseLockIsFoundAgainGoesOn", "take asks lost_lock found_lock hears=ALLOW send"},
    {"ALaterHandlerGoesByItsOwnQuestion",
     "take asks evict=cordum:scheduler:job:a take asks hears=ALLOW hears=ALLOW send"},
    // Fail modes.
    {"ALabelOfABypassIsNoneWhileTheModeIsClosed", "label=safety_bypassed take vain send", kBefore},
    {"WithAnOpenModeAQuestionWithoutAnAnswerLetsAJobGo", "open take vain label=safety_bypassed send"},
    {"AnAnswerIsNotBypassedWhateverTheMode", "open take ask=DENY label=safety_bypassed send", kBefore},
    {"WhereAHumanWasAskedTheModeDecidesNothing",
     "open take ask=REQUIRE_APPROVAL enter=APPROVAL_REQUIRED return take vain label=safety_bypassed send",
     "approval_bound"},
    {"UnlessPolicyHasAnsweredOtherwiseSince",
     "open take ask=REQUIRE_APPROVAL enter=APPROVAL_REQUIRED return take ask=ALLOW recorded=ALLOW return take vain "
     "recorded=UNAVAILABLE label=safety_bypassed send"},
    {"AndNoAnswerIsNone",
     "open take ask=REQUIRE_APPROVAL enter=APPROVAL_REQUIRED return take vain recorded=UNAVAILABLE return take vain "
     "label=safety_bypassed send",
     "approval_bound"},
    {"UnlessRedisHasLostTheQuestion",
     "open take ask=REQUIRE_APPROVAL enter=APPROVAL_REQUIRED return forgotten=PENDING take vain "
     "label=safety_bypassed send"},
    // Humans.
    {"AnOperatorsApprovalLetsAJobGo", "take ask=REQUIRE_APPROVAL return approve take send"},
    {"OnlyWithTheContentThatWasApproved", "take ask=REQUIRE_APPROVAL return approve take label=amount send",
     "approval_bound"},
    {"AnAllowOnConditionWaitsForAHuman", "take ask=ALLOW_IF_APPROVED send", kBoth},
    {"ARejectionIsNoApprovalEvenBesideALabelOfOne",
     "label=approval_granted store take ask=REQUIRE_APPROVAL return reject take send", kBoth},
    {"TwoLabelsOfASubmitterReleaseNothing", "label=approval_granted label=safety_bypassed take send", kBoth},
    // Inputs.
    {"AJobWhoseInputPolicySawMayGo", "input=redis://ctx:a take ask=ALLOW send"},
    {"OneWhoseInputItDidNotSeeMayNot", "input=redis://ctx:a hide take ask=ALLOW send", "content_seen"},
    {"UnlessItsHashSaysSo", "input=redis://ctx:a hide take ask=ALLOW unread send"},
    {"TheLatestQuestionOfTheSenderCounts",
     "input=redis://ctx:a take ask=ALLOW return take@other ask=ALLOW@other return@other hide take ask=ALLOW send",
     "content_seen"},
    {"AnInputElsewhereIsNotItsBusiness", "input=s3://bucket/x hide take ask=ALLOW send"},
    {"NorIsAJobThatAHumanHasApproved", "input=redis://ctx:a hide take ask=REQUIRE_APPROVAL return approve take send"},
};
INSTANTIATE_TEST_SUITE_P(Of, ToldOfPolicy, ::testing::ValuesIn(kPolicyStories), title_of);

struct ContentSeenTest : RuleTest {
    ContentSeenTest() : RuleTest(rules::content_seen) {}
};

TEST_F(ContentSeenTest, AnInputThatIsNotThereIsLookedForThreeTimesMore) {
    set_field("a", "ls_input_misses", "3");
    EXPECT_THAT(found, IsEmpty());
    set_field("a", "ls_input_misses", "4");
    EXPECT_THAT(found, SizeIs(1));
}

}  // namespace
}  // namespace lockstep::sim
