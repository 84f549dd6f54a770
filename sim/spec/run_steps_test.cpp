#include "sim/spec/run_steps.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/spec/run_documents.h"
#include "sim/spec/timeline_events.h"

namespace lockstep::sim {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// A run of one workflow, before and after a visit: its input, its context and the records of its steps.
struct Visit {
    json definition, input, before, after, was_context = json::object(), is_context = json::object();

    /// `steps` of the definition, and records: single quotes stand for double ones.
    Visit(const std::string& steps, const std::string& given, const std::string& was, const std::string& is)
        : definition{{"id", "f"}, {"steps", parse(steps)}}, input(parse(given)), before(parse(was)), after(parse(is)) {}

    static json parse(std::string text) {
        std::ranges::replace(text, '\'', '"');
        return json::parse(text);
    }
    template <class Use>
    auto with(const std::string& key, Use use) const {
        const json was{
            {"id", "r"}, {"workflow_id", "f"}, {"input", input}, {"context", was_context}, {"steps", before}};
        json is{{"id", "r"}, {"workflow_id", "f"}, {"input", input}, {"context", is_context}, {"steps", after}};
        is["updated_at"] = "now";
        const DocumentChange change(definition, was, is);
        const json none;
        const auto at = [&](const json& steps) -> const json& { return steps.contains(key) ? steps[key] : none; };
        return use(StepChange{change, key, at(before), at(after)});
    }
    [[nodiscard]] std::string why(const std::string& key) const {
        return with(key, [](const StepChange& step) { return forbids_to_go_on(step); });
    }
};

constexpr const char* kNew = "{'a':{'status':'pending'}}";
constexpr const char* kBegun = "{'a':{'status':'running','attempts':1,'job_id':'r:a@1'}}";

TEST(RunStepsTest, AConditionThatHoldsLetsBeginAndOneThatDoesNotPassesBy) {
    const auto why = [](const char* condition, const char* is, const char* input, const char* was = kNew) {
        return Visit(fmt::format("{{'a':{{'type':'worker','condition':'{}'}}}}", condition), input, was, is).why("a");
    };
    constexpr const char* kPassedBy = "{'a':{'status':'succeeded','skip_reason':'condition_false'}}";
    constexpr const char* kFailed = "{'a':{'status':'failed','error':{'message':'condition: it divides by zero'}}}";
    EXPECT_EQ(why("input.n > 1", kBegun, "{'n':2}"), "");
    EXPECT_EQ(why("${input.n > 1}", kPassedBy, "{'n':1}"), "");
    EXPECT_EQ(why("input.n > 1", kBegun, "{'n':1}"), "has begun, and input.n > 1 is false");
    EXPECT_EQ(why("input.n % 2", kPassedBy, "{'n':3}"), "was passed by, and input.n % 2 is 1");
    EXPECT_EQ(why("input.n / 0 > 1", kFailed, "{'n':3}"), "");
    EXPECT_EQ(why("input.n > 1", kFailed, "{'n':3}"), "has failed, and input.n > 1 is true");
    EXPECT_EQ(why("input.n / 0 > 1", kBegun, "{'n':3}"), "has begun, and input.n / 0 > 1 is a mistake");
    EXPECT_EQ(why("", kPassedBy, "{}"), "was passed by, and has no condition");
    EXPECT_EQ(why("input.n > 1", kBegun, "{'n':1}", "{'a':{'status':'pending','attempts':1}}"), "")
        << "it is asked once";
}

TEST(RunStepsTest, AnExpressionIsWorthWhatItIsBeforeTheVisitOrAfterIt) {
    Visit visit("{'a':{'type':'transform','input':{'v':'${ctx.x}'}}}", "{}", kNew,
                "{'a':{'status':'succeeded','attempts':1,'output':{'v':2}}}");
    visit.was_context = {{"x", 1}};
    visit.is_context = {{"x", 2}};
    EXPECT_EQ(visit.why("a"), "");
    visit.after["a"]["output"]["v"] = 1;
    EXPECT_EQ(visit.why("a"), "");
    visit.after["a"]["output"]["v"] = 3;
    EXPECT_EQ(visit.why("a"), R"(gives {"v":3}, and by its template it gives {"v":2})");
    visit.definition["steps"]["b"] = {{"type", "storage"}, {"input", {{"operation", "write"}, {"key", "x"}}}};
    visit.after["b"] = {{"status", "succeeded"}};
    EXPECT_EQ(visit.why("a"), "") << "it may have been anything in between";
}

TEST(RunStepsTest, ASwitchTakesOneCaseAndLeavesOutTheOthers) {
    const auto why = [](const char* cases, const char* records) {
        return Visit(
                   fmt::format("{{'a':{{'type':'switch','condition':'input.n','input':{{'cases':{},'default':'z'}}}}}}",
                               cases),
                   "{'n':2}", kNew, fmt::format("{{'a':{{'status':'succeeded','attempts':1,'output':2}},{}}}", records))
            .why("a");
    };
    constexpr const char* kList = "[{'match':1,'next':'x'},{'when':'value > 1','step':['y']}]";
    constexpr const char* kX = "'x':{'status':'cancelled','skip_reason':'switch_branch_not_taken'}";
    constexpr const char* kY = "'y':{'status':'cancelled','skip_reason':'switch_branch_not_taken'}";
    constexpr const char* kZ = "'z':{'status':'cancelled','skip_reason':'switch_branch_not_taken'}";
    EXPECT_EQ(why(kList, fmt::format("{},{}", kX, kZ).c_str()), "");
    EXPECT_EQ(why("{'1':'x','2':'y'}", fmt::format("{},{}", kX, kZ).c_str()), "");
    EXPECT_EQ(why(kList, kX), "does not leave out z, which it does not take by 2");
    EXPECT_EQ(why(kList, fmt::format("{},{},{}", kX, kY, kZ).c_str()), "leaves out y, which it takes by 2");
    EXPECT_EQ(why("[]", fmt::format("{},{}", kX, kY).c_str()), "");
}

TEST(RunStepsTest, AStepGoesOverItsItemsAndGivesWhatTheyGive) {
    constexpr const char* kEach = "{'a':{'type':'worker','for_each':'input.l','max_parallel':'${input.n}'}}";
    Visit visit(kEach, "{'l':[7,8],'n':2}", kNew,
                "{'a':{'status':'running','attempts':1,'resolved_items':[7,8],'counts':{'max_parallel':2}},"
                "'a[1]':{'status':'running','attempts':1,'item':8}}");
    EXPECT_EQ(visit.why("a"), "");
    EXPECT_EQ(visit.why("a[1]"), "");
    visit.after["a[1]"]["item"] = 7;
    EXPECT_EQ(visit.why("a[1]"), "is of the item 7, and that is 8");
    visit.after["a"]["counts"]["max_parallel"] = 3;
    EXPECT_EQ(visit.why("a"), "takes 3 for its max_parallel, and that is 2");
    visit.after["a"]["counts"]["max_parallel"] = 2;
    visit.after["a"]["resolved_items"] = {7};
    EXPECT_EQ(visit.why("a"), "goes over [7], and input.l is [7,8]");
    visit.before = visit.after;
    visit.after["a"] = Visit::parse("{'status':'succeeded','attempts':1,'resolved_items':[7,8],'output':[1,3]}");
    visit.after["a[0]"] = Visit::parse("{'status':'succeeded','output':1}");
    visit.after["a[1]"] = Visit::parse("{'status':'succeeded','output':2}");
    EXPECT_EQ(visit.why("a"), "gives [1,3], and by its items it gives [1,2]");
}

TEST(RunStepsTest, ALoopGoesOnAsItsExpressionsSay) {
    const auto why = [](const char* input, const char* key, const char* loop, const char* last) {
        return Visit(fmt::format("{{'a':{{'type':'loop','input':{{'body_step':'b',{}}}}},'b':{{'type':'worker'}}}}",
                                 input),
                     "{}", "{'a':{'status':'running','attempts':1},'a[0]':{'status':'running','attempts':1}}",
                     fmt::format("{{'a':{},'a[0]':{{'status':'succeeded','attempts':1,'output':1,'item':0}}{}}}", loop,
                                 last))
            .why(key);
    };
    constexpr const char* kOn = "{'status':'running','attempts':1}";
    constexpr const char* kDone = "{'status':'succeeded','attempts':1,'output':1}";
    constexpr const char* kRound = ",'a[1]':{'status':'running','attempts':1,'item':1}";
    EXPECT_EQ(why("'until':'loop.last == 2'", "a[1]", kOn, kRound), "");
    EXPECT_EQ(why("'until':'loop.last == 1'", "a[1]", kOn, kRound), "begins, and the loop is over by its input");
    EXPECT_EQ(why("'while':'loop.index < 1'", "a[1]", kOn, kRound), "begins, and the loop is over by its input");
    EXPECT_EQ(why("'max_iterations':1", "a[1]", kOn, kRound), "begins, of 1 rounds");
    EXPECT_EQ(why("'until':'loop.last == 1'", "a", kDone, ""), "");
    EXPECT_EQ(why("'max_iterations':1", "a", kDone, ""), "");
    EXPECT_EQ(why("'max_iterations':1,'until':'loop.last == 2'", "a", kDone, ""),
              "is over after 1 rounds, and goes on by its input");
    constexpr const char* kFailed =
        "{'status':'failed','attempts':1,'error':{'message':'after 1 rounds there is no end'}}";
    EXPECT_EQ(why("'max_iterations':1,'until':'loop.last == 2'", "a", kFailed, ""), "");
    EXPECT_EQ(why("'max_iterations':2,'until':'loop.last == 2'", "a", kFailed, ""), "has failed after 1 rounds, of 2");
}

TEST(RunStepsTest, StorageReadsWritesAndDeletes) {
    const auto why = [](const char* input, const char* output) {
        Visit visit(fmt::format("{{'a':{{'type':'storage','input':{}}}}}", input), "{'n':3}", kNew,
                    fmt::format("{{'a':{{'status':'succeeded','attempts':1,'output':{}}}}}", output));
        visit.was_context = visit.is_context = {{"k", {{"l", {5, 6}}}}};
        return visit.why("a");
    };
    EXPECT_EQ(why("{'operation':'write','key':'k','value':'${input.n}'}", "3"), "");
    EXPECT_THAT(why("{'operation':'write','key':'k','value':'${input.n}'}", "4"), HasSubstr("gives 4"));
    EXPECT_EQ(why("{'operation':'read','key':'k.l.1'}", "6"), "");
    EXPECT_THAT(why("{'operation':'read','key':'k.l.1'}", "5"), HasSubstr("gives 5"));
    EXPECT_EQ(why("{'operation':'delete','key':'k'}", "null"), "");
    EXPECT_THAT(why("{'operation':'delete','key':'k'}", "1"), HasSubstr("gives 1"));
}

TEST(RunStepsTest, AJobIsGivenTheInputOfItsStepOrOfItsRunAndItsItem) {
    const Visit visit(
        "{'plain':{'type':'worker'},'own':{'type':'worker','input':{'m':'${input.n + 1}'}},"
        "'each':{'type':'worker','for_each':'input.l'},'gate':{'type':'approval','input':{'m':1}},"
        "'both':{'type':'worker','for_each':'input.l','input':{'m':'${loop.index}','of':'${item}'}},"
        "'twice':{'type':'loop','input':{'body_step':'own'}}}",
        "{'n':1,'l':['u','v']}", "{}", "{'each[1]':{'item':'v'},'both[0]':{'item':'u'},'twice[3]':{'item':3}}");
    const auto wrong = [&](const char* key, const char* input) {
        return visit.with(key, [&](const StepChange& step) { return wrong_input(step, Visit::parse(input)); });
    };
    EXPECT_EQ(wrong("plain", "{'n':1,'l':['u','v']}"), "");
    EXPECT_EQ(wrong("plain", "{'n':1}"), R"({"n":1}, and by its workflow it is {"l":["u","v"],"n":1})");
    EXPECT_EQ(wrong("own", "{'m':2}"), "");
    EXPECT_NE(wrong("own", "{'m':1}"), "");
    EXPECT_EQ(wrong("each[1]", "{'item':'v'}"), "");
    EXPECT_NE(wrong("each[1]", "{'item':'v','n':1}"), "");
    EXPECT_EQ(wrong("both[0]", "{'m':0,'of':'u','item':'u'}"), "");
    EXPECT_NE(wrong("both[0]", "{'m':0,'of':'u'}"), "");
    EXPECT_EQ(wrong("twice[3]", "{'m':2,'item':3}"), "");
    EXPECT_EQ(wrong("gate", "{'kind':'workflow_approval_context','decision':{'m':1}}"), "");
    EXPECT_NE(wrong("gate", "{'kind':'workflow_approval_context','decision':{'m':2}}"), "");
}

TEST(RunStepsTest, AStepGivesWhatItsJobHasGiven) {
    const auto why = [](const char* output, const char* path) {
        const Visit visit(fmt::format("{{'a':{{'type':'worker','result_data_path':'{}'}}}}", path), "{}", kBegun,
                          fmt::format("{{'a':{{'status':'succeeded','attempts':1,'output':{}}}}}", output));
        return visit.with("a", [](const StepChange& s) { return wrong_result(s, {"no JSON", R"({"x":{"y":4}})"}); });
    };
    EXPECT_EQ(why("4", "x.y"), "");
    EXPECT_EQ(why("null", "x.z"), "");
    EXPECT_EQ(why("'no JSON'", ""), "");
    EXPECT_EQ(why("5", "x.y"), "gives 5, and its job has given no JSON");
}

TEST(RunStepsTest, ARunThatAStepBeginsHasWhatTheStepAsksFor) {
    const Visit visit("{'a':{'type':'subworkflow','input':{'workflow_id':'g','input':{'n':'${input.n}'}}}}", "{'n':1}",
                      kNew, "{'a':{'status':'running','attempts':1}}");
    json child = Visit::parse(
        "{'id':'r.a.1','workflow_id':'g','input':{'n':1},'status':'pending',"
        "'metadata':{'parent_run_id':'r','parent_step_id':'a','call_stack':'f'}}");
    const auto why = [&](const char* member, json value) {
        json changed = child;
        if (member != nullptr) changed[json::json_pointer(member)] = std::move(value);
        return visit.with("a", [&](const StepChange& step) { return wrongly_begun(changed, step); });
    };
    EXPECT_EQ(why(nullptr, {}), "");
    EXPECT_EQ(why("/id", "r.a.2"), "its id is r.a.2, and should be r.a.1");
    EXPECT_THAT(why("/input/n", 2), HasSubstr("its step asks for"));
    EXPECT_THAT(why("/workflow_id", "f"), HasSubstr("its step asks for"));
    EXPECT_EQ(why("/org_id", "other"), R"(its org_id is "other", and that of its parent null)");
    EXPECT_EQ(why("/metadata/call_stack", "g"), "its call_stack is g, and should be f");
    EXPECT_EQ(why("/status", "running"), "it begins as running");
}

TEST(RunStepsTest, TheFirstTryAndAsManyMoreAsAreAllowed) {
    const auto why = [](const char* key, const char* was, const char* is) {
        const Visit visit("{'a':{'type':'llm','retry':{'max_retries':1}},'e':{'for_each':'input.l'}}", "{'l':[1]}",
                          fmt::format("{{'{}':{}}}", key, was), fmt::format("{{'{}':{}}}", key, is));
        return visit.with(key, [](const StepChange& step) { return tried_too_often(step); });
    };
    constexpr const char* kOnce = "{'status':'pending','attempts':1}";
    constexpr const char* kTwice = "{'status':'running','attempts':2}";
    EXPECT_EQ(why("a", kOnce, kTwice), "");
    EXPECT_EQ(why("a", kTwice, "{'status':'running','attempts':3}"),
              "begins its try 3, of 2 that its max_retries allows");
    EXPECT_EQ(why("e[0]", kOnce, kTwice), "begins its try 2, of 1 that its max_retries allows");
}

TEST(RunStepsTest, TheEndOfItsJobEndsAStep) {
    const auto job = [](const char* key, const char* is) {
        const Visit visit(
            "{'a':{'type':'worker'},'sign':{'type':'approval'},'late':{'type':'approval','timeout_sec':9}}", "{}",
            fmt::format("{{'{0}':{{'status':'{1}','job_id':'r:{0}@1'}}}}", key, key[0] == 'a' ? "running" : "waiting"),
            fmt::format("{{'{}':{}}}", key, is));
        return visit.with(key, [](const StepChange& step) { return job_that_ended(step); });
    };
    EXPECT_EQ(job("a", "{'status':'succeeded'}"), "r:a@1");
    EXPECT_EQ(job("a", "{'status':'pending','attempts':1}"), "r:a@1");
    EXPECT_EQ(job("a", "{'status':'cancelled'}"), "") << "by its run";
    EXPECT_EQ(job("sign", "{'status':'pending'}"), "r:sign@1");
    EXPECT_EQ(job("sign", "{'status':'succeeded'}"), "") << "a person may have said so";
    EXPECT_EQ(job("late", "{'status':'pending'}"), "") << "its time limit may have";
}

TEST(RunDocumentsTest, ARecordHasTheTimesOfTheVisitThatSetThem) {
    const auto why = [](const char* was, const char* is) {
        const Visit visit("{'a':{'type':'worker'}}", "{}", fmt::format("{{'a':{}}}", was),
                          fmt::format("{{'a':{}}}", is));
        return visit.with("a", [](const StepChange& step) { return wrong_record(step); });
    };
    constexpr const char* kOld = "{'step_id':'a','status':'running','attempts':1,'started_at':'old'}";
    EXPECT_EQ(why("{}", "{'step_id':'a','status':'running','attempts':1,'started_at':'now'}"), "");
    EXPECT_EQ(why("{}", "{'step_id':'a','status':'running','attempts':1}"),
              R"(has the started_at null, and it is "now")");
    EXPECT_EQ(why("{}", "{'step_id':'b'}"), "has the step_id b");
    EXPECT_EQ(why(kOld, "{'step_id':'a','status':'succeeded','attempts':1,'started_at':'old','completed_at':'now'}"),
              "");
    EXPECT_EQ(why(kOld, "{'step_id':'a','status':'succeeded','attempts':1,'started_at':'old'}"),
              R"(has the completed_at null, and it is "now")");
    EXPECT_EQ(why(kOld, "{'step_id':'a','status':'failed','attempts':1,'started_at':'old','completed_at':'now'}"),
              "is failed, and does not say why");
    EXPECT_EQ(why("{}", "{'step_id':'a','status':'skipped'}"), "is skipped for nothing");
}

TEST(RunDocumentsTest, BesideItStandsWhatItWaitsFor) {
    const auto why = [](const char* is, const RunTables& kept, const char* ended = "") {
        Visit visit("{'a':{'type':'worker'}}", "{}", kBegun, fmt::format("{{'a':{}}}", is));
        return visit.with("a", [&](const StepChange& step) {
            json after = step.run.after;
            after["updated_at"] = "2026-01-01T00:00:01Z";
            const DocumentChange change(step.run.definition, step.run.before, after);
            return wrongly_kept({change, step.key, step.was, step.is}, kept, ended);
        });
    };
    constexpr std::int64_t kSecond = 1'767'225'600'000 + 3000;
    constexpr const char* kPending = "{'status':'pending','attempts':1,'next_attempt_at':'2026-01-01T00:00:03Z'}";
    constexpr const char* kAtWork = "{'status':'running','job_id':'r:a@1'}";
    EXPECT_EQ(why(kAtWork, {.open = {{"r:a@1", "a"}}}), "");
    EXPECT_EQ(why(kAtWork, {.open = {{"r:a@1", "b"}}}), "is running, and its run does not wait for r:a@1");
    EXPECT_EQ(why("{'status':'failed'}", {.open = {{"r:a@1", "a"}}}, "r:a@1"),
              "is failed, and its run still waits for r:a@1");
    EXPECT_EQ(why(kPending, {.due = {{"a", kSecond}}}), "");
    EXPECT_EQ(why(kPending, {}), "waits for a time, and its run is not due then");
    EXPECT_THAT(why(kPending, {.due = {{"a", kSecond + 5}}}), HasSubstr("and its run is due at"));
}

TEST(RunDocumentsTest, TheRestFollowsFromItsStepsAndWhatItWas) {
    const json definition = Visit::parse("{'id':'f','steps':{'a':{'type':'worker','output_path':'o'}}}");
    const json before = Visit::parse(
        "{'id':'r','status':'running','started_at':'t','updated_at':'t','own':1,'context':{'kept':1},"
        "'steps':{'a':{'status':'running','attempts':1}}}");
    const json after = Visit::parse(
        "{'id':'r','status':'succeeded','started_at':'t','updated_at':'now','completed_at':'now','own':1,"
        "'context':{'kept':1,'o':5,'steps':{'a':{'output':5}}},'output':{'a':5},"
        "'steps':{'a':{'status':'succeeded','attempts':1,'output':5}}}");
    const auto why = [&](const char* member, json value) {
        json changed = after;
        changed[json::json_pointer(member)] = std::move(value);
        return wrong_document(DocumentChange(definition, before, changed));
    };
    EXPECT_EQ(why("/id", "r"), "");
    EXPECT_EQ(why("/own", 2), "has the own 2, and had 1");
    EXPECT_EQ(why("/status", "running"), R"(is running, and has the completed_at "now")");
    EXPECT_EQ(why("/started_at", "now"), R"(has the started_at "now", and had "t")");
    EXPECT_EQ(why("/context/kept", 2), "has 2 in its context under kept, and had 1");
    EXPECT_EQ(why("/context/steps/a/output", 6), R"(keeps {"output":6} of the step a, which gives 5)");
    EXPECT_EQ(why("/output/a", 6), R"(gives {"a":6}, and its steps {"a":5})");
    EXPECT_EQ(why("/steps/a/status", "failed"), "is succeeded, and by its steps it is failed");
}

TEST(RunTimelineTest, TellsWhatHasHappenedAndNothingElse) {
    const Visit visit("{'a':{'type':'worker'}}", "{}", kBegun,
                      "{'a':{'status':'failed','attempts':1,'job_id':'r:a@1','error':{'message':'no'}}}");
    const json event = Visit::parse(
        "{'type':'step_failed','run_id':'r','workflow_id':'f','time':'now','step_id':'a','job_id':'r:a@1',"
        "'status':'failed','message':'no'}");
    const auto why = [&](const char* member, const char* value) {
        json changed = event;
        changed[member] = value;
        return visit.with("a", [&](const StepChange& step) { return wrong_event(step.run, changed); });
    };
    EXPECT_EQ(why("status", "failed"), "");
    for (const auto& [member, value] : {std::pair{"type", "step_completed"},
                                        {"run_id", "s"},
                                        {"workflow_id", ""},
                                        {"time", "then"},
                                        {"step_id", "b"},
                                        {"job_id", "r:a@2"},
                                        {"message", "yes"}})
        EXPECT_THAT(why(member, value), HasSubstr("its timeline has")) << member;
    const auto missing = [&](std::vector<std::shared_ptr<const json>> told) {
        return visit.with("a", [&](const StepChange& step) { return untold(step, told); });
    };
    EXPECT_EQ(missing({std::make_shared<const json>(event)}), "");
    EXPECT_EQ(missing({}), "is failed, and no step_failed tells of it");
}

}  // namespace
}  // namespace lockstep::sim
