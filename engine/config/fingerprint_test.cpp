#include "engine/config/fingerprint.h"

#include <gtest/gtest.h>

namespace lockstep::engine {
namespace {

// CONF-04
TEST(Fingerprint, IsTheSameForTheSameSettingsInAnotherOrder) {
    const std::string one =
        fingerprint_of_text(R"({"topics": {"job.a": ["p", "q"], "job.b": ["p"]}, "pools": {"p": {}, "q": {}}})");
    EXPECT_EQ(one, fingerprint_of_text(
                       "{\"pools\":{\"q\":{},\"p\":{}},\n \"topics\":{\"job.b\":[\"p\"],\"job.a\":[\"p\",\"q\"]}}"));
    EXPECT_NE(one,
              fingerprint_of_text(R"({"topics": {"job.a": ["q", "p"], "job.b": ["p"]}, "pools": {"p": {}, "q": {}}})"))
        << "the order of a topic's pools means something";
    EXPECT_EQ(fingerprint_of_text("{}"), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a")
        << "the SHA-256 of the two characters";
    EXPECT_EQ(fingerprint_of_text("{"), "");
}

}  // namespace
}  // namespace lockstep::engine
