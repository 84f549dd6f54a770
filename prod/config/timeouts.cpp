#include "prod/config/timeouts.h"

#include <fmt/core.h>

#include "engine/config/relations.h"
#include "prod/config/yaml.h"

namespace lockstep::prod {

tl::expected<engine::Timeouts, std::string> parse_timeouts_file(const std::string& text, const std::string& file) {
    const auto yaml = parse_yaml(text, file);
    if (!yaml) return tl::make_unexpected(yaml.error());
    auto timeouts = engine::parse_timeouts(yaml->json);
    if (timeouts) return std::move(*timeouts);
    std::string mistakes;
    for (const auto& [pointer, what] : timeouts.error())
        mistakes += fmt::format("{}{}: {} {}", mistakes.empty() ? "" : "\n", yaml->place(pointer), pointer, what);
    return tl::make_unexpected(mistakes);
}

std::string late_result_warning(const engine::Tunables& tunables, const engine::Timeouts* timeouts) {
    engine::Duration shortest = tunables.dispatch_timeout;
    std::string which = "the dispatch timeout";
    const auto consider = [&](engine::Duration limit, const std::string& name) {
        if (limit <= engine::Duration::zero() || limit >= shortest) return;
        shortest = limit;
        which = name;
    };
    consider(tunables.running_timeout, "the running timeout");
    if (timeouts != nullptr) {
        for (const auto& [topic, limits] : timeouts->topics) {
            consider(limits.dispatch, fmt::format("the dispatch timeout of topic {}", topic));
            consider(limits.running, fmt::format("the running timeout of topic {}", topic));
        }
        for (const auto& [workflow, limits] : timeouts->workflows)
            consider(limits.child, fmt::format("the running timeout of workflow {}", workflow));
    }
    if (engine::late_result_wait(tunables.bus_ack_wait, tunables.reconciler_interval) < shortest) return {};
    return fmt::format(
        "NATS_JS_ACK_WAIT {} + 2 × the reconciler's interval {} is not below {}, {}: a stored result in the hands of a "
        "replica that dies can come too late, and its job ends as TIMEOUT. Set NATS_JS_ACK_WAIT=30s on every replica "
        "and "
        "change the durables in place: lockstepctl consumers set --ack-wait 30s",
        engine::format_duration(tunables.bus_ack_wait), engine::format_duration(tunables.reconciler_interval), which,
        engine::format_duration(shortest));
}

}  // namespace lockstep::prod
