// What a replica has been delivered and has not answered stays within bounds, in bytes: five times `bus_bytes_in_flight`, or five times
// two messages of the largest size. At the defaults that is the bound of 64 MB and 256 MB for what is on its way when a replica stops
// asking for more (D-02).
//
// A replica that has had more than the bound for a second, while nothing disturbed it, is given no further submission: what was on its
// way has come by then (engine/delivery-semantics.md, "Large submissions").
//
// Counted from outside: a delivery counts from its arrival until the replica sends its answer or ends. Where settings of replicas
// differ, the largest bound counts for all.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "sim/rules/rules.h"

namespace lockstep::sim::rules {

namespace {

constexpr std::uint64_t kSlack = 5;
/// What was on its way when a replica asked for no more has come.
constexpr auto kOnItsWay = std::chrono::seconds{1};

struct Fullness {
    bool above_half = false;  // of what it may have by what has come so far
    std::optional<Since> since;
};
using FullnessByNode = std::map<fakes::NodeId, Fullness>;

std::uint64_t bound_of(const engine::Tunables& tunables, std::uint64_t largest) {
    return std::max(static_cast<std::uint64_t>(tunables.bus_bytes_in_flight), 2 * largest);
}

void weigh(Fullness& node, const Observed& now, std::uint64_t bytes, std::uint64_t bound) {
    if (bytes <= bound)
        node.since.reset();
    else if (!node.since)
        node.since = Since{now.event, now.at};
}

void is_given_no_more(const Delivered& given, const Fullness& node, const Model& model, std::uint64_t bound,
                      Verdict& verdict) {
    if (!given.is_submission || model.max_payload() == 0 || !node.since) return;
    const engine::Duration full_for = given.at - node.since->at;
    const bool is_excused = full_for <= kOnItsWay || !model.weather().clear_for(given.node, node.since->at);
    verdict.require(is_excused, node.since->event,
                    "it is given a submission, and has had more than {} bytes in its hands for {} ms, now {}", bound,
                    engine::to_millis(full_for), given.unanswered->bytes - given.bytes);
}

}  // namespace

void bounded_memory(Rules& rules, const engine::Tunables& tunables) {
    const auto nodes = std::make_shared<FullnessByNode>();
    rules.add([nodes, &tunables](const Delivered& given, const Model& model, Verdict& verdict) {
        Fullness& node = (*nodes)[given.node];
        const std::uint64_t bytes = given.unanswered->bytes;
        const std::uint64_t kept_to = bound_of(tunables, model.max_payload());
        if (bytes - given.bytes <= kept_to) node.since.reset();
        is_given_no_more(given, node, model, kept_to, verdict);
        weigh(node, given, bytes, kept_to);
        const std::uint64_t most = bound_of(tunables, model.largest_delivered());
        const bool above_half = bytes > most / 2;
        verdict.exercised(above_half && !std::exchange(node.above_half, above_half));
        node.above_half = above_half;
        verdict.require(bytes <= kSlack * most, 0,
                        "{} bytes of deliveries are in its hands without an answer, where {} are the bound", bytes,
                        most);
    });
    rules.add([nodes, &tunables](const DeliveryAnswered& answered, const Model& model, Verdict&) {
        weigh((*nodes)[answered.node], answered, answered.unanswered->bytes, bound_of(tunables, model.max_payload()));
    });
}

}  // namespace lockstep::sim::rules
