#include "prod/ordeal/disturbance.h"

#include <gtest/gtest.h>

#include <set>

namespace lockstep::prod::ordeal {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

TEST(OrdealPlan, TheSameSeedDoesTheSameAndAnotherDoesNot) {
    const auto plan = draw_plan(7, minutes(15), {});
    EXPECT_EQ(plan, draw_plan(7, minutes(15), {}));
    EXPECT_NE(plan, draw_plan(8, minutes(15), {}));
}

TEST(OrdealPlan, AMinuteHasEveryKind) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        std::set<DisturbanceKind> kinds;
        for (const Planned& one : draw_plan(seed, milliseconds(60'000), {})) kinds.insert(one.kind);
        EXPECT_EQ(kinds.size(), kDisturbanceKinds) << "seed " << seed;
    }
}

TEST(OrdealPlan, WhereThereAreSeveralServersMostBlowsAreForThem) {
    Shape shape;
    shape.available = true;
    int servers = 0, all = 0;
    for (const Planned& one : draw_plan(1, minutes(15), shape)) {
        using enum DisturbanceKind;
        EXPECT_TRUE(one.kind != cut && one.kind != stall && one.kind != worker_freeze);
        servers += one.kind >= nats_kill && one.kind <= redis_freeze ? 1 : 0;
        ++all;
    }
    EXPECT_GT(2 * servers, all);
}

TEST(OrdealPlan, EverythingIsOverInTimeAndAimsAtSomebody) {
    const Shape shape{2, 5};
    milliseconds last{};
    for (const Planned& one : draw_plan(3, minutes(15), shape)) {
        EXPECT_GE(one.at, last);
        last = one.at;
        EXPECT_LE(one.at + one.lasts, minutes(15));
        const bool worker = one.kind == DisturbanceKind::worker_kill || one.kind == DisturbanceKind::worker_freeze;
        EXPECT_LT(one.target, worker ? shape.workers : shape.replicas);
        EXPECT_GE(one.target, 0);
    }
    EXPECT_GT(last, minutes(14));
}

TEST(OrdealPlan, EveryKindHasANameOfItsOwn) {
    std::set<std::string_view> names;
    for (std::size_t kind = 0; kind < kDisturbanceKinds; ++kind)
        names.insert(name_of(static_cast<DisturbanceKind>(kind)));
    EXPECT_EQ(names.size(), kDisturbanceKinds);
}

}  // namespace
}  // namespace lockstep::prod::ordeal
