#include "engine/saga/saga_name.h"

#include <gtest/gtest.h>

#include <set>

namespace lockstep::engine {
namespace {

using Kind = SagaName::Kind;

TEST(SagaName, IsReadBackAsItWasWritten) {
    for (const Kind kind : {Kind::run, Kind::workflow, Kind::old_run}) {
        for (const char* tenant : {"acme", "a:b", "12:acme", ""}) {
            for (const char* id : {"run-1", ":", "4:acme:run-1", "run 1\n"}) {
                const SagaName name{kind, tenant, id};
                EXPECT_EQ(SagaName::parse(name.text()), name) << name.text();
            }
        }
    }
    const SagaName old{Kind::shared, {}, "run:4:acme:x"};
    EXPECT_EQ(SagaName::parse(old.text()), old);
}

TEST(SagaName, IsNotReadFromAnythingElse) {
    for (const char* text : {"", "run:", "run-1", "run:4:acm", "run:4:acmex", "run:4:acme", "run:-1:a:b", "run:a:b:c",
                             "run:18446744073709551615:a:b", "run:99999999999999999999999:a:b"})
        EXPECT_FALSE(SagaName::parse(text)) << text;
}

// D-07: neither a tenant nor a run nor a workflow can be called so that it meets another's keys.
TEST(SagaName, NoTwoHaveAKeyInCommonButThoseOfAWorkflow) {
    std::set<std::string> keys;
    const SagaName names[] = {
        {Kind::run, "a", "b:c"},      {Kind::run, "a:b", "c"},       {Kind::run, "a", "lock:1:a:b"},
        {Kind::run, "acme", "run-1"}, {Kind::run, "b", "run-1"},     {Kind::workflow, "a", "run-1"},
        {Kind::run, "lock:1", "x"},   {Kind::run, "acme", "x:lock"}, {Kind::run, "acme", "x"}};
    std::size_t expected = 0;
    for (const SagaName& name : names) {
        keys.insert(name.stack());
        keys.insert(name.lock());
        keys.insert(name.text());
        expected += 3;
        if (const std::string aborted = name.aborted(); !aborted.empty()) {
            keys.insert(aborted);
            ++expected;
        }
    }
    EXPECT_EQ(keys.size(), expected);
    const SagaName acme{Kind::workflow, "acme", "travel"}, initech{Kind::workflow, "initech", "travel"};
    EXPECT_EQ(acme.stack(), initech.stack()) << "as other implementations have it";
    EXPECT_EQ(acme.stack(), "saga:travel:stack");
    EXPECT_EQ(acme.lock(), "saga:travel:lock");
    EXPECT_NE(acme.text(), initech.text());
    EXPECT_EQ(acme.aborted(), "");
    EXPECT_EQ(SagaName({Kind::run, "acme", "run-1"}).stack(), "lockstep:saga:4:acme:run-1");
}

}  // namespace
}  // namespace lockstep::engine
