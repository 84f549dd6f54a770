#include "sim/model/run_document.h"

#include <nlohmann/json.hpp>

#include "engine/wire/json_text.h"
#include "engine/wire/rfc3339.h"

namespace lockstep::sim {

using nlohmann::json;

std::shared_ptr<const json> parse_document(std::string_view text) {
    return std::make_shared<const json>(engine::wire::read_json(text));
}

std::string_view run_of_job(std::string_view job) {
    const std::size_t colon = job.find(':');
    const std::size_t at = job.rfind('@');
    const bool fits = colon != std::string_view::npos && at != std::string_view::npos && colon > 0 && at > colon + 1;
    return fits ? job.substr(0, colon) : std::string_view{};
}

bool is_run_over(std::string_view status) {
    return status == "succeeded" || status == "failed" || status == "denied" || status == "cancelled" ||
           status == "timed_out";
}

bool is_step_over(std::string_view status) { return is_run_over(status); }

const json& member_of(const json& object, std::string_view name) {
    static const json kNothing;
    if (!object.is_object()) return kNothing;
    const auto found = object.find(name);
    return found == object.end() ? kNothing : *found;
}

std::string member_text(const json& object, std::string_view name) {
    const json& found = member_of(object, name);
    return found.is_string() ? found.get<std::string>() : std::string{};
}

std::string step_status(const json& step) {
    std::string status = member_text(step, "status");
    return status.empty() ? "pending" : status;
}

const json& steps_of(const json& run) {
    static const json kNone = json::object();
    const json& steps = member_of(run, "steps");
    return steps.is_object() ? steps : kNone;
}

std::int64_t attempts_of(const json& step) {
    const json& attempts = member_of(step, "attempts");
    return attempts.is_number_integer() ? attempts.get<std::int64_t>() : 0;
}

bool is_called(const json& step) { return !member_of(member_of(step, "input"), "error").is_null(); }

std::string failure_of(const json& step) { return member_text(member_of(step, "error"), "message"); }

std::optional<engine::WallTime> time_of(const json& step, std::string_view name) {
    return engine::wire::parse_rfc3339(member_text(step, name));
}

}  // namespace lockstep::sim
