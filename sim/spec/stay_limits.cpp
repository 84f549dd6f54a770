#include "sim/spec/stay_limits.h"

#include <algorithm>
#include <limits>

namespace lockstep::sim::spec {

namespace {

using engine::Duration;

/// Redis compares whole milliseconds.
Duration in_millis(Duration duration) { return std::chrono::milliseconds(engine::to_millis(duration)); }

/// The stricter of two limits, each of which may be absent.
Duration stricter(Duration a, Duration b) {
    if (a == Duration{} || b == Duration{}) return std::max(a, b);
    return std::min(a, b);
}

template <class Map>
auto entry_of(const Map& map, std::string_view key) {
    const auto found = map.find(key);
    return found == map.end() ? typename Map::mapped_type{} : found->second;
}

/// For jobs of whose topic and workflow nothing is said.
StayLimit general_limit(bool dispatched, const Model& model, const engine::Tunables& tunables) {
    const Duration first = dispatched ? tunables.dispatch_timeout : tunables.running_timeout;
    StayLimit limit{first, first};
    for (const TimeLimits& document : model.time_limits()) {
        if (!document.reconciler.given) continue;
        const TimeLimits::Reconciler meant = document.reconciler.meant();
        const Duration said = dispatched ? meant.dispatch : meant.running;
        limit = {std::min(limit.shortest, said), std::max(limit.longest, said)};
    }
    return limit;
}

}  // namespace

StayLimit limit_of_stay(State state, const Job& job, const Model& model, const engine::Tunables& tunables) {
    if (state == State::scheduled) {
        const Duration limit = in_millis(tunables.reconciler_scheduled_timeout);
        return {limit, limit};
    }
    if (!is_out(state)) return {};
    const bool dispatched = state == State::dispatched;
    const StayLimit general = general_limit(dispatched, model, tunables);
    // Only files give one to a topic, and the service does not take it back.
    const Duration of_the_file = entry_of(model.time_limits().front().topics, job.topic).dispatch;
    StayLimit limit{Duration::max(), Duration{}};
    for (const TimeLimits& document : model.time_limits()) {
        const TimeLimits::Topic topic = entry_of(document.topics, job.topic);
        const TimeLimits::Workflow workflow = entry_of(document.workflows, job.workflow);
        const Duration dispatch = topic.dispatch > Duration{} ? topic.dispatch : of_the_file;
        const Duration own = dispatched ? dispatch : stricter(topic.running, workflow.child);
        limit.shortest = std::min(limit.shortest, own > Duration{} ? own : general.shortest);
        limit.longest = std::max(limit.longest, own > Duration{} ? own : general.longest);
    }
    return {in_millis(limit.shortest), in_millis(limit.longest)};
}

std::optional<Overdue> overdue(const Stays& stays, const Job& job, const Model& model,
                               const engine::Tunables& tunables) {
    const StayLimit limit = limit_of_stay(stays.before.state, job, model, tunables);
    if (stays.before.since == RedisTime{} || limit.shortest == Duration{}) return std::nullopt;
    const auto since = [&stays](Duration stay) {
        const Duration end = stays.before.since + stay;
        return stays.now.since - (stays.deadline == RedisTime{} ? end : std::min<Duration>(end, stays.deadline));
    };
    return Overdue{since(limit.shortest), since(limit.longest)};
}

Duration longest_interval(const Model& model, const engine::Tunables& tunables) {
    Duration longest = tunables.reconciler_interval;
    for (const TimeLimits& document : model.time_limits())
        if (document.reconciler.given) longest = std::max(longest, document.reconciler.meant().scan_interval);
    return longest;
}

}  // namespace lockstep::sim::spec
