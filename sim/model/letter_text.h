// The entry of a dead letter in the store (redis-schema.md 4).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace lockstep::sim {

/// A stored entry. What it leaves out is empty, or 0.
struct LetterText {
    std::string id;
    std::string topic;
    std::string status;  // as protobuf names it
    std::string reason;
    std::string code;
    std::string last_state;
    std::int64_t attempts = 0;
    std::chrono::seconds created_at{};  // since the Unix epoch
};
/// The error says what of the entry is not as it is documented.
[[nodiscard]] tl::expected<LetterText, std::string> read_letter(std::string_view entry);

/// Whether a letter of this id is about a job, and not about a message or a recorded compensation.
[[nodiscard]] bool about_a_job(std::string_view id);

}  // namespace lockstep::sim
