#include "reports/annotation.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "reports/text.h"

namespace lockstep::reports {

namespace {

/// What the command language itself uses becomes %XX; the percent sign is one of `special`.
std::string percent_encoded(std::string_view text, std::string_view special) {
    std::string out;
    for (const char c : printable(text)) {
        if (special.find(c) == std::string_view::npos)
            out += c;
        else
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return out;
}

std::string as_property(std::string_view text) { return percent_encoded(text, "%\r\n:,"); }
std::string as_message(std::string_view text) { return percent_encoded(text, "%\r\n"); }

std::string command_of(const Annotation& problem) {
    std::string properties;
    const auto add = [&](const char* name, const std::string& value) {
        properties += fmt::format("{}{}={}", properties.empty() ? " " : ",", name, value);
    };
    if (!problem.file.empty()) add("file", as_property(problem.file));
    if (problem.line > 0) add("line", std::to_string(problem.line));
    if (problem.column > 0) add("col", std::to_string(problem.column));
    if (!problem.title.empty()) add("title", as_property(problem.title));
    return fmt::format("::error{}::{}\n", properties, as_message(problem.detail));
}

}  // namespace

std::string error_annotations(std::span<const Annotation> problems) {
    std::string out;
    for (const Annotation& problem : problems.first(std::min(problems.size(), kAnnotationsMax)))
        out += command_of(problem);
    if (problems.size() > kAnnotationsMax)
        out += fmt::format("... and {} more, without an annotation.\n", problems.size() - kAnnotationsMax);
    return out;
}

}  // namespace lockstep::reports
