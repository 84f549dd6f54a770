#include "fakes/redis/error_kind.h"

#include <algorithm>
#include <iterator>

namespace lockstep::fakes::redis {

namespace {

using enum ErrorKind;

constexpr ErrorText kTexts[] = {
    {syntax, "syntax", "ERR syntax error"},
    {wrong_type, "wrong type", "WRONGTYPE Operation against a key holding the wrong kind of value"},
    {not_an_integer, "not an integer", "ERR value is not an integer or out of range"},
    {not_a_float, "not a float", "ERR value is not a valid float"},
    {wrong_arity, "wrong arity", "ERR wrong number of arguments for '{}' command"},
    {unknown_command, "unknown command", "ERR unknown command{}"},
    {unknown_subcommand, "unknown subcommand", "ERR unknown subcommand '{}"},
    {out_of_memory, "out of memory", "OOM command not allowed when used memory > 'maxmemory'."},
    {loading, "loading", "LOADING Redis is loading the dataset in memory"},
    {transaction_refused, "EXEC refused", "EXECABORT Transaction discarded because of: {}"},
    {transaction_had_errors, "EXEC after an error", "EXECABORT Transaction discarded because of previous errors."},
    {nested_multi, "nested MULTI", "ERR MULTI calls can not be nested"},
    {exec_without_multi, "EXEC without MULTI", "ERR EXEC without MULTI"},
    {discard_without_multi, "DISCARD without MULTI", "ERR DISCARD without MULTI"},
    {watch_inside_multi, "WATCH inside MULTI", "ERR WATCH inside MULTI is not allowed"},
    {overflow, "overflow", "ERR increment or decrement would overflow"},
    {decrement_overflow, "overflow of DECRBY", "ERR decrement would overflow"},
    {hash_value_not_integer, "hash value not an integer", "ERR hash value is not an integer"},
    {unsupported_option, "unsupported option", "ERR Unsupported option {}"},
    {expire_nx_and_others, "EXPIRE NX and others",
     "ERR NX and XX, GT or LT options at the same time are not compatible"},
    {expire_gt_and_lt, "EXPIRE GT and LT", "ERR GT and LT options at the same time are not compatible"},
    {invalid_expire, "invalid expire time", "ERR invalid expire time in '{}' command"},
    {invalid_cursor, "invalid cursor", "ERR invalid cursor"},
    {must_be_positive, "must be positive", "ERR value is out of range, must be positive"},
    {database_index, "database index", "ERR DB index is out of range"},
    {timeout_not_an_integer, "timeout not an integer", "ERR timeout is not an integer or out of range"},
    {timeout_negative, "negative timeout", "ERR timeout is negative"},
    {min_or_max_not_a_float, "bound not a float", "ERR min or max is not a float"},
    {limit_without_range, "LIMIT without range",
     "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"},
    {score_not_a_number, "score would be NaN", "ERR resulting score is not a number (NaN)"},
    {add_nx_and_xx, "ZADD NX and XX", "ERR XX and NX options at the same time are not compatible"},
    {add_gt_lt_nx, "ZADD GT, LT and NX", "ERR GT, LT, and/or NX options at the same time are not compatible"},
    {add_increments_one, "ZADD INCR of several", "ERR INCR option supports a single increment-element pair"},
    {too_many_keys, "EVAL with too many keys", "ERR Number of keys can't be greater than number of args"},
    {negative_keys, "EVAL with negative keys", "ERR Number of keys can't be negative"},
    {no_script, "NOSCRIPT", "NOSCRIPT No matching script. Please use EVAL."},
    {script_flush_option, "SCRIPT FLUSH option", "ERR SCRIPT FLUSH only support SYNC|ASYNC option"},
    {script_does_not_compile, "script does not compile", "ERR Error compiling script (new function): {}"},
    {script_unknown_command, "script: unknown command", "ERR Unknown Redis command called from script"},
    {script_wrong_arity, "script: wrong arity", "ERR Wrong number of args calling Redis command from script"},
    {script_not_allowed, "script: command not allowed", "ERR This Redis command is not allowed from script"},
    {script_no_arguments, "script: call without arguments",
     "ERR Please specify at least one argument for this redis lib call"},
    {script_argument_type, "script: argument type", "ERR Lua redis lib command arguments must be strings or integers"},
    {script_bad_call, "script: reply of a wrong type", "ERR wrong number or type of arguments"},
    {script_sha_arity, "script: sha1hex arity", "ERR wrong number of arguments"},
    {script_log_arity, "script: log arity", "ERR redis.log() requires two arguments or more."},
    {script_log_level_type, "script: log level type", "ERR First argument must be a number (log level)."},
    {script_log_level, "script: log level", "ERR Invalid debug level."},
    {script_raised, "script: error of Lua", "ERR user_script:{}"},
};

constexpr bool in_order() {
    for (std::size_t i = 0; i < std::size(kTexts); ++i) {
        if (static_cast<std::size_t>(kTexts[i].kind) != i) return false;
    }
    return std::size(kTexts) == static_cast<std::size_t>(script_raised) + 1;
}
static_assert(in_order(), "one text for each kind, in the order of the kinds");

constexpr std::string_view kHole = "{}";

std::string_view beginning(const ErrorText& entry) { return entry.text.substr(0, entry.text.find(kHole)); }

}  // namespace

std::span<const ErrorText> error_texts() { return kTexts; }

std::string error_text(ErrorKind kind, std::string_view detail) {
    std::string text(kTexts[static_cast<std::size_t>(kind)].text);
    const std::size_t hole = text.find(kHole);
    if (hole != std::string::npos) text.replace(hole, kHole.size(), detail);
    return text;
}

std::optional<ErrorKind> kind_of_error(std::string_view reply) {
    const ErrorText* best = nullptr;
    for (const ErrorText& entry : kTexts) {
        if (!reply.starts_with(beginning(entry))) continue;
        if (best == nullptr || beginning(entry).size() > beginning(*best).size()) best = &entry;
    }
    if (best == nullptr) return std::nullopt;
    return best->kind;
}

}  // namespace lockstep::fakes::redis
