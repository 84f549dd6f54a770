#pragma once

#include <coroutine>

namespace lockstep::fakes {

/// For a coroutine whose node has just died: a dead node does nothing more, and the frame goes with it. REQUIRES: nobody
/// resumes it.
constexpr std::suspend_always forever() { return {}; }

}  // namespace lockstep::fakes
