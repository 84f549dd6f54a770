#include "sim/scenario/fault_arguments.h"

#include <nlohmann/json.hpp>

#include "engine/wire/json_text.h"
#include "sim/scenario/document.h"
#include "sim/scenario/read.h"
#include "sim/scenario/values.h"

namespace lockstep::sim {

namespace {

using nlohmann::json;

bool is_document(FaultArgKind kind) {
    return kind == FaultArgKind::pools || kind == FaultArgKind::timeouts || kind == FaultArgKind::settings ||
           kind == FaultArgKind::layers;
}

WorkerChange change_of(const json& object) {
    WorkerChange change;
    if (detail::member(object, "pool") != nullptr) change.pool = detail::text_of(object, "pool");
    if (detail::member(object, "max_parallel_jobs") != nullptr)
        change.max_parallel_jobs = detail::int_of(object, "max_parallel_jobs", 0);
    if (detail::member(object, "capabilities") != nullptr)
        change.capabilities = detail::texts_of(object, "capabilities");
    if (detail::member(object, "labels") != nullptr) change.labels = detail::labels_of(object, "labels");
    return change;
}

Document latency_document(const Distribution& latency) {
    using Law = Distribution::Kind;
    switch (latency.kind) {
        case Law::constant: return engine::format_duration(latency.a);
        case Law::uniform:
            return {{"dist", "uniform"},
                    {"min", engine::format_duration(latency.a)},
                    {"max", engine::format_duration(latency.b)}};
        case Law::exponential: return {{"dist", "exp"}, {"mean", engine::format_duration(latency.a)}};
        case Law::lognormal:
            return {{"dist", "lognormal"}, {"median", engine::format_duration(latency.a)}, {"sigma", latency.shape}};
        case Law::pareto:
            return {{"dist", "pareto"}, {"min", engine::format_duration(latency.a)}, {"alpha", latency.shape}};
    }
    return engine::format_duration(latency.a);
}

/// Of a tunable's value, as a file gives it: durations and words are texts, all else is JSON itself.
Document tunable_document(const std::string& name, const std::string& value) {
    const engine::TunableInfo* info = engine::find_tunable(name);
    const bool text = info == nullptr || std::holds_alternative<engine::Duration engine::Tunables::*>(info->member) ||
                      std::holds_alternative<std::string engine::Tunables::*>(info->member);
    return text ? Document(value) : engine::wire::sound_ordered_json(value);
}

Document worker_document(const WorkerChange& change) {
    Document out;
    if (change.pool) out["pool"] = *change.pool;
    if (change.max_parallel_jobs) out["max_parallel_jobs"] = *change.max_parallel_jobs;
    if (change.capabilities) out["capabilities"] = *change.capabilities;
    if (change.labels) out["labels"] = *change.labels;
    return out;
}

}  // namespace

// Read ------------------------------------------------------------------------------------------------------------------

void read_argument(const FaultArg& arg, const json& object, std::string& value) {
    const json& given = *detail::member(object, arg.name);
    value = arg.kind == FaultArgKind::timeouts ? detail::timeouts_text(given)
            : is_document(arg.kind)            ? engine::wire::json_text(given)
                                               : given.get<std::string>();
}

void read_argument(const FaultArg& arg, const json& object, double& value) {
    value = detail::number_of(object, arg.name, value);
}

void read_argument(const FaultArg& arg, const json& object, int& status) {
    const json& given = *detail::member(object, arg.name);
    status = given.is_string() ? parse_status(given.get_ref<const std::string&>()).value_or(status) : given.get<int>();
}

void read_argument(const FaultArg& arg, const json& object, std::optional<std::uint64_t>& value) {
    value = detail::int_of(object, arg.name, 1);
}

void read_argument(const FaultArg& arg, const json& object, Duration& value) {
    value = detail::duration_of(object, arg.name);
}

void read_argument(const FaultArg& arg, const json& object, std::optional<Duration>& value) {
    value = detail::duration_of(object, arg.name);
}

void read_argument(const FaultArg& arg, const json& object, Distribution& value) {
    value = detail::distribution_of(object, arg.name, value);
}

void read_argument(const FaultArg& arg, const json& object, std::vector<std::string>& value) {
    value = detail::texts_of(object, arg.name);
}

void read_argument(const FaultArg& arg, const json& object, NamedTunables& value) {
    value = detail::tunables_of(*detail::member(object, arg.name));
}

void read_argument(const FaultArg& arg, const json& object, WorkerChange& value) {
    value = change_of(*detail::member(object, arg.name));
}

// Written ---------------------------------------------------------------------------------------------------------------

Document argument_document(const FaultArg& arg, const std::string& value) {
    const bool by_default = arg.kind == FaultArgKind::direction ? value == "both" : !arg.required && value.empty();
    if (by_default) return {};
    return is_document(arg.kind) ? engine::wire::sound_ordered_json(value) : Document(value);
}

Document argument_document(const FaultArg& arg, double value) {
    return arg.kind == FaultArgKind::probability && value == 1.0 && !arg.required ? Document() : Document(value);
}

Document argument_document(const FaultArg& /*arg*/, int status) {
    return std::string(rpc_statuses()[static_cast<std::size_t>(status)]);
}

Document argument_document(const FaultArg& /*arg*/, const std::optional<std::uint64_t>& value) {
    return value ? Document(*value) : Document();
}

Document argument_document(const FaultArg& /*arg*/, const Duration& value) {
    return value < Duration{} ? "-" + engine::format_duration(-value) : engine::format_duration(value);
}

Document argument_document(const FaultArg& /*arg*/, const std::optional<Duration>& value) {
    return value ? Document(engine::format_duration(*value)) : Document();
}

Document argument_document(const FaultArg& /*arg*/, const Distribution& value) {
    const bool none = value.kind == Distribution::Kind::constant && value.a == Duration{};
    return none ? Document() : latency_document(value);
}

Document argument_document(const FaultArg& /*arg*/, const std::vector<std::string>& value) {
    return value.empty() ? Document() : Document(value);
}

Document argument_document(const FaultArg& /*arg*/, const NamedTunables& value) {
    Document config;
    for (const auto& [name, text] : value) config[name] = tunable_document(name, text);
    return config;
}

Document argument_document(const FaultArg& /*arg*/, const WorkerChange& value) { return worker_document(value); }

}  // namespace lockstep::sim
