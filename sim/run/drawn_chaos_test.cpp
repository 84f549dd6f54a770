#include <gtest/gtest.h>

#include <stdexcept>

#include "sim/run/run_scenario.h"
#include "sim/scenario/document.h"

namespace lockstep::sim {
namespace {

Document chaotic() {
    return Document::parse(R"({
        "name": "chaotic", "duration": "10m",
        "cluster": { "schedulers": 2, "workers": [ { "id": "w", "count": 2, "service_time": "100ms" } ] },
        "load": [ { "at": "1s", "topic": "job.default", "count": 10, "rate": "5/s" } ],
        "chaos": { "level": "heavy", "heal_at": "2m" }
    })");
}

Scenario loaded(const Document& document) {
    auto scenario = parse_document(document, "test");
    if (!scenario) throw std::runtime_error(to_string(scenario.error().front()));
    return std::move(*scenario);
}

TEST(WithChaosDrawn, IsTheSameRunBitByBit) {
    const Document document = chaotic();
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        const Scenario scenario = loaded(document);
        const Scenario drawn = loaded(with_chaos_drawn(document, scenario, seed));
        EXPECT_FALSE(drawn.chaos);
        const RunResult before = run_scenario(scenario, seed, {});
        const RunResult after = run_scenario(drawn, seed, {});
        EXPECT_EQ(before.error, "");
        EXPECT_GT(before.faults.size(), 5U);
        EXPECT_EQ(after.faults.size(), before.faults.size());
        EXPECT_EQ(after.states, before.states);
    }
}

}  // namespace
}  // namespace lockstep::sim
