#include "engine/config/timeouts.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "engine/runtime/span.h"
#include "engine/wire/json_text.h"

namespace lockstep::engine {

namespace {

using nlohmann::json;

constexpr std::int64_t kSecondsMax = std::chrono::duration_cast<std::chrono::seconds>(kSpanMax).count();

class Reader {
public:
    std::vector<DocumentError> mistakes;

    void mistake(const std::string& at, std::string what) { mistakes.push_back({at, std::move(what)}); }

    /// Calls `known` for each member; it answers false for a key that it does not know.
    void members(const json& node, const std::string& at,
                 const std::function<bool(const std::string&, const json&, const std::string&)>& known) {
        if (node.is_null()) return;
        if (!node.is_object()) return mistake(at, "expected a map");
        for (const auto& [key, value] : node.items()) {
            const std::string place = at + (json::json_pointer() / key).to_string();
            if (!known(key, value, place)) mistake(place, "unknown key");
        }
    }

    std::int64_t number(const json& node, const std::string& at) {
        const bool whole = node.is_number_unsigned() || (node.is_number_integer() && node.get<std::int64_t>() >= 0);
        if (whole && node.get<std::uint64_t>() <= static_cast<std::uint64_t>(kSecondsMax))
            return node.get<std::int64_t>();
        mistake(at, fmt::format("expected a whole number from 0 to {}", kSecondsMax));
        return 0;
    }
    Duration seconds(const json& node, const std::string& at) { return std::chrono::seconds(number(node, at)); }
    Duration duration(const json& node, const std::string& at) {
        if (!node.is_string()) return seconds(node, at);
        const auto parsed = parse_duration(node.get_ref<const std::string&>());
        if (parsed) return *parsed;
        mistake(at, parsed.error());
        return {};
    }
};

bool is_one_of(std::string_view key, std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, key) != names.end();
}

TopicTimeouts read_topic(Reader& reader, const json& node, const std::string& at) {
    TopicTimeouts topic;
    reader.members(node, at, [&](const std::string& key, const json& value, const std::string& place) {
        if (is_one_of(key, {"timeout_seconds", "TimeoutSeconds"}))
            topic.running = reader.seconds(value, place);
        else if (key == "execution_timeout")
            topic.running = reader.duration(value, place);
        else if (is_one_of(key, {"dispatch_timeout", "dispatch_timeout_seconds"}))
            topic.dispatch = reader.duration(value, place);
        else if (is_one_of(key, {"max_retries", "MaxRetries"}))
            topic.max_retries = reader.number(value, place);
        else
            return false;
        return true;
    });
    return topic;
}

WorkflowTimeouts read_workflow(Reader& reader, const json& node, const std::string& at) {
    WorkflowTimeouts workflow;
    reader.members(node, at, [&](const std::string& key, const json& value, const std::string& place) {
        if (is_one_of(key, {"child_timeout_seconds", "ChildTimeoutSeconds"}))
            workflow.child = reader.seconds(value, place);
        else if (key == "step_timeout")
            workflow.child = reader.duration(value, place);
        else if (is_one_of(key, {"total_timeout_seconds", "TotalTimeoutSeconds"}))
            workflow.total = reader.seconds(value, place);
        else if (key == "run_timeout")
            workflow.total = reader.duration(value, place);
        else if (is_one_of(key, {"max_retries", "MaxRetries"}))
            workflow.max_retries = reader.number(value, place);
        else
            return false;
        return true;
    });
    return workflow;
}

ReconcilerTimeouts read_reconciler(Reader& reader, const json& node, const std::string& at) {
    ReconcilerTimeouts limits;
    limits.given = node.is_object() && !node.empty();
    reader.members(node, at, [&](const std::string& key, const json& value, const std::string& place) {
        Duration* target = is_one_of(key, {"dispatch_timeout_seconds", "DispatchTimeoutSeconds"}) ? &limits.dispatch
                           : is_one_of(key, {"running_timeout_seconds", "RunningTimeoutSeconds"}) ? &limits.running
                           : is_one_of(key, {"scan_interval_seconds", "ScanIntervalSeconds"}) ? &limits.scan_interval
                                                                                              : nullptr;
        if (target == nullptr) return false;
        *target = reader.seconds(value, place);
        return true;
    });
    return limits;
}

Duration or_else(Duration value, Duration otherwise) { return value > Duration{0} ? value : otherwise; }

std::int64_t whole_seconds(Duration value) { return std::chrono::ceil<std::chrono::seconds>(value).count(); }

}  // namespace

ReconcilerTimeouts with_fallbacks(const ReconcilerTimeouts& written) {
    return {written.given, or_else(written.dispatch, 300s), or_else(written.running, 900s),
            or_else(written.scan_interval, 30s)};
}

void apply_limits(const Timeouts& timeouts, const PinnedSettings& pinned, Tunables& tunables) {
    if (!timeouts.reconciler.given) return;
    const ReconcilerTimeouts limits = with_fallbacks(timeouts.reconciler);
    if (!pinned.dispatch_timeout) tunables.dispatch_timeout = limits.dispatch;
    if (!pinned.running_timeout) tunables.running_timeout = limits.running;
    if (!pinned.reconciler_interval) tunables.reconciler_interval = limits.scan_interval;
    if (!pinned.replayer_interval) tunables.replayer_interval = limits.scan_interval;
}

tl::expected<Timeouts, std::vector<DocumentError>> parse_timeouts(std::string_view json_text) {
    Reader reader;
    Timeouts timeouts;
    const json document = wire::parse_bounded(json_text);
    if (document.is_discarded())
        reader.mistake("", "expected JSON");
    else
        reader.members(document, "", [&](const std::string& key, const json& value, const std::string& at) {
            if (is_one_of(key, {"topics", "Topics"})) {
                reader.members(value, at, [&](const std::string& topic, const json& node, const std::string& place) {
                    timeouts.topics[topic] = read_topic(reader, node, place);
                    return true;
                });
            } else if (is_one_of(key, {"workflows", "Workflows"})) {
                reader.members(value, at, [&](const std::string& workflow, const json& node, const std::string& place) {
                    timeouts.workflows[workflow] = read_workflow(reader, node, place);
                    return true;
                });
            } else if (is_one_of(key, {"reconciler", "Reconciler"})) {
                timeouts.reconciler = read_reconciler(reader, value, at);
            } else {
                return false;
            }
            return true;
        });
    if (!reader.mistakes.empty()) return tl::make_unexpected(std::move(reader.mistakes));
    return timeouts;
}

std::string stored_form(const Timeouts& timeouts) {
    json document{{"topics", json::object()}, {"workflows", json::object()}};
    for (const auto& [name, topic] : timeouts.topics)
        document["topics"][name] = {{"timeout_seconds", whole_seconds(topic.running)},
                                    {"max_retries", topic.max_retries}};
    for (const auto& [name, workflow] : timeouts.workflows)
        document["workflows"][name] = {{"child_timeout_seconds", whole_seconds(workflow.child)},
                                       {"total_timeout_seconds", whole_seconds(workflow.total)},
                                       {"max_retries", workflow.max_retries}};
    const ReconcilerTimeouts& limits = timeouts.reconciler;
    const bool says_something = limits.dispatch + limits.running + limits.scan_interval > Duration{0};
    if (says_something) {
        document["reconciler"] = {{"dispatch_timeout_seconds", whole_seconds(limits.dispatch)},
                                  {"running_timeout_seconds", whole_seconds(limits.running)},
                                  {"scan_interval_seconds", whole_seconds(limits.scan_interval)}};
    }
    return wire::json_text(document);
}

}  // namespace lockstep::engine
