// What the documents say about dead letters: the entry in the store, and what its words mean (redis-schema.md 4; wire.md 5.9,
// 8, 8.2 and 9; C-10b, C-21, C-34, D-06, D-09 and D-11).
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

/// What a code that schedulers give of their own says of the job.
struct CodeMeaning {
    std::string_view code;
    std::string_view status;
    std::string_view state;  // that the job ends in; empty: none, or any
};
/// Null for any other code: a worker may have given it.
[[nodiscard]] const CodeMeaning* meaning_of(std::string_view code);

/// The number that goes with a code on the bus; 0 for codes without one.
[[nodiscard]] std::int32_t bus_number_of(std::string_view code);

/// The state in which a result of this status, named as by protobuf, ends a job.
[[nodiscard]] std::string_view state_after(std::string_view status);

}  // namespace lockstep::sim
