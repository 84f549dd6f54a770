#include "engine/runs/run_document.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "engine/runtime/invariant.h"
#include "engine/wire/json_text.h"
#include "engine/wire/rfc3339.h"

namespace lockstep::engine {

using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 8> kRunStatuses{"pending", "running", "waiting",   "succeeded",
                                                       "failed",  "denied",  "cancelled", "timed_out"};
constexpr std::array<std::string_view, 9> kStepStatuses{"pending", "running",   "waiting",   "succeeded", "failed",
                                                        "denied",  "cancelled", "timed_out", "skipped"};

const json kNull;

template <class Status, std::size_t N>
std::optional<Status> find_status(const std::array<std::string_view, N>& names, std::string_view text) {
    const auto found = std::ranges::find(names, text);
    if (found == names.end()) return std::nullopt;
    return static_cast<Status>(found - names.begin());
}

const json& member_of(const json& object, std::string_view name) {
    if (!object.is_object()) return kNull;
    const auto found = object.find(name);
    return found == object.end() ? kNull : *found;
}

std::string text_of(const json& value) { return value.is_string() ? value.get<std::string>() : std::string{}; }

std::optional<WallTime> time_of(const json& value) {
    return value.is_string() ? wire::parse_rfc3339(value.get_ref<const std::string&>()) : std::nullopt;
}

json& object_at(json& parent, const char* name) {
    json& value = parent[name];
    if (!value.is_object()) value = json::object();
    return value;
}

/// The first part of a dotted path, which is shortened by it.
std::string_view take_part(std::string_view& path) {
    const std::size_t dot = path.find('.');
    const std::string_view part = path.substr(0, dot);
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
    return part;
}

}  // namespace

std::string_view to_string(RunStatus status) { return kRunStatuses[static_cast<std::size_t>(status)]; }
std::string_view to_string(StepStatus status) { return kStepStatuses[static_cast<std::size_t>(status)]; }
std::optional<RunStatus> parse_run_status(std::string_view text) { return find_status<RunStatus>(kRunStatuses, text); }

StepStatus StepRun::status() const {
    return find_status<StepStatus>(kStepStatuses, text_of(member("status"))).value_or(StepStatus::pending);
}

std::string StepRun::job_id() const { return text_of(member("job_id")); }

std::int64_t StepRun::attempts() const {
    const json& attempts = member("attempts");
    return attempts.is_number_integer() ? std::max<std::int64_t>(attempts.get<std::int64_t>(), 0) : 0;
}

std::optional<WallTime> StepRun::next_attempt_at() const { return time_of(member("next_attempt_at")); }
std::optional<WallTime> StepRun::started_at() const { return time_of(member("started_at")); }
std::string StepRun::skip_reason() const { return text_of(member("skip_reason")); }
bool StepRun::has_input_error() const { return !member_of(member("input"), "error").is_null(); }
const json& StepRun::member(std::string_view name) const { return member_of(*object_, name); }

void StepRun::set_status(StepStatus status) { set("status", to_string(status)); }

void StepRun::begin(StepStatus status, WallTime at) {
    set_status(status);
    set("attempts", attempts() + 1);
    set("started_at", wire::rfc3339(at));
    set_next_attempt_at(std::nullopt);
    erase("completed_at");
}

void StepRun::end(StepStatus status, WallTime at) {
    set_status(status);
    set("completed_at", wire::rfc3339(at));
    set_next_attempt_at(std::nullopt);
}

void StepRun::set_job_id(std::string job) { set("job_id", std::move(job)); }

void StepRun::set_next_attempt_at(std::optional<WallTime> at) {
    if (at)
        set("next_attempt_at", wire::rfc3339(*at));
    else
        erase("next_attempt_at");
}

void StepRun::set_error(std::string message, std::string_view code) {
    json error{{"message", std::move(message)}};
    if (!code.empty()) error["code"] = code;
    set("error", std::move(error));
}
void StepRun::set(std::string_view name, json value) { (*object_)[std::string(name)] = std::move(value); }
void StepRun::erase(std::string_view name) { object_->erase(std::string(name)); }

tl::expected<RunDocument, std::string> RunDocument::parse(std::string_view text) {
    json document = wire::parse_bounded(text);
    if (document.is_discarded()) return tl::make_unexpected("it is no JSON, or nested too deep");
    if (!document.is_object()) return tl::make_unexpected("it is no JSON object");
    return RunDocument(std::move(document));
}

