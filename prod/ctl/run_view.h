// A workflow run as a person looks at it: a tree of its steps, with when each began, how long it took and what it waits for.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "engine/runtime/time.h"

namespace lockstep::prod {

enum class RunStyle : std::uint8_t {
    plain,     // text of one form, for files and pipes
    terminal,  // with lines between the steps, and colours
};

/// `definition` gives the order of steps that have not begun; null where it is not known. Ends with a line break.
[[nodiscard]] std::string draw_run(const nlohmann::json& run, const nlohmann::json& definition, engine::WallTime now,
                                   RunStyle style);

}  // namespace lockstep::prod
