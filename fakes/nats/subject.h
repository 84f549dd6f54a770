// Subjects of NATS: tokens separated by dots; in a pattern `*` stands for one token and a final `>` for one or more.
#pragma once

#include <string_view>

namespace lockstep::fakes {

[[nodiscard]] bool subject_matches(std::string_view pattern, std::string_view subject);

[[nodiscard]] bool has_wildcard(std::string_view pattern);

}  // namespace lockstep::fakes
