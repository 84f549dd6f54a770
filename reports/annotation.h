// What a CI system shows beside a file: workflow commands of GitHub Actions, which reads them from the output of a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace lockstep::reports {

/// One thing that is wrong.
struct Annotation {
    std::string file;          // that it is about; empty when it is about none
    std::string title;         // a few words
    std::string detail;        // may have several lines
    std::uint64_t line = 0;    // from 1; 0 = the file as a whole
    std::uint64_t column = 0;  // likewise
};

/// A page of GitHub Actions shows ten errors of a step and says nothing of the rest.
inline constexpr std::size_t kAnnotationsMax = 10;

/// `::error file=…,title=…::…`, a line for each of the first ten, and a line that says how many more there are. Text cannot end its
/// line, its property or its command.
[[nodiscard]] std::string error_annotations(std::span<const Annotation> problems);

}  // namespace lockstep::reports
