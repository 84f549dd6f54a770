#include "sim/scenario/check_directions.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/config/nearest.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/read.h"

namespace lockstep::sim::detail {

namespace {

using Names = std::vector<std::string>;

bool is_number(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

std::string complaint_about(const std::string& name, const std::string& value) {
    static const Names kNames{"SIM_OUTCOME",      "SIM_SERVICE_MS", "SIM_OUTPUT",
                              "SIM_OUTPUT_BYTES", "SIM_INPUT",      "SIM_FILLING"};
    const auto none_of = [](const char* noun, const std::string& word, const Names& known) {
        return std::ranges::find(known, word) != known.end()
                   ? std::string{}
                   : fmt::format("there is no {} \"{}\"{}", noun, word, engine::suggestion(word, known));
    };
    if (name == "SIM_OUTCOME")
        return none_of("outcome of a worker", value, {worker_outcomes().begin(), worker_outcomes().end()});
    if ((name == "SIM_SERVICE_MS" || name == "SIM_OUTPUT_BYTES") && !is_number(value))
        return fmt::format("expected a whole number{}, got \"{}\"", name == "SIM_SERVICE_MS" ? " of milliseconds" : "",
                           value);
    return none_of("direction of a job", name, kNames);
}

}  // namespace

void check_directions(const nlohmann::json& line, const std::string& at, std::vector<Finding>& findings) {
    const nlohmann::json* job = member(line, "job");
    const nlohmann::json* env = job == nullptr ? nullptr : member(*job, "env");
    if (env == nullptr || !env->is_object()) return;
    for (const auto& [name, value] : env->items()) {
        if (!name.starts_with("SIM_") || !value.is_string()) continue;
        if (std::string why = complaint_about(name, value.get<std::string>()); !why.empty())
            findings.push_back({child(at, name), std::move(why), false});
    }
}

}  // namespace lockstep::sim::detail
