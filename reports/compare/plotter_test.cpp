#include "reports/compare/plotter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace lockstep::reports {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// A stand-in for the program, so that these tests need none: `-d` is all that it is given.
PlotterOptions program(const std::string& name, std::chrono::milliseconds timeout = std::chrono::minutes(1)) {
    return {name, timeout};
}

TEST(Plotter, AMissingProgramIsNamedWithThePackageThatHasIt) {
    const auto missing = plotted("plot x", program("no-such-plotter"));
    ASSERT_FALSE(missing.has_value());
    EXPECT_THAT(missing.error(), HasSubstr("no-such-plotter is not installed (Debian: apt-get install gnuplot-nox)"));
}

TEST(Plotter, AFailureIsToldInTheProgramsWords) {
    const auto failed = plotted(std::string(1 << 20, ' '), program("sed"));  // it knows no -d, and reads nothing
    ASSERT_FALSE(failed.has_value());
    EXPECT_THAT(failed.error(), HasSubstr("sed failed: sed: invalid option"));
}

TEST(Plotter, WhatDoesNotEndIsEnded) {
    std::string folder = (std::filesystem::temp_directory_path() / "lockstep-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    const std::filesystem::path path = std::filesystem::path(folder) / "endless";
    std::ofstream(path) << "#!/bin/sh\nexec tail -f /dev/null\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    const auto endless = plotted(std::string(1 << 22, ' '), program(path.string(), std::chrono::milliseconds(50)));
    std::filesystem::remove_all(folder);
    ASSERT_FALSE(endless.has_value());
    EXPECT_THAT(endless.error(), HasSubstr("endless did not finish within 50 ms"));
}

TEST(Plotter, ADocumentBecomesAnElementOfThePage) {
    const std::string document =
        "<?xml version=\"1.0\"?><svg viewBox=\"0 0 440 280\" xmlns=\"x\"><title>Gnuplot</title>"
        "<g id=\"gnuplot_canvas\"><defs><circle id='gpDot'/></defs>\n<g fill=\"none\" color=\"white\" "
        "stroke=\"currentColor\">\n</g>\n"
        "<g id=\"gnuplot_plot_1\" ><title>t</title><path stroke='rgb(  1,   0,   7)' d='M0,0'/>"
        "<polygon fill = 'rgb(  2,   0,   1)'/><path stroke='rgb(  3,   0,   0)'/><path stroke='rgb(  9,   0,   0)'/>"
        "<g fill=\"black\"></g><g fill=\"black\">x</g></g>\n</g>\n</svg>\n";
    EXPECT_EQ(svg_element(document, "a picture"),
              "<svg viewBox=\"0 0 440 280\" role=\"img\" aria-label=\"a picture\">\n<g>\n\n"
              "<g ><path stroke='var(--s7)' d='M0,0'/><polygon fill = 'var(--f1)'/><path stroke='var(--line)'/>"
              "<path stroke='rgb(  9,   0,   0)'/><g fill=\"currentColor\">x</g></g>\n</g>\n</svg>");
    EXPECT_EQ(svg_element("no picture", ""), "");
}

TEST(Plotter, ForeignTextCannotEndTheQuotesOfAScript) {
    EXPECT_EQ(script_text("it's `rm` \"x\" $y @z \\ 5 %\n"), "it?s ?rm? ?x? ?y ?z ? 5 …");
    EXPECT_EQ(script_text("häufig", 3), "häu…");
    EXPECT_THAT(script_text(std::string(100, '\'')), Not(HasSubstr("'")));
}

}  // namespace
}  // namespace lockstep::reports
