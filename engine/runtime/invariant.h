// INVARIANT(condition, message, arguments...): a fact that holds whatever the weather, checked in every build. The
// message is a fmt pattern that prints the values concerned. Not for bad input and not for failing servers: those are
// answers, not defects.
//
// What a broken one does:
//
//   in a coroutine       it ends with InvariantViolation, and so does whoever awaits it, up to the task of a scope. Nothing of the
//                        engine catches it, so that no half-done step is committed.
//   at a scope's task    Executor::unhandled has it. The simulator stops the run, and reports and counts it as a violation, with
//                        time, node and seed. The daemon writes a line at level error, "broken invariant: aborting", with the
//                        condition, its place and its values, and aborts: its jobs are another replica's after the ack wait, and
//                        whoever starts it again counts the abort (its metrics end with it). Other programs print it and abort.
//   in a destructor, or  the process ends at once (std::terminate), with the same text on standard error: what is known to be
//   else in noexcept     wrong cannot be left standing there, and nobody could be told otherwise.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>

namespace lockstep::engine {

class InvariantViolation : public std::logic_error {
public:
    using std::logic_error::logic_error;
};

namespace detail {
[[noreturn]] void invariant_failed(const char* condition, const char* file, int line, std::string message);
}  // namespace detail

}  // namespace lockstep::engine

#define INVARIANT(condition, ...)                                                                                     \
    do {                                                                                                              \
        if (!(condition)) [[unlikely]]                                                                                \
            ::lockstep::engine::detail::invariant_failed(#condition, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)); \
    } while (false)

/// The same for what a caller must guarantee.
#define PRECONDITION(condition, ...) INVARIANT(condition, __VA_ARGS__)
