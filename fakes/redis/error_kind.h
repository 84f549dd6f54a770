// Every error that the simulated server can answer with, and its text in redis 7.0.15. Handlers make errors from here and
// from nowhere else, so that the comparison with the real server can tell which of them it has seen on both sides.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lockstep::fakes::redis {

enum class ErrorKind : std::uint8_t {
    syntax,
    wrong_type,
    not_an_integer,
    not_a_float,
    wrong_arity,
    unknown_command,
    unknown_subcommand,
    out_of_memory,
    loading,
    transaction_refused,
    transaction_had_errors,
    nested_multi,
    exec_without_multi,
    discard_without_multi,
    watch_inside_multi,
    overflow,
    decrement_overflow,
    hash_value_not_integer,
    unsupported_option,
    expire_nx_and_others,
    expire_gt_and_lt,
    invalid_expire,
    invalid_cursor,
    must_be_positive,
    database_index,
    timeout_not_an_integer,
    timeout_negative,
    min_or_max_not_a_float,
    limit_without_range,
    score_not_a_number,
    add_nx_and_xx,
    add_gt_lt_nx,
    add_increments_one,
    too_many_keys,
    negative_keys,
    no_script,
    script_flush_option,
    script_does_not_compile,
    script_unknown_command,
    script_wrong_arity,
    script_not_allowed,
    script_no_arguments,
    script_argument_type,
    script_bad_call,
    script_sha_arity,
    script_log_arity,
    script_log_level_type,
    script_log_level,
    script_raised,
};

struct ErrorText {
    ErrorKind kind;
    std::string_view name;
    std::string_view text;  // `{}` stands for what differs from case to case
};

[[nodiscard]] std::span<const ErrorText> error_texts();
/// The whole reply text, `detail` in its place.
[[nodiscard]] std::string error_text(ErrorKind kind, std::string_view detail = {});
/// Which error a reply is, from its beginning; empty when no handler makes it: a script's own.
[[nodiscard]] std::optional<ErrorKind> kind_of_error(std::string_view reply);

}  // namespace lockstep::fakes::redis
