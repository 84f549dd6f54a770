// What is fuzzed of the simulator and of the policy that it shares with the reference kernel: what people write into files.
#pragma once

#include <string_view>

namespace lockstep::fuzz {

/// A scenario file.
void scenario(std::string_view input);
/// A policy document, as JSON.
void policy(std::string_view input);
/// A content pattern in the first line and the content behind it; a topic pattern and a topic likewise.
void pattern(std::string_view input);

}  // namespace lockstep::fuzz
