// What the output policy is asked (wire.md 7.2). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/wire/fwd.h"

namespace lockstep::engine {

/// Most of an output that a question carries, in bytes (wire.md 7.2).
inline constexpr std::size_t kOutputBytesMax = 2'097'152;

/// An output, or the beginning of a long one.
struct OutputContent {
    std::string bytes;      // at most kOutputBytesMax
    std::int64_t size = 0;  // of the whole output. H-55: rules about size mean this one
    [[nodiscard]] bool cut_off() const { return size > static_cast<std::int64_t>(bytes.size()); }
};

/// The quick question: everything that is known about the result but where it lies and what it says (OUT-12).
[[nodiscard]] cap_output::OutputCheckRequest question_about_output(const cap::JobResult& result,
                                                                   const cap::JobRequest& request);
/// Makes the quick question the thorough one. An empty content adds nothing but the pointer.
void attach_content(cap_output::OutputCheckRequest& question, std::string_view result_ptr, OutputContent content);

}  // namespace lockstep::engine
