// Older components name an error by a word only; newer ones also by a number. This is the word-to-number table.
#pragma once

#include <string_view>

#include "engine/wire/fwd.h"

namespace lockstep::engine::wire {

/// ERROR_CODE_UNSPECIFIED for words without a number, `safety_denied` among them.
[[nodiscard]] cap::ErrorCode error_code_of(std::string_view word);

/// Sets the number of a result that has only the word; leaves any other result alone.
void fill_error_code(cap::JobResult& result);

}  // namespace lockstep::engine::wire
