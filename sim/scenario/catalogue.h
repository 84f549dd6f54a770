// Every name that a scenario file may use for what the simulator does, with one line each: invariants, mechanisms, faults
// with their arguments, events with their filters, chaos. The file format, its schema and `lockstep list` are made from
// these tables. Tunables and metrics have theirs in the engine.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/data_loss.h"
#include "sim/scenario/fault.h"

namespace lockstep::sim {

/// An invariant or a mechanism. One that is not available is part of the file format, but this version has no rule for
/// it (or cannot switch it off): naming it in a file is an error that says so.
struct NamedItem {
    std::string_view name;
    std::string_view help;
    bool available = false;
    std::string_view paragraph{};  // of the documents, which it comes from
};

/// Defined with the rules, in whose table (sim/rules/invariants.h) stands what judges each: the file format needs names only.
[[nodiscard]] std::span<const NamedItem> invariant_table();
/// Those that excuse the jobs whose data these servers have lost, and no others (engine/delivery-semantics.md, "What holds even
/// then"). All invariants are watched whatever is lost.
[[nodiscard]] std::vector<std::string> excused_by(DataLoss loss);
[[nodiscard]] std::span<const NamedItem> mechanism_table();

/// Defined with the measures (sim/measure/catalogue.h). Why it is no measure, with the nearest name; empty: it is one. Also where it is one of
/// something that there is not, such as the state in `in_state.RUNING.p99`.
[[nodiscard]] std::string complaint_about_measure(std::string_view name);
/// In milliseconds. REQUIRES: a measure.
[[nodiscard]] bool is_time(std::string_view measure);

struct FaultArg {
    std::string_view name;
    FaultArgKind kind;
    bool required;
    /// Takes it from the fault's object in the file, where it stands.
    void (*read)(const FaultArg& arg, const nlohmann::json& object, Fault& fault);
    /// As it stands in a file; null where the default says the same.
    nlohmann::ordered_json (*write)(const FaultArg& arg, const Fault& fault);
};

/// What tells that a fault is over.
enum class FaultEnd : std::uint8_t {
    told,     // an event of its own
    of_node,  // what becomes of the node that it hit
    at_once,  // it is over when it has begun
};

struct FaultInfo {
    std::string_view name;
    std::string_view help;
    std::vector<FaultArg> args;  // "do", "at" and "on" belong to every fault
    DataLoss loses{};            // data that a server had acknowledged
    FaultEnd end{};
    faults::Any (*make)() = nullptr;  // one of this kind that says nothing but its defaults
};

[[nodiscard]] std::span<const FaultInfo> fault_table();
/// Null when there is none of that name.
[[nodiscard]] const FaultInfo* find_fault(std::string_view name);
/// What tells that a fault of this name is over, as its events spell it.
[[nodiscard]] FaultEnd end_of_fault(std::string_view name);

struct EventInfo {
    fakes::EventKind kind;
    std::string_view name;
    std::string_view help;
    bool call = false;                      // told before, applied and answered; a fact only as applied
    std::vector<std::string_view> filters;  // besides node, job and subject, which every event has
    bool deed = false;                      // a call of somebody outside: told before and answered, never applied
};

/// Events that faults can be placed on and that expectations can count.
[[nodiscard]] std::span<const EventInfo> event_table();
[[nodiscard]] const EventInfo* find_event(std::string_view name);

[[nodiscard]] std::span<const NamedItem> chaos_level_table();
[[nodiscard]] std::span<const NamedItem> chaos_kind_table();
[[nodiscard]] std::span<const NamedItem> chaos_heal_table();

/// The states of a job, as Redis spells them.
[[nodiscard]] std::span<const std::string> job_states();
/// The statuses of workflow runs and of their steps, as documents spell them.
[[nodiscard]] std::span<const std::string> run_statuses();
[[nodiscard]] std::span<const std::string> step_statuses();
/// What a worker group may answer: CAP statuses without prefix, and the ways to misbehave.
[[nodiscard]] std::span<const std::string> worker_outcomes();
/// The Lua scripts of the engine and of the gateway, by the name that each declares.
[[nodiscard]] std::span<const std::string> redis_scripts();
/// The gRPC status names in the order of their numbers, from 0.
[[nodiscard]] std::span<const std::string> rpc_statuses();

/// The names of a table, for messages.
[[nodiscard]] std::vector<std::string> names_of(std::span<const NamedItem> table, bool available_only = false);

}  // namespace lockstep::sim
