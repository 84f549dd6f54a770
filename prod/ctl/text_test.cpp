// What is printed for people: nothing in it drives their terminal, or reads as something else than it is.
#include "prod/ctl/text.h"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "prod/ctl/document.h"
#include "prod/ctl/session.h"

namespace lockstep::prod {
namespace {

/// One of each kind, and how JSON writes it.
struct Hidden {
    const char* bytes;
    const char* escaped;
};
constexpr std::array<Hidden, 18> kHidden{{{"\x1b", "\\u001b"},
                                          {"\x7f", "\\u007f"},
                                          {"\xc2\x80", "\\u0080"},
                                          {"\xc2\x9b", "\\u009b"},
                                          {"\xc2\x9f", "\\u009f"},
                                          {"\xd8\x9c", "\\u061c"},
                                          {"\xe2\x80\x8e", "\\u200e"},
                                          {"\xe2\x80\x8f", "\\u200f"},
                                          {"\xe2\x80\xa8", "\\u2028"},
                                          {"\xe2\x80\xa9", "\\u2029"},
                                          {"\xe2\x80\xaa", "\\u202a"},
                                          {"\xe2\x80\xab", "\\u202b"},
                                          {"\xe2\x80\xac", "\\u202c"},
                                          {"\xe2\x80\xad", "\\u202d"},
                                          {"\xe2\x80\xae", "\\u202e"},
                                          {"\xe2\x81\xa6", "\\u2066"},
                                          {"\xe2\x81\xa8", "\\u2068"},
                                          {"\xe2\x81\xa9", "\\u2069"}}};
constexpr const char* kPlain = "caf\xc3\xa9 \xe2\x82\xac \xe2\x80\x93 \xd7\xa9 \xf0\x9f\x98\x80 ~";

TEST(Text, OfHiddenCharactersSaysOnlyThatTheyAreThere) {
    for (const auto& [bytes, escaped] : kHidden) EXPECT_EQ(printable(std::string("a") + bytes + "b"), "a?b") << escaped;
    EXPECT_EQ(printable("a\x9b"
                        "b\xff\xe2\x80"),
              "a?b???")
        << "no UTF-8";
    EXPECT_EQ(printable(kPlain), kPlain);
    EXPECT_EQ(printable_lines("one\x1b[2J\n two\xe2\x80\xae\n"), "one?[2J\n two?\n");
}

TEST(Text, OfJsonIsTheSameDocumentWithoutHiddenCharacters) {
    nlohmann::json document{{"plain", kPlain}, {"list", nlohmann::json::array()}};
    for (const auto& [bytes, escaped] : kHidden) {
        document["list"].push_back(bytes);
        document[bytes] = 1;
        EXPECT_EQ(json_text(bytes), std::string("\"") + escaped + "\"\n");
    }
    for (const int indent : {-1, 2}) {
        const std::string text = json_text(document, indent);
        EXPECT_EQ(nlohmann::json::parse(text), document);
        EXPECT_EQ(printable_lines(text), text);
        EXPECT_NE(text.find(kPlain), std::string::npos);
    }
    EXPECT_EQ(json_text("\xff"), "\"\xef\xbf\xbd\"\n");
    EXPECT_EQ(nlohmann::json::parse(document_line({{"id", "a\xe2\x80\xae"}}))["id"], "a\xe2\x80\xae");
}

TEST(Text, OfAComplaintHasItsLinesAndNothingHidden) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(complain(kNotFound, "there is no job a\x1b]0;x\x07\xe2\x80\xae\n(or it has expired)"), kNotFound);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "lockstepctl: there is no job a?]0;x??\n(or it has expired)\n");
}

}  // namespace
}  // namespace lockstep::prod
