// What the documents of workflow runs say, beside what their steps make of it (spec/run_steps_test.cpp).
#include <fmt/format.h>

#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr NodeId kVisitor{5};

struct RunsTrueTest : RuleTest {
    RunsTrueTest() : RuleTest(rules::runs_true) {
        set_text("wf:def:f", R"({"id":"f","steps":{"a":{"type":"worker","input":{"n":"${input.n}"}}}})",
                 Topology::kGateway);
        write(Topology::kGateway, "pending", "{}");
        define({
            {"begins", [this](auto& members) { write(kVisitor, "running", step("running", members)); }},
            {"waits", [this](auto& members) { write(kVisitor, "waiting", step("running", members)); }},
            {"unawaited",
             [this](auto& members) {
                 is_awaited = false;
                 write(kVisitor, "running", step("running", members));
             }},
            {"gateway", [this](auto& members) { write(Topology::kGateway, "running", step("running", members)); }},
            {"give", [this](auto& text) { set_text("ctx:r:a@1", text, kVisitor); }},
        });
    }
    static std::string step(std::string_view status, std::string_view members) {
        return fmt::format(
            R"({{"a":{{"step_id":"a","status":"{}","attempts":1,"job_id":"r:a@1","started_at":"t",{}}}}})", status,
            members);
    }
    bool is_awaited = true;
    void write(NodeId node, std::string_view status, std::string_view steps) {
        const bool begun = status != "pending";
        by_command(node, {"EVALSHA"}, [&] {
            keys.set_string(
                "wf:run:r",
                fmt::format(R"({{"id":"r","workflow_id":"f","input":{{"n":1}},"updated_at":"t",{}"status":"{}",)"
                            R"("steps":{}}})",
                            begun ? R"("started_at":"t",)" : "", status, steps),
                fakes::redis::kNever);
            if (begun && is_awaited) keys.hash_set(at<Hash>("lockstep:wf:open:r"), "r:a@1", "a");
        });
    }
};

constexpr Story kDocuments[] = {
    {"AStepNotesWhatItWorksOn", R"(begins="input":{"n":1} give={"n":1})"},
    {"ItsJobIsGivenTheSame", R"(begins="input":{"n":1} give={"n":2})",
     R"(it is given {"n":2}, and by its workflow it is {"n":1})"},
    {"ItNotesNothingElse", R"(begins="input":{"n":2})", R"(notes the input {"n":2}, and it is {"n":1})"},
    {"TheRunIsWhatItsStepsAre", R"(waits="input":{"n":1})", "the run r is waiting, and by its steps it is running"},
    {"ItWaitsForTheJobsThatItHasBegun", R"(unawaited="input":{"n":1})",
     "the step a of the run r is running, and its run does not wait for r:a@1"},
    {"WhatAGatewayWritesIsNotJudged", R"(gateway="input":{"n":2})"},
};
using DocumentsTold = Told<RunsTrueTest>;
TEST_P(DocumentsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(OfDocuments, DocumentsTold, ::testing::ValuesIn(kDocuments), title_of);

}  // namespace
}  // namespace lockstep::sim
