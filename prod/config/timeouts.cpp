#include "prod/config/timeouts.h"

#include <fmt/core.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "prod/config/yaml.h"

namespace lockstep::prod {

namespace {

using engine::Duration;
using nlohmann::json;

class Reader {
public:
    explicit Reader(const YamlDocument& yaml) : yaml_(yaml) {}
    std::string mistakes;

    /// Calls `known` for each member; it answers false for a key that it does not know.
    void members(const json& node, const std::string& at,
                 const std::function<bool(const std::string&, const json&, const std::string&)>& known) {
        if (node.is_null()) return;
        if (!node.is_object()) return mistake(at, "expected a map");
        for (const auto& [key, value] : node.items())
            if (const std::string place = at + "/" + key; !known(key, value, place)) mistake(place, "unknown key");
    }

    std::optional<std::int64_t> number(const json& node, const std::string& at) {
        if (node.is_number_integer() && node.get<std::int64_t>() >= 0) return node.get<std::int64_t>();
        mistake(at, "expected a whole number of at least 0");
        return std::nullopt;
    }
    std::optional<Duration> seconds(const json& node, const std::string& at) {
        const auto value = number(node, at);
        if (!value) return std::nullopt;
        return std::chrono::seconds(*value);
    }
    std::optional<Duration> duration(const json& node, const std::string& at) {
        if (!node.is_string()) return seconds(node, at);
        const auto parsed = engine::parse_duration(node.get<std::string>());
        if (parsed) return *parsed;
        mistake(at, parsed.error());
        return std::nullopt;
    }

private:
    void mistake(const std::string& at, std::string_view what) {
        mistakes += fmt::format("{}{}: {} {}", mistakes.empty() ? "" : "\n", yaml_.place(at), at, what);
    }

    const YamlDocument& yaml_;
};

void read_topic(Reader& reader, const json& node, const std::string& at, TopicTimeouts& topic) {
    reader.members(node, at, [&](const std::string& key, const json& value, const std::string& place) {
        if (key == "timeout_seconds")
            topic.running = reader.seconds(value, place);
        else if (key == "execution_timeout")
            topic.running = reader.duration(value, place);
        else if (key == "dispatch_timeout")
            topic.dispatch = reader.duration(value, place);
        else if (key == "max_retries")
            topic.max_retries = reader.number(value, place);
        else
            return false;
        return true;
    });
}

void check_workflow(Reader& reader, const json& node, const std::string& at) {
    reader.members(node, at, [&](const std::string& key, const json& value, const std::string& place) {
        if (key == "child_timeout_seconds" || key == "total_timeout_seconds")
            (void)reader.seconds(value, place);
        else if (key == "step_timeout" || key == "run_timeout")
            (void)reader.duration(value, place);
        else if (key == "max_retries")
            (void)reader.number(value, place);
        else
            return false;
        return true;
    });
}

/// A block that is there and leaves a field at zero gets other values than a missing block: so the protocol's other
/// implementations have it.
void read_reconciler(Reader& reader, const json& node, const std::string& at, Timeouts& timeouts) {
    Duration dispatch{};
    Duration running{};
    Duration scan{};
    reader.members(node, at, [&](const std::string& key, const json& value, const std::string& place) {
        Duration* target = key == "dispatch_timeout_seconds"  ? &dispatch
                           : key == "running_timeout_seconds" ? &running
                           : key == "scan_interval_seconds"   ? &scan
                                                              : nullptr;
        if (target == nullptr) return false;
        *target = reader.seconds(value, place).value_or(Duration{});
        return true;
    });
    if (dispatch.count() == 0 && running.count() == 0 && scan.count() == 0) return;
    const auto or_else = [](Duration value, Duration otherwise) { return value.count() > 0 ? value : otherwise; };
    timeouts.dispatch = or_else(dispatch, std::chrono::seconds(120));
    timeouts.running = or_else(running, std::chrono::seconds(300));
    timeouts.scan_interval = or_else(scan, std::chrono::seconds(30));
}

}  // namespace

void Timeouts::apply_to(engine::Tunables& tunables) const {
    tunables.dispatch_timeout = dispatch;
    tunables.running_timeout = running;
    tunables.reconciler_interval = scan_interval;
}

tl::expected<Timeouts, std::string> parse_timeouts(const std::string& text, const std::string& file) {
    const auto yaml = parse_yaml(text, file);
    if (!yaml) return tl::make_unexpected(yaml.error());
    Timeouts timeouts;
    Reader reader(*yaml);
    reader.members(json::parse(yaml->json), "", [&](const std::string& key, const json& value, const std::string& at) {
        if (key == "topics") {
            reader.members(value, at, [&](const std::string& topic, const json& node, const std::string& place) {
                read_topic(reader, node, place, timeouts.topics[topic]);
                return true;
            });
        } else if (key == "workflows") {
            reader.members(value, at, [&](const std::string&, const json& node, const std::string& place) {
                check_workflow(reader, node, place);
                return true;
            });
        } else if (key == "reconciler") {
            read_reconciler(reader, value, at, timeouts);
        } else {
            return false;
        }
        return true;
    });
    if (!reader.mistakes.empty()) return tl::make_unexpected(reader.mistakes);
    return timeouts;
}

}  // namespace lockstep::prod
