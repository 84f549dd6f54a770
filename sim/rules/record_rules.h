// The parts of records_true, by what they judge.
#pragma once

#include "sim/judge/rules.h"

namespace lockstep::sim::rules {

void letters_are_true(Rules& rules);
void answers_are_true(Rules& rules);

/// Texts of peers may hold bytes that are no UTF-8, which a record cannot.
[[nodiscard]] inline bool was_replaced(std::string_view text) {
    return text.find("\xef\xbf\xbd") != std::string_view::npos;
}
[[nodiscard]] inline bool says(std::string_view recorded, std::string_view told) {
    return recorded == told || was_replaced(recorded);
}

/// It is to be now, by the clock of Redis.
void require_now(std::string_view what, double at_ms, std::int64_t now_ms, Verdict& verdict);

}  // namespace lockstep::sim::rules
