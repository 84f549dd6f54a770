// gnuplot as a child process: a script goes in, a picture that fits into an HTML page comes out.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace lockstep::reports {

struct PlotterOptions {
    std::string program = "gnuplot";  // looked for on the path
    std::chrono::milliseconds timeout{20'000};
};

/// What the program writes to its standard output for that script, without reading anybody's start-up file. The error says
/// whether it is missing, took too long, or failed and with which words.
[[nodiscard]] tl::expected<std::string, std::string> plotted(std::string_view script,
                                                             const PlotterOptions& options = {});

/// An SVG document of gnuplot as an element of a page: without prologue, names that could be there twice, and fonts of its own.
/// Black (also as rgb(0,0,0)) becomes the colour of the text; rgb(1,0,N) the CSS variable --sN (series), rgb(2,0,N) --fN (faults), rgb(3,0,0)
/// --line, so that the page's style has the colours. Pictures must not use gnuplot's point symbols: they are left out.
[[nodiscard]] std::string svg_element(std::string_view document, std::string_view label_escaped);

/// A text that a script can hold between single quotes: what could end or change it becomes '?', and it is cut at `length_max`.
[[nodiscard]] std::string script_text(std::string_view text, std::size_t length_max = 24);

}  // namespace lockstep::reports
