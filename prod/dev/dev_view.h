// What `lockstep dev` shows while it runs.
#pragma once

#include <string>

#include "prod/ctl/overview.h"

namespace lockstep::prod {

struct ReplicaCount {
    int running = 0;
    int of = 0;
};

/// Several lines, for a terminal. `before` as in overview_text.
[[nodiscard]] std::string dev_screen(const Overview& now, const Overview* before, ReplicaCount replicas);
/// One line, for a file or a pipe. Nothing in it grows with time alone.
[[nodiscard]] std::string dev_line(const Overview& now, ReplicaCount replicas);

}  // namespace lockstep::prod
