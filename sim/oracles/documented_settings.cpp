#include "sim/oracles/documented_settings.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/config/bounded_json.h"
#include "engine/wire/text.h"
#include "sim/model/settings_text.h"

namespace lockstep::sim {

namespace {

using engine::Duration;
using Json = nlohmann::json;

constexpr std::int64_t kTenYears = 315'360'000;  // s

/// A member of a block of limits: a count, or a time in whole seconds that may be a text such as "90s" if `or_text`.
template <class Block>
struct Limit {
    std::string_view name;
    Duration Block::* time = nullptr;
    std::int64_t Block::* count = nullptr;
    bool or_text = false;
};

using Topic = engine::TopicTimeouts;
using Workflow = engine::WorkflowTimeouts;
using Reconciler = engine::ReconcilerTimeouts;

constexpr std::array kOfTopic{
    Limit<Topic>{"timeout_seconds", &Topic::running},
    Limit<Topic>{"TimeoutSeconds", &Topic::running},
    Limit<Topic>{"execution_timeout", &Topic::running, nullptr, true},
    Limit<Topic>{"dispatch_timeout", &Topic::dispatch, nullptr, true},
    Limit<Topic>{"dispatch_timeout_seconds", &Topic::dispatch, nullptr, true},
    Limit<Topic>{"max_retries", nullptr, &Topic::max_retries},
    Limit<Topic>{"MaxRetries", nullptr, &Topic::max_retries},
};
constexpr std::array kOfWorkflow{
    Limit<Workflow>{"child_timeout_seconds", &Workflow::child},
    Limit<Workflow>{"ChildTimeoutSeconds", &Workflow::child},
    Limit<Workflow>{"step_timeout", &Workflow::child, nullptr, true},
    Limit<Workflow>{"total_timeout_seconds", &Workflow::total},
    Limit<Workflow>{"TotalTimeoutSeconds", &Workflow::total},
    Limit<Workflow>{"run_timeout", &Workflow::total, nullptr, true},
    Limit<Workflow>{"max_retries", nullptr, &Workflow::max_retries},
    Limit<Workflow>{"MaxRetries", nullptr, &Workflow::max_retries},
};
constexpr std::array kOfReconciler{
    Limit<Reconciler>{"dispatch_timeout_seconds", &Reconciler::dispatch},
    Limit<Reconciler>{"DispatchTimeoutSeconds", &Reconciler::dispatch},
    Limit<Reconciler>{"running_timeout_seconds", &Reconciler::running},
    Limit<Reconciler>{"RunningTimeoutSeconds", &Reconciler::running},
    Limit<Reconciler>{"scan_interval_seconds", &Reconciler::scan_interval},
    Limit<Reconciler>{"ScanIntervalSeconds", &Reconciler::scan_interval},
};

std::optional<std::int64_t> whole(const Json& value) {
    if (!value.is_number_integer()) return std::nullopt;
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(kTenYears))
        return std::nullopt;
    const auto number = value.get<std::int64_t>();
    return number < 0 || number > kTenYears ? std::nullopt : std::optional(number);
}

std::optional<Duration> time_in(const Json& value, bool or_text) {
    if (or_text && value.is_string()) {
        const auto parsed = engine::parse_duration(value.get_ref<const std::string&>());
        const bool sound = parsed && *parsed <= std::chrono::seconds(kTenYears);
        return sound ? std::optional<Duration>(*parsed) : std::nullopt;
    }
    const auto seconds = whole(value);
    return seconds ? std::optional<Duration>(std::chrono::seconds(*seconds)) : std::nullopt;
}

/// False: something in it is not as documented.
template <class Block, class Limits>
bool read_block(const Json& node, const Limits& limits, Block& block) {
    if (node.is_null()) return true;
    if (!node.is_object()) return false;
    for (const auto& [name, value] : node.items()) {
        const auto limit = std::ranges::find(limits, std::string_view(name), &Limit<Block>::name);
        if (limit == limits.end()) return false;
        if (limit->time != nullptr) {
            const auto time = time_in(value, limit->or_text);
            if (!time) return false;
            block.*(limit->time) = *time;
        } else {
            const auto count = whole(value);
            if (!count) return false;
            block.*(limit->count) = *count;
        }
    }
    return true;
}

template <class Blocks, class Limits>
bool read_blocks(const Json& node, const Limits& limits, Blocks& blocks) {
    if (node.is_null()) return true;
    if (!node.is_object()) return false;
    for (const auto& [name, value] : node.items()) {
        typename Blocks::mapped_type block;
        if (!read_block(value, limits, block)) return false;
        blocks[name] = block;
    }
    return true;
}

std::optional<engine::Timeouts> limits_in(const Json& document) {
    engine::Timeouts timeouts;
    if (document.is_null()) return timeouts;
    if (!document.is_object()) return std::nullopt;
    for (const auto& [name, section] : document.items()) {
        bool sound = false;
        if (name == "topics" || name == "Topics") {
            sound = read_blocks(section, kOfTopic, timeouts.topics);
        } else if (name == "workflows" || name == "Workflows") {
            sound = read_blocks(section, kOfWorkflow, timeouts.workflows);
        } else if (name == "reconciler" || name == "Reconciler") {
            timeouts.reconciler = {};
            timeouts.reconciler.given = section.is_object() && !section.empty();
            sound = read_block(section, kOfReconciler, timeouts.reconciler);
        }
        if (!sound) return std::nullopt;
    }
    return timeouts;
}

/// Names without the blanks around them; nothing: there is one that is no name.
std::optional<std::vector<std::string>> names_in(const Json& list) {
    if (!list.is_array()) return std::nullopt;
    std::vector<std::string> names;
    for (const Json& item : list) {
        std::string name = item.is_string() ? std::string(engine::wire::trim(item.get_ref<const std::string&>())) : "";
        if (name.empty()) return std::nullopt;
        names.push_back(std::move(name));
    }
    return names;
}

std::optional<engine::Pool> pool_in(const Json& node) {
    engine::Pool pool;
    if (node.is_null()) return pool;
    if (!node.is_object()) return std::nullopt;
    for (const auto& [key, value] : node.items()) {
        if (key == "requires" || key == "Requires") {
            if (value.is_null()) continue;
            const auto names = names_in(value);
            if (!names) return std::nullopt;
            // Of what a pool offers the case does not matter.
            for (std::string name : *names) {
                for (char& c : name)
                    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
                pool.requires_.push_back(std::move(name));
            }
        } else if (key == "status" || key == "Status") {
            if (value == "draining")
                pool.status = engine::PoolStatus::draining;
            else if (value == "inactive")
                pool.status = engine::PoolStatus::inactive;
            else if (value != "active" && value != "")
                return std::nullopt;
        } else if (key != "description" && key != "drain_started_at" && key != "drain_timeout_seconds" &&
                   key != "Description" && key != "DrainStartedAt" && key != "DrainTimeoutSeconds") {
            return std::nullopt;
        }
    }
    return pool;
}

std::optional<engine::RoutingTable> pools_in(const Json& document) {
    if (!document.is_object()) return std::nullopt;
    engine::RoutingTable table;
    for (const auto& [key, section] : document.items()) {
        const bool topics = key == "topics" || key == "Topics";
        if (!topics && key != "pools" && key != "Pools") return std::nullopt;
        if (section.is_null() && !topics) continue;
        if (!section.is_object()) return std::nullopt;
        for (const auto& [written, value] : section.items()) {
            const std::string name(engine::wire::trim(written));
            if (name.empty()) return std::nullopt;
            if (topics) {
                const auto names = names_in(value.is_string() ? Json::array({value}) : value);
                if (!names || names->empty()) return std::nullopt;
                table.topics.emplace(name, *names);
            } else {
                const auto pool = pool_in(value);
                if (!pool) return std::nullopt;
                table.pools.emplace(name, *pool);
            }
        }
    }
    return table.topics.empty() ? std::nullopt : std::optional(std::move(table));
}

void read_modes(const Json& data, engine::Overlay& overlay) {
    const Json input = scheduler_setting(data, "input_fail_mode");
    if (!input.is_null()) overlay.input_fail_mode = input == "open" ? "open" : "closed";  // any other word closes
    const Json output = scheduler_setting(data, "output_fail_mode");
    overlay.output_fail_mode_given = !output.is_null();
    if (output == "open" || output == "closed") overlay.output_fail_mode = output.get<std::string>();
    const Json enabled = scheduler_setting(data, "output_policy_enabled");
    if (enabled.is_boolean()) overlay.output_policy_enabled = enabled.get<bool>();
}

}  // namespace

