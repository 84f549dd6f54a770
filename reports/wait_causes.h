// The words and colours of what a job does or waits for. The causes are those of the measure `waiting.*`; what the table does not
// know is a cause that the engine wrote down for itself, and keeps its own name.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lockstep::reports {

struct WaitKind {
    std::string_view style;  // the class in the style sheet
    std::string_view label;  // in the legend
};

/// In the order of the legend; the last two are no waiting.
[[nodiscard]] std::span<const WaitKind> wait_kinds();

/// The class of a stretch.
[[nodiscard]] std::string_view style_of_stretch(std::string_view what);

/// "a worker (no_workers)": what it waits for, and the name of the cause where that says more.
[[nodiscard]] std::string label_of_stretch(std::string_view what);

[[nodiscard]] bool is_wait(std::string_view what);

}  // namespace lockstep::reports
