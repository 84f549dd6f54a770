#include "fakes/rng.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep::fakes {
namespace {

using namespace std::chrono_literals;

TEST(Rng, TheSameSeedAndStreamGiveTheSameNumbersOnEveryBuild) {
    Rng rng(7, "network");
    EXPECT_EQ(rng.next(), 0xf254b4e3c35e8cedULL);
}

TEST(Rng, StreamsOfOneSeedAreIndependent) {
    Rng a(7, "network");
    Rng b(7, "faults");
    EXPECT_NE(a.next(), b.next());
}

TEST(Rng, BelowStaysBelowAndReachesEveryValue) {
    Rng rng(1, "x");
    int seen[5] = {};
    for (int i = 0; i < 1000; ++i) ++seen[rng.below(5)];
    for (const int count : seen) EXPECT_GT(count, 150);
}

TEST(KeyedRng, AUseMoreOfOneKeyShiftsNoOther) {
    KeyedRng few(7, "workers");
    KeyedRng many(7, "workers");
    for (int i = 0; i < 5; ++i) static_cast<void>(many.next("job-1").next());
    EXPECT_EQ(few.next("job-2").next(), many.next("job-2").next());
    EXPECT_EQ(few.at(DrawKey().with(3).with(1)).next(), many.at(DrawKey().with(3).with(1)).next());
}

TEST(KeyedRng, UsesKeysFamiliesAndSeedsAllDiffer) {
    KeyedRng draws(7, "workers");
    const std::uint64_t first = draws.next("a").next();
    EXPECT_NE(first, draws.next("a").next());
    EXPECT_NE(first, draws.next("b").next());
    EXPECT_NE(first, KeyedRng(7, "links").next("a").next());
    EXPECT_NE(first, KeyedRng(8, "workers").next("a").next());
    EXPECT_NE(DrawKey().with("ab").with("c").value(), DrawKey().with("a").with("bc").value());
    EXPECT_NE(DrawKey().with(1).with(2).value(), DrawKey().with(2).with(1).value());
}

TEST(KeyedRng, FirstDrawsOfManyKeysAreSpreadEvenly) {
    KeyedRng draws(1, "x");
    int seen[5] = {};
    for (std::uint64_t key = 0; key < 1000; ++key) ++seen[draws.next(key).below(5)];
    for (const int count : seen) EXPECT_GT(count, 150);
}

TEST(Rng, PortableLogAndExpAgreeWithTheMathLibrary) {
    for (double x = 1e-12; x < 1e12; x *= 1.7)
        EXPECT_NEAR(portable_log(x), std::log(x), 1e-13 * (1 + std::abs(std::log(x))));
    for (double x = -30; x < 30; x += 0.37) EXPECT_NEAR(portable_exp(x) / std::exp(x), 1.0, 1e-13);
}

TEST(Distribution, DrawsHaveTheStatedMeanOrMedianAndBounds) {
    Rng rng(3, "d");
    const Distribution exponential{Distribution::Kind::exponential, 2s, {}, 0};
    double sum = 0;
    for (int i = 0; i < 20000; ++i) sum += std::chrono::duration<double>(exponential.draw(rng)).count();
    EXPECT_NEAR(sum / 20000, 2.0, 0.06);

    const Distribution uniform{Distribution::Kind::uniform, 200us, 2ms, 0};
    const Distribution lognormal{Distribution::Kind::lognormal, 1s, {}, 0.5};
    const Distribution pareto{Distribution::Kind::pareto, 10ms, {}, 2.0};
    int below_median = 0;
    for (int i = 0; i < 5000; ++i) {
        const auto u = uniform.draw(rng);
        EXPECT_GE(u, 200us);
        EXPECT_LE(u, 2ms);
        below_median += lognormal.draw(rng) < 1s ? 1 : 0;
        EXPECT_GE(pareto.draw(rng), 10ms);
    }
    EXPECT_NEAR(below_median, 2500, 150);
}

}  // namespace
}  // namespace lockstep::fakes
