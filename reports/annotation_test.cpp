#include "reports/annotation.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "reports/step_summary.h"

namespace lockstep::reports {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

std::size_t count_of(const std::string& text, const std::string& what) {
    std::size_t count = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
    return count;
}

TEST(AnnotationTest, IsAWorkflowCommandWithFileAndTitle) {
    const std::vector<Annotation> one{{"scenarios/a.json", "no_lost_job", "it is gone", 3, 7}};
    EXPECT_EQ(error_annotations(one), "::error file=scenarios/a.json,line=3,col=7,title=no_lost_job::it is gone\n");
    const std::vector<Annotation> bare{{"", "", "no file at all"}};
    EXPECT_EQ(error_annotations(bare), "::error::no file at all\n");
    EXPECT_EQ(error_annotations({}), "");
}

TEST(AnnotationTest, TextCannotEndItsLineItsPropertyOrItsCommand) {
    const std::vector<Annotation> hostile{{"a,b:c%\n.json", "x::y,\rz", "100%\r\n::error::another"}};
    EXPECT_EQ(error_annotations(hostile),
              "::error file=a%2Cb%3Ac%25%0A.json,title=x%3A%3Ay%2C%0Dz::100%25%0D%0A::error::another\n");
}

TEST(AnnotationTest, TenAreShownAndTheRestIsCounted) {
    std::vector<Annotation> many(10, Annotation{"a.json", "t", "d"});
    EXPECT_EQ(count_of(error_annotations(many), "::error "), 10U);
    EXPECT_THAT(error_annotations(many), Not(HasSubstr("more")));
    many.resize(13, many.front());
    EXPECT_EQ(count_of(error_annotations(many), "::error "), 10U);
    EXPECT_THAT(error_annotations(many), HasSubstr("\n... and 3 more, without an annotation.\n"));
}

TEST(StepSummaryTest, StaysATableWhateverTheProblemsSay) {
    StepSummary summary{"lockstep run: FAILED", "2 of 3 runs failed", {}, "lockstep run a.json --seed 7", "0.1.0"};
    summary.problems = {{"a.json", "no|cell", "a\nnew <b>line</b>"}};
    const std::string text = step_summary_markdown(summary);
    EXPECT_THAT(text, HasSubstr("### lockstep run: FAILED\n\n2 of 3 runs failed\n\n"));
    EXPECT_THAT(text, HasSubstr("| a.json | no\\|cell | a new &lt;b&gt;line&lt;/b&gt; |\n"));
    EXPECT_THAT(text, HasSubstr("Again:\n\n    lockstep run a.json --seed 7\n"));
}

TEST(StepSummaryTest, StaysShortWhateverTheProblemsSay) {
    StepSummary summary{"t", std::string(100'000, '<'), {}, std::string(100'000, 'x'), "0.1.0"};
    summary.problems.assign(5000, {std::string(9999, '&'), std::string(9999, '&'), std::string(9999, '&')});
    const std::string text = step_summary_markdown(summary);
    EXPECT_LT(text.size(), 120'000U);
    EXPECT_EQ(count_of(text, "\n| &amp;"), kSummaryRowsMax);
    EXPECT_THAT(text, HasSubstr("... and 4980 more."));
}

TEST(StepSummaryTest, IsAddedToWhatOtherStepsHaveWritten) {
    std::string pattern = (fs::temp_directory_path() / "lockstep-XXXXXX").string();
    const fs::path folder = ::mkdtemp(pattern.data());
    EXPECT_TRUE(append_to_file(folder / "step.md", "one\n"));
    EXPECT_TRUE(append_to_file(folder / "step.md", "two\n"));
    std::ifstream in(folder / "step.md");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "one\ntwo\n");
    const auto refused = append_to_file(folder / "none" / "step.md", "x");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error(), HasSubstr("none/step.md: No such file"));
    fs::remove_all(folder);
}

}  // namespace
}  // namespace lockstep::reports
