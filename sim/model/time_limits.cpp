#include "sim/model/time_limits.h"

#include <algorithm>
#include <array>

#include "engine/config/tunables.h"
#include "sim/model/json_document.h"

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

using Topic = TimeLimits::Topic;
using Workflow = TimeLimits::Workflow;
using Reconciler = TimeLimits::Reconciler;

constexpr std::array kTopicLimits{
    Limit<Topic>{"timeout_seconds", &Topic::running},
    Limit<Topic>{"TimeoutSeconds", &Topic::running},
    Limit<Topic>{"execution_timeout", &Topic::running, nullptr, true},
    Limit<Topic>{"dispatch_timeout", &Topic::dispatch, nullptr, true},
    Limit<Topic>{"dispatch_timeout_seconds", &Topic::dispatch, nullptr, true},
    Limit<Topic>{"max_retries", nullptr, &Topic::max_retries},
    Limit<Topic>{"MaxRetries", nullptr, &Topic::max_retries},
};
constexpr std::array kWorkflowLimits{
    Limit<Workflow>{"child_timeout_seconds", &Workflow::child},
    Limit<Workflow>{"ChildTimeoutSeconds", &Workflow::child},
    Limit<Workflow>{"step_timeout", &Workflow::child, nullptr, true},
    Limit<Workflow>{"total_timeout_seconds", &Workflow::total},
    Limit<Workflow>{"TotalTimeoutSeconds", &Workflow::total},
    Limit<Workflow>{"run_timeout", &Workflow::total, nullptr, true},
    Limit<Workflow>{"max_retries", nullptr, &Workflow::max_retries},
    Limit<Workflow>{"MaxRetries", nullptr, &Workflow::max_retries},
};
constexpr std::array kReconcilerLimits{
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

}  // namespace

std::optional<TimeLimits> time_limits_in(const Json& document) {
    TimeLimits limits;
    if (document.is_null()) return limits;
    if (!document.is_object()) return std::nullopt;
    for (const auto& [name, section] : document.items()) {
        bool sound = false;
        if (name == "topics" || name == "Topics") {
            sound = read_blocks(section, kTopicLimits, limits.topics);
        } else if (name == "workflows" || name == "Workflows") {
            sound = read_blocks(section, kWorkflowLimits, limits.workflows);
        } else if (name == "reconciler" || name == "Reconciler") {
            limits.reconciler = {};
            limits.reconciler.given = section.is_object() && !section.empty();
            sound = read_block(section, kReconcilerLimits, limits.reconciler);
        }
        if (!sound) return std::nullopt;
    }
    return limits;
}

TimeLimits::Reconciler TimeLimits::Reconciler::meant() const {
    const auto or_else = [](Duration written, Duration otherwise) {
        return written == Duration{0} ? otherwise : written;
    };
    return {given, or_else(dispatch, std::chrono::seconds{300}), or_else(running, std::chrono::seconds{900}),
            or_else(scan_interval, std::chrono::seconds{30})};
}

std::optional<TimeLimits> read_time_limits(std::string_view document) {
    if (document.empty()) return TimeLimits{};
    const Json parsed = parse_user_json(document);
    return parsed.is_discarded() ? std::nullopt : time_limits_in(parsed);
}

}  // namespace lockstep::sim
