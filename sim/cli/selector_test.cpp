// C12: which scenarios an expression means, and what is said of one that means nothing.
#include "sim/cli/selector.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/cli/cli_fixture.h"

namespace lockstep::sim::cli {
namespace {

using testing::Cli;
using ::testing::HasSubstr;
using ::testing::Not;

Scenario redis_restarts() {
    Scenario scenario;
    scenario.name = "redis-restarts";
    scenario.file = "scenarios/servers/redis-restarts.json";
    scenario.tags = {"slow", "servers"};
    return scenario;
}

bool takes(std::string_view text) {
    const auto selector = parse_selector(text);
    EXPECT_TRUE(selector) << text << ": " << (selector ? "" : selector.error().what);
    return selector && (*selector)(redis_restarts());
}

TEST(Selector, AsksForNamesFilesAndTags) {
    for (const char* text : {"name(redis*)", "name(redis-restarts)", "tag(slow)", "tag(serv*)",
                             "file(scenarios/servers/*)", "file(redis-restarts)", " tag( slow ) "})
        EXPECT_TRUE(takes(text)) << text;
    for (const char* text : {"name(redis)", "tag(quick)", "file(*/nats/*)", "name(slow)"})
        EXPECT_FALSE(takes(text)) << text;
}

// Every expression of this form over three tests, against the same in C++.
TEST(Selector, JoinsTestsAsEverybodyDoes) {
    for (int values = 0; values < 8; ++values) {
        const bool a = (values & 1) != 0;
        const bool b = (values & 2) != 0;
        const bool c = (values & 4) != 0;
        const auto test = [](bool value) { return value ? "tag(slow)" : "tag(quick)"; };
        const auto holds = [&](const char* form) {
            return takes(fmt::format(fmt::runtime(form), test(a), test(b), test(c)));
        };
        EXPECT_EQ(holds("{0} or {1} and {2}"), a || (b && c)) << values;
        EXPECT_EQ(holds("{0} and {1} or {2}"), (a && b) || c) << values;
        EXPECT_EQ(holds("({0} or {1}) and {2}"), (a || b) && c) << values;
        EXPECT_EQ(holds("not {0} and {1}"), !a && b) << values;
        EXPECT_EQ(holds("not ({0} and {1})"), !(a && b)) << values;
        EXPECT_EQ(holds("not not {0}"), a) << values;
        EXPECT_EQ(holds("!{0}&{1}|{2}"), (!a && b) || c) << values;
        EXPECT_EQ(holds("{0} and {1} and not {2}"), a && b && !c) << values;
    }
}

TEST(Selector, SaysWhereItIsWrongAndWhatThereCouldBe) {
    const auto error = [](std::string_view text) {
        const auto selector = parse_selector(text);
        return selector ? std::string("fine") : fmt::format("{}: {}", selector.error().column, selector.error().what);
    };
    EXPECT_EQ(error("tag(slow) nto name(a)"), "11: expected \"and\", \"or\" or the end, not \"nto\"");
    EXPECT_EQ(error("nme(a)"), "1: there is no test \"nme\"; did you mean \"name\"?");
    EXPECT_EQ(error("tag(slow) and"), "14: expected a test, such as name(redis*), file(*happy*) or tag(slow)");
    EXPECT_EQ(error(""), "1: expected a test, such as name(redis*), file(*happy*) or tag(slow)");
    EXPECT_EQ(error("(tag(slow) or name(a)"), "22: expected \")\" for the \"(\" at 1");
    EXPECT_EQ(error("tag(slow"), "9: expected \")\" for the \"(\" at 4");
    EXPECT_EQ(error("tag slow"), "5: expected \"(\" behind \"tag\", as in tag(slow*)");
    EXPECT_EQ(error("tag( )"), "6: expected what tag() is to be; * stands for anything");
    EXPECT_EQ(error("tag(a))"), "7: expected \"and\", \"or\" or the end, not \")\"");
    EXPECT_THAT(error(std::string(100'000, '(')), HasSubstr("more than 100"));
    EXPECT_THAT(error(std::string(100'000, '!')), HasSubstr("more than 100"));
    EXPECT_EQ(pointed_at("nme(a)", {1, ""}), "  nme(a)\n  ^");
}

TEST_F(Cli, ExpressionsSelectToo) {
    EXPECT_EQ(run({"run", folder.string(), "--select", "tag(slow) and not name(al*)"}), 0);
    EXPECT_THAT(out.str(), HasSubstr("beta"));
    EXPECT_THAT(out.str(), Not(HasSubstr("alpha")));
    EXPECT_EQ(run({"run", folder.string(), "--select", "name(*a)", "--tag", "quick"}), 0) << "all that is asked for";
    EXPECT_THAT(out.str(), HasSubstr("1 run: 1 passed"));
    EXPECT_EQ(run({"run", folder.string(), "--select", "name(nobody)"}), 4);
    EXPECT_EQ(run({"verify-determinism", folder.string(), "--select", "tag(slow)"}), 0);
    EXPECT_THAT(out.str(), Not(HasSubstr("alpha")));
    EXPECT_EQ(run({"run", folder.string(), "--select", "tag(slow) xor name(a)"}), 2);
    EXPECT_EQ(err.str(),
              "lockstep: --select: at 11: expected \"and\", \"or\" or the end, not \"xor\"\n"
              "  tag(slow) xor name(a)\n"
              "            ^\n");
}

}  // namespace
}  // namespace lockstep::sim::cli
