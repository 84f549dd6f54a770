#include "engine/workflow/run_keys.h"

#include <fmt/format.h>

namespace lockstep::engine::keys {

std::string workflow_definition(std::string_view workflow) { return fmt::format("wf:def:{}", workflow); }
std::string run_definition(std::string_view run) { return fmt::format("lockstep:wf:def:{}", run); }
std::string run_document(std::string_view run) { return fmt::format("wf:run:{}", run); }
std::string run_lock(std::string_view run) { return fmt::format("cordum:wf:run:lock:{}", run); }
std::string run_in_hand(std::string_view run) { return fmt::format("lockstep:wf:in_hand:{}", run); }
std::string run_outbox(std::string_view run) { return fmt::format("lockstep:wf:outbox:{}", run); }
std::string run_idempotency(std::string_view key) { return fmt::format("wf:run:idempotency:{}", key); }
std::string runs_of_status(std::string_view status) { return fmt::format("wf:runs:status:{}", status); }
std::string runs_of_workflow(std::string_view workflow) { return fmt::format("wf:runs:{}", workflow); }

}  // namespace lockstep::engine::keys
