// Definitions of workflows: checked, and stored.
#pragma once

#include <string>

#include "engine/runtime/task.h"
#include "prod/ctl/session.h"

namespace lockstep::prod {

/// Reports every mistake of the text in `file`; needs no server.
int check_definition(const std::string& file, const std::string& text, bool as_json);
/// Stores it, unless there is a mistake in it.
[[nodiscard]] engine::Task<int> put_definition(Session& session, std::string file, std::string text, bool as_json);

}  // namespace lockstep::prod
