// The choice of a worker against a brute-force reading of the rules: everything that constrains a job at once, and what has
// been sent and ended since each heartbeat.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "engine/routing/pick.h"
#include "engine/wire/messages.h"

namespace lockstep::engine {
namespace {

using Names = std::set<std::string>;

struct Candidate {
    cap::Heartbeat heartbeat;
    bool silent = false;
    int sent = 0;
    int ended = 0;
};

Candidate drawn_worker(int number) {
    Candidate worker;
    worker.heartbeat.set_worker_id("w" + std::to_string(number));
    worker.heartbeat.set_pool(*rc::gen::element<std::string>("a", "a", "b", "b", "c", ""));
    worker.heartbeat.set_active_jobs(*rc::gen::element(0, 1, 2, 3, 4));
    worker.heartbeat.set_max_parallel_jobs(*rc::gen::element(0, 0, 2, 4, 6));
    worker.heartbeat.set_cpu_load(static_cast<float>(*rc::gen::element(0, 20, 40, 89, 90)));
    worker.heartbeat.set_gpu_utilization(static_cast<float>(*rc::gen::element(0, 0, 30, 60, 90)));
    (*worker.heartbeat.mutable_labels())["placement.zone"] = *rc::gen::element<std::string>("x", "y");
    worker.silent = *rc::gen::weightedElement<bool>({{5, false}, {1, true}});
    worker.sent = *rc::gen::element(0, 1, 2, 3);
    worker.ended = *rc::gen::element(0, 1, 2, 3);
    return worker;
}

struct Case {
    std::map<std::string, Names> pool_offers{{"a", {}}, {"b", {}}};  // the pools of the topic
    Names required;
    std::string zone, preferred_pool, preferred_worker;
    bool correction = true;
    std::vector<Candidate> workers;
};

Case drawn_case() {
    const auto offers = [] {
        return *rc::gen::element(Names{"gpu", "ocr"}, Names{"gpu", "ocr"}, Names{"gpu"}, Names{"ocr"}, Names{});
    };
    Case drawn;
    for (auto& [name, offered] : drawn.pool_offers) offered = offers();
    drawn.required = *rc::gen::element(Names{}, Names{}, Names{}, Names{"gpu"}, Names{"gpu", "ocr"});
    drawn.zone = *rc::gen::element<std::string>("", "", "x", "y");
    drawn.preferred_pool = *rc::gen::element<std::string>("", "", "", "a", "c");
    drawn.preferred_worker = *rc::gen::element<std::string>("", "w0", "w1", "w9");
    drawn.correction = *rc::gen::arbitrary<bool>();
    const int count = *rc::gen::element(0, 1, 2, 3, 4, 5, 6);
    for (int i = 0; i < count; ++i) drawn.workers.push_back(drawn_worker(i));
    return drawn;
}

/// What may be said of the choice: a worker, or why there is none.
struct Answer {
    std::optional<std::string> worker;
    DispatchReason reason{};
};

int assumed(const Case& drawn, const Candidate& worker) {
    const int active = worker.heartbeat.active_jobs();
    return drawn.correction ? std::max(0, active + worker.sent - worker.ended) : active;
}

bool is_overloaded(const Case& drawn, const Candidate& worker) {
    const int slots = worker.heartbeat.max_parallel_jobs();
    // 90 % of so few places is all of them.
    return (slots > 0 && assumed(drawn, worker) >= slots) || worker.heartbeat.cpu_load() >= 90 ||
           worker.heartbeat.gpu_utilization() >= 90;
}

Answer by_brute_force(const Case& drawn) {
    Names pools;
    for (const auto& [name, offered] : drawn.pool_offers) {
        const bool wanted = drawn.preferred_pool.empty() || drawn.preferred_pool == name;
        if (wanted && std::ranges::includes(offered, drawn.required)) pools.insert(name);
    }
    if (pools.empty()) return {{}, DispatchReason::no_pool_mapping};
    std::vector<const Candidate*> fit;
    bool someone = false;
    for (const Candidate& worker : drawn.workers) {
        const bool place = drawn.zone.empty() || worker.heartbeat.labels().at("placement.zone") == drawn.zone;
        if (worker.silent || !pools.contains(worker.heartbeat.pool()) || !place) continue;
        someone = true;
        if (!is_overloaded(drawn, worker)) fit.push_back(&worker);
    }
    if (fit.empty()) return {{}, someone ? DispatchReason::pool_overloaded : DispatchReason::no_workers};
    for (const Candidate* worker : fit) {
        if (worker->heartbeat.worker_id() == drawn.preferred_worker) return {drawn.preferred_worker, {}};
    }
    const auto load = [&](const Candidate* worker) {
        // In hundredths, exactly: the loads drawn here are whole numbers.
        return 100 * assumed(drawn, *worker) + static_cast<int>(worker->heartbeat.cpu_load()) +
               static_cast<int>(worker->heartbeat.gpu_utilization());
    };
    return {(*std::ranges::min_element(fit, {}, load))->heartbeat.worker_id(), {}};  // the first of equals
}

// ROUTE-01, H-25
RC_GTEST_PROP(PickProperty, IsTheBestOfTheEligibleOrTheRightReason, ()) {
    const Case drawn = drawn_case();
    RoutingTable table;
    table.topics["job.t"] = {"a", "b"};
    for (const auto& [name, offered] : drawn.pool_offers)
        table.pools[name].requires_ = {offered.begin(), offered.end()};
    Tunables tunables;
    tunables.routing_inflight_correction = drawn.correction;
    const MonoTime now{std::chrono::hours{1}};
    Registry registry(std::chrono::seconds{30});
    for (const Candidate& worker : drawn.workers) {
        registry.on_heartbeat(worker.heartbeat, worker.silent ? now - std::chrono::seconds{31} : now);
        for (int i = 0; i < worker.sent; ++i) registry.note_dispatch(WorkerId(worker.heartbeat.worker_id()));
        for (int i = 0; i < worker.ended; ++i) registry.note_end(WorkerId(worker.heartbeat.worker_id()));
    }
    cap::JobRequest request;
    request.set_topic("job.t");
    auto& labels = *request.mutable_labels();
    if (!drawn.zone.empty()) labels["placement.zone"] = drawn.zone;
    if (!drawn.preferred_pool.empty()) labels["preferred_pool"] = drawn.preferred_pool;
    if (!drawn.preferred_worker.empty()) labels["preferred_worker_id"] = drawn.preferred_worker;
    for (const std::string& one : drawn.required) request.mutable_meta()->add_requires_(one);

    const Answer expected = by_brute_force(drawn);
    const auto picked = pick_worker(request, table, registry, tunables, now);
    RC_TAG(expected.worker ? "picked" : std::string(to_string(expected.reason)));
    RC_ASSERT(picked.has_value() == expected.worker.has_value());
    if (picked)
        RC_ASSERT(picked->text() == *expected.worker);
    else
        RC_ASSERT(picked.error().reason == expected.reason);
}

/// What a replica has heard and done: many workers, few different loads, so that ties and labels decide.
Registry drawn_registry(MonoTime& now) {
    Registry registry(std::chrono::seconds{30});
    const auto worker = [] { return "w" + std::to_string(*rc::gen::inRange(0, 40)); };
    const int steps = *rc::gen::inRange(0, 200);
    for (int step = 0; step < steps; ++step) {
        cap::Heartbeat heartbeat;
        switch (*rc::gen::inRange(0, 9)) {
            case 0: registry.note_dispatch(WorkerId(worker())); break;
            case 1: registry.note_end(WorkerId(worker())); break;
            case 2: registry.forget_dispatch(WorkerId(worker())); break;
            case 3: now += std::chrono::seconds{*rc::gen::inRange(0, 10)}; break;
            case 4: registry.sweep(now); break;
            default:
                heartbeat.set_worker_id(worker());
                heartbeat.set_pool(*rc::gen::element<std::string>("a", "a", "b", "c"));
                heartbeat.set_active_jobs(*rc::gen::inRange(0, 3));
                heartbeat.set_max_parallel_jobs(*rc::gen::element(0, 2, 2));
                heartbeat.set_cpu_load(*rc::gen::element(0.0F, 50.0F, 95.0F));
                for (const char* name : {"placement.zone", "node.disk", "team"})
                    if (*rc::gen::arbitrary<bool>())
                        (*heartbeat.mutable_labels())[name] = *rc::gen::element<std::string>("x", "y");
                registry.on_heartbeat(heartbeat, now);
        }
    }
    return registry;
}

/// By looking at each.
std::optional<std::string> by_scan(const Registry& registry, const cap::JobRequest& request, const Tunables& tunables,
                                   MonoTime now) {
    std::optional<std::string> best;
    float least = 0;
    for (int number = 0; number < 40; ++number) {
        const std::string id = "w" + std::to_string(number);
        const Worker* worker = registry.find_routable(WorkerId(id), now);
        if (worker == nullptr || worker->pool == "c" || overloaded(*worker, tunables)) continue;
        const bool carries = std::ranges::all_of(request.labels(), [worker](const auto& label) {
            const auto found = worker->labels.find(label.first);
            return label.first == "team" || (found != worker->labels.end() && found->second == label.second);
        });
        const float score = load_score(*worker, tunables.routing_inflight_correction);
        if (!carries || (best && (score > least || (score == least && id > *best)))) continue;
        best = id;
        least = score;
    }
    return best;
}

// ROUTE-02
RC_GTEST_PROP(PickProperty, AmongManyIsWhomAScanFinds, ()) {
    MonoTime now{std::chrono::hours{1}};
    const Registry registry = drawn_registry(now);
    RoutingTable table;
    table.topics["job.t"] = {"a", "b"};
    Tunables tunables;
    cap::JobRequest request;
    request.set_topic("job.t");
    for (const char* name : {"placement.zone", "node.disk", "team"})
        if (*rc::gen::weightedElement<bool>({{2, false}, {1, true}}))
            (*request.mutable_labels())[name] = *rc::gen::element<std::string>("x", "y");
    for (const bool corrected : {true, false}) {
        tunables.routing_inflight_correction = corrected;
        const auto expected = by_scan(registry, request, tunables, now);
        const auto picked = pick_worker(request, table, registry, tunables, now);
        RC_TAG(expected ? "picked" : "nobody");
        RC_ASSERT(picked.has_value() == expected.has_value());
        if (picked) RC_ASSERT(picked->text() == *expected);
    }
}

}  // namespace
}  // namespace lockstep::engine