std::optional<engine::Overlay> read_settings(std::string_view document) {
    const Json settings = engine::parse_bounded(document);
    if (!settings.is_object()) return std::nullopt;
    engine::Overlay overlay;
    const auto found = settings.find("data");
    if (found == settings.end() || found->is_null()) return overlay;
    if (!found->is_object()) return std::nullopt;
    if (const auto pools = found->find("pools"); pools != found->end() && !pools->is_null())
        overlay.pools = pools_in(*pools);
    if (const auto timeouts = found->find("timeouts"); timeouts != found->end() && !timeouts->is_null())
        overlay.timeouts = limits_in(*timeouts);
    read_modes(*found, overlay);
    return overlay;
}

std::optional<engine::Timeouts> read_limits(std::string_view document) {
    const Json parsed = engine::parse_bounded(document);
    return parsed.is_discarded() ? std::nullopt : limits_in(parsed);
}

engine::ReconcilerTimeouts limits_meant_by(const engine::ReconcilerTimeouts& block) {
    const auto meant = [](Duration written, Duration otherwise) {
        return written == Duration{0} ? otherwise : written;
    };
    return {block.given, meant(block.dispatch, std::chrono::seconds{300}),
            meant(block.running, std::chrono::seconds{900}), meant(block.scan_interval, std::chrono::seconds{30})};
}

}  // namespace lockstep::sim
