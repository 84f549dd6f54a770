#include "sim/search/circuit_themes.h"

#include <array>
#include <utility>

#include "sim/search/theme_parts.h"

namespace lockstep::sim {

namespace {

/// Long after everything else: all have heard of a trip, and nobody can ask whether it may probe policy, which stays away.
void add_trip_that_is_heard(Document& scenario) {
    add_load(scenario, {{"at", "150s"}, {"topic", "job.default"}, {"count", 60}, {"rate", "4/s"}});
    add_fault(scenario, {{"at", "151s"}, {"do", "kernel.errors"}, {"status", "UNAVAILABLE"}, {"for", "25s"}});
    add_fault(
        scenario,
        {{"at", "154s"}, {"do", "redis.errors"}, {"script", "circuit_*"}, {"outcome", "not_applied"}, {"for", "25s"}});
}

}  // namespace

void ailing_policy(Dice& dice, Document& scenario) {
    Document& settings = config(scenario);
    settings["circuit_fail_budget"] = dice.between(1, 4);
    settings["circuit_open_for"] = dice.word({"2s", "5s", "10s"});
    settings["circuit_close_after"] = dice.between(1, 4);
    settings["circuit_half_open_max"] = dice.between(1, 4);
    settings["safety_timeout"] = dice.word({"1s", "2s"});
    if (dice.chance(0.5)) settings["safety_throttle_delay"] = dice.word({"1s", "4s", "12s"});
    if (dice.chance(0.5)) settings["safety_unavailable_delay"] = dice.word({"1s", "4s", "12s"});
    if (dice.chance(0.4)) settings["policy_check_fail_mode"] = "open";
    add_load(scenario, {{"at", "2s"}, {"count", dice.between(20, 60)}, {"rate", dice.word({"1/s", "3/s"})}});
    for (int i = dice.between(2, 4); i > 0; --i) {
        Document fault = {{"at", dice.seconds(2, 40)}, {"for", dice.word({"3s", "8s", "20s"})}};
        switch (dice.between(0, 3)) {
            case 0:
                fault["do"] = "kernel.errors";
                fault["status"] = dice.word({"UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED"});
                fault["rate"] = dice.share({0.3, 0.7, 1.0});
                break;
            case 1:
                fault["do"] = "kernel.latency";
                fault["latency"] = {{"dist", "uniform"}, {"min", "50ms"}, {"max", "2500ms"}};
                fault["rate"] = dice.share({0.5, 1.0});
                break;
            case 2:
                fault["do"] = "kernel.decision";
                fault["decision"] = "throttle";
                fault["rate"] = dice.share({0.3, 1.0});
                break;
            default: fault["do"] = "kernel.outage"; break;
        }
        add_fault(scenario, std::move(fault));
    }
    // Long after that policy is there, and throttles.
    add_load(scenario, {{"at", "150s"}, {"count", 4}, {"rate", "1/s"}});
    add_fault(scenario, {{"at", "149s"}, {"do", "kernel.decision"}, {"decision", "throttle"}, {"for", "15s"}});
}

void lonely_circuits(Dice& dice, Document& scenario) {
    scenario["cluster"]["schedulers"] = dice.between(1, 2);
    Document& settings = config(scenario);
    settings["circuit_fail_budget"] = dice.between(2, 4);
    settings["circuit_open_for"] = dice.word({"1s", "2s", "5s"});
    settings["circuit_half_open_max"] = dice.one_of(std::array{1, 2, 3, 3});
    settings["circuit_close_after"] = dice.one_of(std::array{1, 2, 2, 3, 3, 4});
    settings["safety_timeout"] = dice.word({"1s", "2s", "2s"});
    settings["safety_unavailable_delay"] = dice.word({"1s", "2s"});
    add_load(scenario, {{"at", "2s"},
                        {"topic", "job.default"},
                        {"count", dice.between(120, 240)},
                        {"rate", dice.word({"3/s", "6/s"})}});
    const auto unshared = [&](const std::string& at, double rate, const std::string& length) {
        add_fault(scenario, {{"at", at},
                             {"do", "redis.errors"},
                             {"script", dice.word({"circuit_*", "circuit_*", "circuit_failure", "circuit_success"})},
                             {"outcome", dice.word({"not_applied", "not_applied", "unknown"})},
                             {"rate", rate},
                             {"for", length}});
    };
    // All the time, so that nothing has ever been shared; or now and then.
    if (dice.chance(0.7)) {
        unshared("1s", 1.0, "90s");
        scenario["faults"].back()["script"] = dice.word({"circuit_*", "circuit_failure"});
    } else {
        for (int i = dice.between(1, 2); i > 0; --i)
            unshared(dice.seconds(1, 10), dice.share({0.5, 1.0}), dice.word({"10s", "30s", "60s"}));
    }
    add_fault(scenario, {{"at", dice.seconds(2, 5)},
                         {"do", "kernel.errors"},
                         {"status", dice.word({"UNAVAILABLE", "INTERNAL"})},
                         {"rate", dice.share({0.15, 0.3, 0.5, 0.6})},
                         {"for", "60s"}});
    // What began before a trip is answered after it.
    if (dice.chance(0.7))
        add_fault(scenario, {{"at", dice.seconds(1, 5)},
                             {"do", "kernel.latency"},
                             {"latency", {{"dist", "uniform"}, {"min", "500ms"}, {"max", "1800ms"}}},
                             {"rate", dice.share({0.3, 0.6})},
                             {"for", dice.word({"30s", "60s"})}});
    add_trip_that_is_heard(scenario);
}

void probed_policy(Dice& dice, Document& scenario) {
    Document& settings = config(scenario);
    const int open_for = dice.one_of(std::array{2, 3, 5});
    settings["circuit_fail_budget"] = dice.between(1, 4);
    settings["circuit_open_for"] = fmt::format("{}s", open_for);
    settings["circuit_half_open_max"] = dice.one_of(std::array{1, 1, 2, 3});
    settings["circuit_close_after"] = dice.one_of(std::array{2, 3, 4, 5});
    settings["safety_timeout"] = "2s";
    settings["safety_unavailable_delay"] = dice.word({"1s", "2s"});
    settings["store_op_timeout"] = "1s";
    add_load(
        scenario,
        {{"at", "2s"}, {"topic", "job.default"}, {"count", dice.between(40, 80)}, {"rate", dice.word({"2/s", "5/s"})}});
    const int at = dice.between(4, 10);
    const int away = dice.between(1, 4);
    // Answers take so long that several are waited for, and some of what began before the trip ends after it.
    const auto millis = [](int count) { return fmt::format("{}ms", count); };
    const int slowest = dice.one_of(std::array{400, 1200, 1800, 2300});
    add_fault(scenario, {{"at", millis((1000 * at) - 500)},
                         {"do", "kernel.latency"},
                         {"latency", {{"dist", "uniform"}, {"min", millis(slowest / 4)}, {"max", millis(slowest)}}},
                         {"for", dice.word({"15s", "40s"})}});
    add_fault(scenario, {{"at", fmt::format("{}s", at)},
                         {"do", "kernel.errors"},
                         {"status", dice.word({"UNAVAILABLE", "INTERNAL"})},
                         {"rate", dice.share({0.3, 1.0, 1.0})},
                         {"for", fmt::format("{}s", away)}});
    switch (dice.between(0, 3)) {
        case 0:
            add_fault(scenario, {{"at", fmt::format("{}s", at)},
                                 {"do", "redis.errors"},
                                 {"script", dice.word({"circuit_success", "circuit_success", "circuit_failure"})},
                                 {"outcome", "unknown"},
                                 {"rate", dice.share({0.5, 0.8})},
                                 {"for", dice.word({"15s", "40s"})}});
            break;
        case 1:
            // Whoever asks is gone before the answer.
            settings["circuit_half_open_max"] = 1;
            add_fault(scenario, {{"at", millis((1000 * (at + away + open_for)) + dice.between(-500, 2500))},
                                 {"do", "crash"},
                                 {"target", dice.word({"schedulers", "schedulers", "scheduler-0"})},
                                 {"for", dice.word({"200ms", "2s"})}});
            break;
        case 2:
            add_fault(scenario, {{"at", fmt::format("{}s", at + away)},
                                 {"do", "kernel.errors"},
                                 {"status", "UNAVAILABLE"},
                                 {"rate", dice.share({0.1, 0.2, 0.4})},
                                 {"for", dice.word({"20s", "40s"})}});
            break;
        default: break;
    }
}

}  // namespace lockstep::sim
