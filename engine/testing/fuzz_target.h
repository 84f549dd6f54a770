// Fuzz targets: functions that take any bytes and must answer. A program of targets is linked in one of two ways: with
// libFuzzer, which looks for new inputs for as long as one likes (`./dev fuzz`), or with fuzz_replay.cpp, which runs a corpus and
// a fixed number of mutations of it, the same each time, as a test.
//
// What a target promises, it asks FUZZ_MUST: a false condition ends the program, and the input is kept.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

namespace lockstep::fuzz {

struct Target {
    std::string_view name;
    void (*run)(std::string_view input);
};

/// The targets of this program; each program defines it once.
[[nodiscard]] std::span<const Target> targets();

[[noreturn]] inline void broken(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "%s:%d: broken: %s\n", file, line, condition);
    std::abort();
}

}  // namespace lockstep::fuzz

#define FUZZ_MUST(condition) \
    (static_cast<bool>(condition) ? static_cast<void>(0) : ::lockstep::fuzz::broken(#condition, __FILE__, __LINE__))
