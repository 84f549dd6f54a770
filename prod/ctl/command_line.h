// What the command line comes to: the command that was chosen, and helpers that turn words into options.
#pragma once

#include <functional>
#include <string>

#include "engine/runtime/task.h"
#include "engine/runtime/time.h"
#include "prod/ctl/session.h"
#include "reports/usage/command.h"

namespace lockstep::prod {

struct Chosen {
    std::function<engine::Task<int>(Session&)> command;
    bool with_bus = false;
    bool with_redis = true;
    bool whatever_is_there = false;     // it connects to the servers that answer, and tells of the others
    const char* without_bus = nullptr;  // it goes on without a bus, and this is said then; null: it does not
    std::function<int()> offline;       // instead of `command`: what needs no server
};

using usage::refuse;

/// A duration such as 30s; `otherwise` for the empty text. Refuses what is none, naming the option.
[[nodiscard]] engine::Duration span(const char* option, const std::string& text, engine::Duration otherwise);
/// The content of a file; of standard input for "-". Refuses what cannot be read.
[[nodiscard]] std::string text_from(const std::string& file);
/// Whoever is logged in.
[[nodiscard]] std::string user_name();

}  // namespace lockstep::prod
