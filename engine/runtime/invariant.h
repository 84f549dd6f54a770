// INVARIANT(condition, message, arguments...): a fact that holds whatever the weather, checked in every build. The
// message is a fmt pattern that prints the values concerned. Not for bad input and not for failing servers: those are
// answers, not defects. A broken one ends the coroutine with InvariantViolation: the simulator reports it as a
// violation with time and seed, the daemon logs it and aborts.
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

#define INVARIANT(condition, ...)                                                                                 \
    do {                                                                                                          \
        if (!(condition)) [[unlikely]]                                                                            \
            ::lockstep::engine::detail::invariant_failed(#condition, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)); \
    } while (false)

/// The same for what a caller must guarantee.
#define PRECONDITION(condition, ...) INVARIANT(condition, __VA_ARGS__)
