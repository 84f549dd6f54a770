// A task carried to its end by a test that turns the real loop itself.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "engine/runtime/scope.h"
#include "engine/runtime/task.h"
#include "prod/loop/uv_loop.h"

namespace lockstep::prod {

/// `slot` outlives the task.
template <class T>
engine::Task<void> keep(engine::Task<T> task, std::optional<T>& slot) {
    slot.emplace(co_await std::move(task));
}

/// REQUIRES: the task ends within `limit`, on loop time; what is expected to fail carries a shorter deadline of its own.
template <class T>
T carry_out(UvLoop& loop, engine::Task<T> task, engine::Duration limit = std::chrono::seconds{30}) {
    std::optional<T> slot;
    engine::Scope scope(loop);
    scope.spawn(keep(std::move(task), slot));
    EXPECT_TRUE(loop.run_until([&slot] { return slot.has_value(); }, limit));
    return std::move(slot.value());
}

}  // namespace lockstep::prod
