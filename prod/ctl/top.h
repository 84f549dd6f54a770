// `top`: what the deployment is at, again and again.
#pragma once

#include <cstddef>

#include "engine/runtime/task.h"
#include "prod/ctl/session.h"

namespace lockstep::prod {

struct TopOptions {
    std::size_t workers = 20;  // listed one by one, the busiest first
    engine::Duration pause = std::chrono::seconds(1);
    bool once = false;
    bool json = false;
};

/// On a terminal until it is interrupted, with what changes in the place of what was; one look where it is no terminal, asked for or
/// as JSON.
[[nodiscard]] engine::Task<int> show_top(Session& session, TopOptions options);

}  // namespace lockstep::prod
