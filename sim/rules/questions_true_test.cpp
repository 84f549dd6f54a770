#include "engine/wire/json.h"
#include "engine/wire/sha256.h"
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct QuestionsTrueTest : RuleTest {
    QuestionsTrueTest() : RuleTest(rules::questions_true) {
        define({
            {"store", [this](auto&) { store(request()); }},
            {"damaged", [this](auto&) { set_text("job:req:J", R"({"jobId)", {}); }},
            {"of_travel", [this](auto&) { store_of_travel(); }},
            {"set",
             [this](auto& document) {
                 set(document.substr(0, document.find('~')), document.substr(document.find('~') + 1));
             }},
            {"output", [this](auto&) { ask(output_question()); }},
            {"ask_elsewhere",
             [this](auto&) {
                 auto asked = question();
                 (*asked.mutable_labels())["region"] = "us";
                 ask(asked);
             }},
            {"take", [this](auto& token) { take_up(token.empty() ? "a" : token); }},
            {"release", [this](auto& token) { release(token); }},
            {"ask", [this](auto& settings) { ask_with(settings); }},
        });
    }

    cap::JobRequest request() {
        cap::JobRequest stored;
        stored.set_job_id("J");
        stored.set_topic("job.default");
        (*stored.mutable_env())["tenant_id"] = "acme";
        stored.set_principal_id("ann");
        (*stored.mutable_labels())["region"] = "eu";
        stored.mutable_meta()->set_capability("mail");
        stored.mutable_meta()->add_requires_("net");
        return stored;
    }
    void store(const cap::JobRequest& stored) { set("job:req:J", engine::wire::to_json(stored)); }
    void set(const std::string& key, const std::string& text) {
        set_text(key, text, Topology::kGateway);
        befall(EventKind::heartbeat, kOther);  // something comes between it and what follows
    }
    void take_up(std::string_view token = "a") { tell_lock(EventKind::lock_acquired, token); }
    void release(std::string_view token) { tell_lock(EventKind::lock_released, token); }
    void tell_lock(EventKind kind, std::string_view token) {
        observe(kind, "J", {.peer = kReplica, .key = "cordum:scheduler:job:J", .name = token});
    }
    void tell_question(EventKind kind, const std::string& bytes) {
        observe(kind, "J", {.payload = bytes}, When::before);
    }

    static cap::PolicyCheckRequest question() {
        cap::PolicyCheckRequest asked;
        asked.set_job_id("J");
        asked.set_topic("job.default");
        asked.set_tenant("acme");
        asked.set_principal_id("ann");
        (*asked.mutable_labels())["region"] = "eu";
        asked.mutable_meta()->set_capability("mail");
        asked.mutable_meta()->add_requires_("net");
        return asked;
    }
    void ask(const cap::PolicyCheckRequest& asked) {
        tell_question(EventKind::kernel_check, asked.SerializeAsString());
    }

    void ask_with(const std::string& settings) {
        auto asked = question();
        asked.set_effective_config(settings);
        ask(asked);
    }
    void store_of_travel() {
        auto stored = request();
        stored.set_workflow_id("travel");
        store(stored);
    }

    static cap_output::OutputCheckRequest output_question() {
        cap_output::OutputCheckRequest asked;
        asked.set_job_id("J");
        asked.set_topic("job.default");
        asked.set_tenant("acme");
        asked.set_principal_id("ann");
        asked.add_capabilities("mail");
        asked.add_capabilities("net");
        (*asked.mutable_labels())["region"] = "eu";
        (*asked.mutable_original_labels())["region"] = "eu";
        return asked;
    }
    void ask(const cap_output::OutputCheckRequest& asked) {
        tell_question(EventKind::output_check, asked.SerializeAsString());
    }
};

TEST_F(QuestionsTrueTest, WhatIsAskedIsWhatIsStored) {
    store(request());
    ask(question());
    ask(output_question());
    EXPECT_TRUE(found.empty());
    EXPECT_EQ(times_exercised(), 2U);
}

TEST_F(QuestionsTrueTest, ItIsAboutTheJobOfTheRequest) {
    store(request());
    auto asked = question();
    asked.set_job_id("K");
    ask(asked);
    auto about_output = output_question();
    about_output.set_job_id("K");
    ask(about_output);
    EXPECT_EQ(found.size(), 2U);
}

TEST_F(QuestionsTrueTest, AWorkerIsShownTheSettingsThatPolicyWasShown) {
    store(request());
    set("cfg:org:acme", R"({"data":{"a":1}})");
    take_up();
    auto asked = question();
    asked.set_effective_config(R"({"a":1})");
    ask(asked);
    for (const char* shown : {R"({"a":1})", R"({"a":2})"}) {
        set_field("J", "ls_worker", "w");
        observe(EventKind::redis, "J", {.command = "EVALSHA"}, When::answered);
        cap::BusPacket packet;
        *packet.mutable_job_request() = request();
        (*packet.mutable_job_request()->mutable_env())["CORDUM_EFFECTIVE_CONFIG"] = shown;
        observe(EventKind::publish, "J", {.subject = "worker.w.jobs", .packet = &packet}, When::before);
        EXPECT_EQ(found.size(), shown == std::string_view(R"({"a":1})") ? 0U : 1U);
    }
    EXPECT_THAT(found.back(), HasSubstr(R"(its worker is shown the settings {"a":2}, and policy was shown {"a":1})"));
}

TEST_F(QuestionsTrueTest, ARollbackSubmitsWhatItHasAskedAbout) {
    cap::PolicyCheckRequest asked = question();
    asked.set_job_id("comp-1");
    observe(EventKind::kernel_check, "comp-1", {.payload = asked.SerializeAsString()}, When::before);
    cap::BusPacket packet;
    packet.set_sender_id(std::string(kSagaSender));
    cap::JobRequest& undo = *packet.mutable_job_request() = request();
    undo.set_job_id("comp-1");
    const auto submit = [&] {
        observe(EventKind::publish, "comp-1", {.subject = engine::wire::kSubjectSubmit, .packet = &packet},
                When::before);
    };
    submit();
    EXPECT_TRUE(found.empty());
    undo.set_memory_id("m");
    submit();
    EXPECT_THAT(found, ElementsAre(HasSubstr("policy was asked about")));
}

TEST_F(QuestionsTrueTest, ATenantOfTheEnvironmentCounts) {
    store(request());
    auto asked = question();
    asked.set_tenant("default");
    ask(asked);
    EXPECT_EQ(found.size(), 1U);
    auto about_output = output_question();
    about_output.set_tenant("default");
    ask(about_output);
    EXPECT_EQ(found.size(), 2U);
}

TEST_F(QuestionsTrueTest, MarksAreForOthersAndAnEarlierRequestStillCounts) {
    store(request());
    auto changed = request();
    changed.set_principal_id("bob");
    store(changed);
    auto asked = question();
    (*asked.mutable_labels())["approval_granted"] = "true";
    (*asked.mutable_labels())["safety_bypassed"] = "true";
    ask(asked);
    asked.set_principal_id("eve");
    ask(asked);
    EXPECT_EQ(found.size(), 1U);
}

constexpr Story kQuestions[] = {
    {"PolicyIsShownTheSettingsOfTheTry",
     "store set=cfg:system:default~{\"data\":{\"safety\":{\"a\":1,\"b\":1}}} "
     "set=cfg:org:acme~{\"data\":{\"safety\":{\"b\":2}}} take ask={\"safety\":{\"a\":1,\"b\":2}} ok "
     "ask={\"safety\":{\"a\":1,\"b\":1}} ask",
     "J: policy is shown the settings|J: policy is shown the settings"},
    {"OfARequestThatIsNotStoredNothingIsKnown", "output"},
    {"ItsLabelsAreThoseOfTheRequest", "store ask_elsewhere", "J:"},
    {"UnlessThatIsDamaged", "store damaged ask_elsewhere store ask_elsewhere", "J:"},
    {"SettingsThatHaveChangedOrCannotBeReadAreNotJudged",
     "store set=cfg:system:default~{\"data\":{\"a\":1}} take set=cfg:system:default~{\"data\":{\"a\":2}} ask "
     "set=cfg:org:acme~{ take ask"},
    // The lock for a result is not that of the question; one handler asks once.
    {"AHandlerThatWasFrozenAsksByTheSettingsOfItsOwnTry",
     "store set=cfg:system:default~{\"a\":1} take=frozen set=cfg:system:default~{\"a\":2} take=result ask={\"a\":1} ok "
     "ask={\"a\":1}",
     "J: policy is shown the settings"},
    {"ALockThatIsGivenBackIsNoExcuse",
     "store set=cfg:system:default~{\"a\":1} take=first release=first set=cfg:system:default~{\"a\":2} take=second "
     "ask={\"a\":1}",
     "J: policy is shown the settings"},
    {"WithLayersOfTheSubmitterThereAreSettingsAllTheSame",
     "of_travel set=cfg:system:default~{\"data\":{\"a\":1}} set=cfg:workflow:travel~{\"data\":{\"a\":3}} take "
     "ask={\"a\":3} ok ask",
     "J: policy is shown the settings"},
    {"LayersOfTheSubmitterOnlyTighten",
     "of_travel "
     "set=cfg:system:default~{\"data\":{\"safety\":{\"allowed_topics\":[\"job.*\"],\"denied_topics\":[\"job.x\"]}}} "
     "set=cfg:workflow:travel~{\"data\":{\"safety\":{\"allowed_topics\":[\"job.b*\",\"sys.*\"],\"mode\":\"off\"}}} "
     "take ask={\"safety\":{\"allowed_topics\":[\"job.b*\"],\"denied_topics\":[\"job.x\"]}} ok "
     "ask={\"safety\":{\"allowed_topics\":[\"job.*\"],\"denied_topics\":[\"job.x\"]}} "
     "ask={\"safety\":{\"allowed_topics\":[\"job.b*\"],\"denied_topics\":[\"job.x\"],\"mode\":\"off\"}}",
     "J: policy is shown the settings|J: policy is shown the settings"},
    {"OfAnUnreadableDocumentTheLastGoodCopyCounts",
     "store set=cfg:org:acme~{\"data\":{\"a\":1}} take ask={\"a\":1} set=cfg:org:acme~{\"data\":{\"a\":2}} take "
     "ask={\"a\":2} set=cfg:org:acme~{ take ask={\"a\":2} ok ask={\"a\":1}",
     "J: policy is shown the settings"},
};
using QuestionsTold = Told<QuestionsTrueTest>;
TEST_P(QuestionsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, QuestionsTold, ::testing::ValuesIn(kQuestions), title_of);

TEST_F(QuestionsTrueTest, AnAnswerThatIsKeptIsGoodForTheSettingsThatPolicyWasShown) {
    const auto send = [this] {
        set_field("J", "ls_worker", "w");
        fakes::Event event = event_of(EventKind::redis, "J", When::answered);
        tell(event);
        cap::BusPacket packet;
        packet.mutable_job_request()->set_job_id("J");
        event = event_of(EventKind::publish, "J", When::before);
        event.subject = "worker.w.jobs";
        event.packet = &packet;
        tell(event);
    };
    store(request());
    for (const bool changes : {false, true}) {
        take_up();
        ask(question());
        release("a");
        if (changes) set("cfg:org:acme", R"({"data":{"safety":{"b":2}}})");
        take_up("b");
        send();
        release("b");
        EXPECT_EQ(found.size(), changes ? 1U : 0U);
    }
}

TEST_F(QuestionsTrueTest, AnOutputHasItsWholeSize) {
    store(request());
    set("res:J", "0123456789");
    auto asked = output_question();
    asked.set_result_ptr("redis://res:J");
    asked.set_output_content("01234");
    asked.set_output_size_bytes(10);
    asked.set_content_hash("sha256:" + engine::wire::sha256_hex("01234"));
    ask(asked);
    EXPECT_TRUE(found.empty());
    asked.set_output_size_bytes(5);
    ask(asked);
    EXPECT_EQ(found.size(), 1U);
    asked.set_output_size_bytes(10);
    asked.set_content_hash("sha256:" + engine::wire::sha256_hex("0123456789"));
    ask(asked);
    EXPECT_EQ(found.size(), 2U);
}

TEST_F(QuestionsTrueTest, OfARollbackNothingIsStoredYet) {
    auto asked = question();
    (*asked.mutable_labels())["saga_compensation"] = "true";
    ask(asked);
    EXPECT_TRUE(found.empty());
    store(request());
    ask(asked);
    EXPECT_EQ(found.size(), 1U) << "from then on what is stored counts";
}

TEST_F(QuestionsTrueTest, AHandlerWhoseLockRanOutLongAgoAsksNoMore) {
    auto asked = question();
    const auto run_out_and_change = [&](bool is_frozen) {
        take_up("former");
        if (is_frozen) befall(EventKind::paused, kReplica);
        if (is_frozen) befall(EventKind::resumed, kReplica);
        tell_lock(EventKind::lock_expired, "former");
        now += 10min;
        set("cfg:org:acme", R"({"id":"acme","data":{"v":2}})");
        take_up("present");
        asked.clear_effective_config();
        ask(asked);
        release("present");
        return std::exchange(found, {});
    };
    store(request());
    set("cfg:org:acme", R"({"id":"acme","data":{"v":1}})");
    EXPECT_THAT(run_out_and_change(true), IsEmpty()) << "the former one may ask still";
    release("former");
    EXPECT_THAT(run_out_and_change(false), ElementsAre(HasSubstr("policy is shown the settings")));
}

}  // namespace
}  // namespace lockstep::sim
