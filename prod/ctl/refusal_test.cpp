// What lockstepctl says of a command line that it does not understand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "prod/ctl/parser.h"

namespace lockstep::prod {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Said {
    int exit = 0;
    std::string text;
};

Said parsed(std::vector<const char*> words) {
    words.insert(words.begin(), "lockstepctl");
    ::testing::internal::CaptureStderr();
    Parser parser;
    const auto done = parser.parse(static_cast<int>(words.size()), words.data());
    return {done ? 0 : done.error(), ::testing::internal::GetCapturedStderr()};
}

// C11
TEST(CtlRefusal, NamesTheNearestOptionOfTheCommandOrTheProgram) {
    const Said own = parsed({"submit", "--topci", "job.sample"});
    EXPECT_EQ(own.exit, 2);
    EXPECT_EQ(
        own.text,
        "lockstepctl submit: --topci: no such option; did you mean \"--topic\"?\nSee lockstepctl submit --help.\n");
    EXPECT_THAT(parsed({"dlq", "list", "--limti", "5"}).text,
                StartsWith("lockstepctl dlq list: --limti: no such option; did you mean \"--limit\"?"));
    EXPECT_THAT(parsed({"workers", "--jsno"}).text, HasSubstr("--jsno: no such option; did you mean \"--json\"?"));
    EXPECT_THAT(parsed({"--nast", "x", "workers"}).text, HasSubstr("--nast: no such option; did you mean \"--nats\"?"));
    // What the command lacks because of the slip is not what is wrong with it.
    EXPECT_THAT(parsed({"dlq", "purge", "--al"}).text, HasSubstr("--al: no such option; did you mean \"--all\"?"));
}

// C11
TEST(CtlRefusal, NamesTheNearestCommandAtEachLevel) {
    const Said first = parsed({"sumbit", "--topic", "job.sample"});
    EXPECT_EQ(first.exit, 2);
    EXPECT_EQ(first.text,
              "lockstepctl: \"sumbit\": no such command; did you mean \"submit\"?\nSee lockstepctl --help.\n");
    EXPECT_THAT(parsed({"dlq", "lsit"}).text,
                StartsWith("lockstepctl dlq: \"lsit\": no such command; did you mean \"list\"?"));
    EXPECT_THAT(parsed({"dql", "list"}).text, HasSubstr("\"dql\": no such command; did you mean \"dlq\"?"));
    EXPECT_THAT(parsed({"workflow", "strat", "w"}).text, HasSubstr("did you mean \"start\"?"));
    EXPECT_THAT(parsed({"workers", "all"}).text, HasSubstr("\"all\": one word more than it takes"));
    EXPECT_THAT(parsed({"completion", "fisch"}).text, HasSubstr("there is no \"fisch\"; did you mean \"fish\"?"));
}

}  // namespace
}  // namespace lockstep::prod