RunDocument::RunDocument(json document) : document_(std::move(document)) {
    PRECONDITION(document_.is_object(), "a run is an object, this is {}", document_.type_name());
}

RunStatus RunDocument::status() const { return parse_run_status(text("status")).value_or(RunStatus::pending); }
std::optional<WallTime> RunDocument::started_at() const { return time_of(member("started_at")); }
std::optional<WallTime> RunDocument::created_at() const { return time_of(member("created_at")); }
std::optional<WallTime> RunDocument::limit_counts_from() const {
    const auto retried = time_of(member_of(member("metadata"), "retried_at"));
    return retried ? retried : started_at();
}
bool RunDocument::dry_run() const { return member("dry_run") == true; }
std::string RunDocument::text(std::string_view name) const { return text_of(member(name)); }
const json& RunDocument::member(std::string_view name) const { return member_of(document_, name); }
void RunDocument::set(std::string_view name, json value) { document_[std::string(name)] = std::move(value); }

void RunDocument::erase(std::string_view name) { document_.erase(std::string(name)); }
void RunDocument::mark_retried(WallTime at) { object_at(document_, "metadata")["retried_at"] = wire::rfc3339(at); }

void RunDocument::set_status(RunStatus status, WallTime at) {
    set("status", to_string(status));
    if (status == RunStatus::running && !started_at()) set("started_at", wire::rfc3339(at));
    if (is_final(status)) set("completed_at", wire::rfc3339(at));
}

void RunDocument::set_error(std::string message) { set("error", json{{"message", std::move(message)}}); }

json RunDocument::scope() const {
    const json& context = member("context");
    const json& steps = member_of(context, "steps");
    return {{"input", member("input")},
            {"ctx", context.is_object() ? context : json::object()},
            {"steps", steps.is_object() ? steps : json::object()}};
}

json& RunDocument::context() { return object_at(document_, "context"); }

bool RunDocument::write_context(std::string_view path, json value) {
    return write_at(context(), path, std::move(value));
}
bool RunDocument::erase_context(std::string_view path) { return erase_at(context(), path); }

bool write_at(json& object, std::string_view path, json value) {
    json* place = &object;
    while (true) {
        const std::string part(take_part(path));
        json& next = (*place)[part];
        if (path.empty()) {
            next = std::move(value);
            return true;
        }
        if (next.is_null()) next = json::object();
        if (!next.is_object()) return false;
        place = &next;
    }
}

bool erase_at(json& object, std::string_view path) {
    json* place = &object;
    while (true) {
        const std::string part(take_part(path));
        const auto found = place->find(part);
        if (found == place->end()) return false;
        if (path.empty()) {
            place->erase(found);
            return true;
        }
        if (!found->is_object()) return false;
        place = &*found;
    }
}

StepRun RunDocument::step(const std::string& key) {
    ++looked_up_;
    json& step = object_at(object_at(document_, "steps"), key.c_str());
    if (member_of(step, "step_id").is_null()) step["step_id"] = key;
    if (member_of(step, "status").is_null()) step["status"] = to_string(StepStatus::pending);
    return {step, key};
}

std::optional<StepRun> RunDocument::find_step(const std::string& key) {
    ++looked_up_;
    const auto steps = document_.find("steps");
    if (steps == document_.end() || !steps->is_object()) return std::nullopt;
    const auto found = steps->find(key);
    if (found == steps->end() || !found->is_object()) return std::nullopt;
    return StepRun(*found, key);
}

std::vector<std::string> RunDocument::step_keys() const {
    std::vector<std::string> keys;
    const json& steps = member("steps");
    if (!steps.is_object()) return keys;
    for (const auto& [key, step] : steps.items())
        if (step.is_object()) keys.push_back(key);
    return keys;
}

void RunDocument::mirror_children(const std::string& parent, const std::vector<std::string>& keys) {
    json children = json::object();
    for (const std::string& key : keys) {
        const json& child = member_of(member("steps"), key);
        if (!child.is_null()) children[key] = child;
    }
    step(parent).set("children", std::move(children));
}

std::string RunDocument::write() const { return wire::json_text(document_); }

const json& at_path(const json& value, std::string_view path) {
    const json* place = &value;
    while (!path.empty()) {
        const std::string_view part = take_part(path);
        if (place->is_array()) {
            std::size_t index = 0;
            const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
            if (error != std::errc{} || end != part.data() + part.size() || index >= place->size()) return kNull;
            place = &(*place)[index];
        } else {
            place = &member_of(*place, part);
        }
    }
    return *place;
}

}  // namespace lockstep::engine
