// What the words of a dead letter mean (redis-schema.md 4; wire.md 5.9, 8, 8.2 and 9; C-10b, C-21, C-34, D-06, D-09 and D-11).
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/model/state.h"

namespace lockstep::sim::spec {

/// What a code that schedulers give of their own says of the job.
struct CodeMeaning {
    std::string_view code;
    std::string_view status;
    State state{};  // that the job ends in; absent: none, or any
};
/// Null for any other code: a worker may have given it.
[[nodiscard]] const CodeMeaning* meaning_of(std::string_view code);

/// The number that goes with a code on the bus; 0 for codes without one.
[[nodiscard]] std::int32_t bus_number_of(std::string_view code);

/// The state in which a result of this status, named as by protobuf, ends a job.
[[nodiscard]] State state_after(std::string_view status);

}  // namespace lockstep::sim::spec
