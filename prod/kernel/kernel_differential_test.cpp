// The simulated safety kernel and its client against the daemon's binding and a real gRPC server: the same calls in the
// same weather, and what can be told of each must agree: the decision or the status, whether the handler had run by then,
// and whether it ran in the end. The page fakes/coverage.md says how often what was compared.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <vector>

#include "fakes/testing/coverage.h"
#include "prod/kernel/test_kernel_lies.h"

namespace lockstep::prod {
namespace {

using namespace std::chrono_literals;

constexpr const char* kSection = "Safety kernel";
/// For random histories; most of it is waiting for deadlines and for channels that connect again.
constexpr auto kBudget = 12s;
constexpr int kHighestStatus = 16;  // grpc::StatusCode::UNAUTHENTICATED

using History = std::vector<Step>;

/// Every weather for both calls, with a decision of both kinds, and every status.
History everything() {
    History all;
    for (const bool output : {false, true}) {
        for (const Weather weather : kWeathers) {
            for (const bool refusing : {false, true}) {
                if (weather != Weather::status) all.push_back({weather, output, refusing, 0});
            }
        }
        for (int status = 1; status <= kHighestStatus; ++status)
            all.push_back({Weather::status, output, false, status});
    }
    return all;
}

rc::Gen<Step> any_step() {
    return rc::gen::map(
        rc::gen::tuple(rc::gen::elementOf(std::vector<Weather>(kWeathers.begin(), kWeathers.end())),
                       rc::gen::arbitrary<bool>(), rc::gen::arbitrary<bool>(), rc::gen::inRange(1, kHighestStatus + 1)),
        [](const std::tuple<Weather, bool, bool, int>& drawn) {
            const auto& [weather, output, refusing, status] = drawn;
            return Step{weather, output, refusing, weather == Weather::status ? status : 0};
        });
}

struct Compared {
    enum Column : std::size_t { kCheck, kCheckOutput };
    fakes::testing::CoverageTable weathers{"weather", {"Check", "CheckOutput"}};
    fakes::testing::CoverageTable answers{"answer", {"Check", "CheckOutput"}};
};

/// Where the two first differ; empty for nowhere.
std::string difference(KernelSide& simulated, KernelSide& real, const History& history, Compared& compared) {
    for (const Step& step : history) {
        const Observed in_fake = simulated.observe(step);
        const Observed in_real = real.observe(step);
        const auto column = step.output ? Compared::kCheckOutput : Compared::kCheck;
        compared.weathers.count(to_string(step.weather), column);
        compared.answers.count(in_real.answer, column);
        if (!(in_fake == in_real)) {
            return fmt::format("{}\n  simulated: {}\n  real:      {}", rc::toString(step), rc::toString(in_fake),
                               rc::toString(in_real));
        }
    }
    return {};
}

TEST(KernelDifferential, CallsEndAlikeInEveryWeather) {
    Compared compared;
    const auto simulated = simulated_side();
    const auto real = real_side();
    for (const Step& step : everything()) EXPECT_EQ(difference(*simulated, *real, {step}, compared), "");

    int histories = 0;
    const auto end = std::chrono::steady_clock::now() + kBudget;
    const bool held = rc::check([&] {
        const auto history = *rc::gen::resize(8, rc::gen::container<History>(any_step()));
        if (histories > 10 && std::chrono::steady_clock::now() > end) return;
        ++histories;
        const auto fresh_simulated = simulated_side();
        const auto fresh_real = real_side();
        const std::string differs = difference(*fresh_simulated, *fresh_real, history, compared);
        if (!differs.empty()) RC_FAIL(differs);
    });
    EXPECT_TRUE(held);
    for (const auto column : {Compared::kCheck, Compared::kCheckOutput}) {
        for (const Weather weather : kWeathers) EXPECT_GT(compared.weathers.at(to_string(weather), column), 0U);
        for (const int status : fakes::kStatusesOfTheTransport) {
            EXPECT_GT(compared.answers.at(fmt::format("status {}", status), column), 0U) << status;
        }
    }
    fakes::testing::add_to_coverage_page(
        kSection, fmt::format("{} calls one after the other, and {} random histories.\n\n{}{}", everything().size(),
                              histories, compared.weathers.markdown(), compared.answers.markdown()));
}

TEST(KernelDifferential, EveryLieOfASimulatedKernelIsCaught) {
    fakes::testing::CoverageTable caught("lie", {"calls that caught it", "of"});
    const History history = everything();
    Compared compared;
    std::vector<Observed> real;
    const auto real_kernel = real_side();
    for (const Step& step : history) real.push_back(real_kernel->observe(step));
    for (const KernelLie& lie : kernel_lies()) {
        const auto lying = lying_side(lie);
        int differences = 0;
        for (std::size_t i = 0; i < history.size(); ++i) differences += lying->observe(history[i]) == real[i] ? 0 : 1;
        EXPECT_GT(differences, 0) << "nobody noticed: " << lie.name;
        caught.count(lie.name, 0, static_cast<std::uint64_t>(differences));
        caught.count(lie.name, 1, history.size());
    }
    EXPECT_GE(kernel_lies().size(), 10U);
    fakes::testing::add_to_coverage_page(kSection, caught.markdown());
}

}  // namespace
}  // namespace lockstep::prod
