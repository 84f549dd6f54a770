// JetStreamModel against a real nats-server: the same random histories on both. test_comparison.h has the method. Many
// histories run side by side, since nearly all of their time is waiting. One that differs is run again alone on a calm
// machine: only a difference that comes back is one. The page fakes/coverage.md says how often what was compared; what was
// never compared fails here.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <barrier>
#include <memory>
#include <thread>

#include "fakes/nats/test_comparison.h"
#include "fakes/testing/server_lines.h"
#include "fakes/testing/server_process.h"

namespace lockstep::fakes {
namespace {

using namespace std::chrono_literals;

constexpr const char* kSection = "JetStream";
constexpr auto kBudget = 40s;
constexpr std::size_t kSideBySide = 40;

/// A history, and the lie that the model tells, if any.
struct Attempt {
    History history;
    const ModelLie* lie = nullptr;
};

class Servers {
public:
    /// Runs them side by side, with one restart in the middle, every other one after a kill. For each what differed;
    /// empty for nothing.
    std::vector<std::string> run(const std::vector<Attempt>& attempts, JetStreamCompared& compared) {
        const bool kill = ++restarts_ % 2 == 0;
        std::vector<std::string> differences(attempts.size());
        std::barrier stopped(static_cast<std::ptrdiff_t>(attempts.size()) + 1);
        std::barrier started(static_cast<std::ptrdiff_t>(attempts.size()) + 1);
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < attempts.size(); ++i) {
            threads.emplace_back([&, i, name = "S" + std::to_string(++names_)] {
                differences[i] = run_one(attempts[i], name, compared, kill, stopped, started);
            });
        }
        stopped.arrive_and_wait();
        if (kill) {
            process_.kill();
        } else {
            process_.stop();
        }
        process_.start();
        started.arrive_and_wait();
        for (std::thread& thread : threads) thread.join();
        return differences;
    }

    /// The difference if it comes back.
    std::string confirmed(const Attempt& attempt, std::string difference, JetStreamCompared& compared) {
        for (int again = 0; again < 2 && !difference.empty(); ++again) difference = run({attempt}, compared).front();
        return difference;
    }

private:
    std::string run_one(const Attempt& attempt, const std::string& name, JetStreamCompared& compared, bool killed,
                        std::barrier<>& stopped, std::barrier<>& started) {
        std::unique_ptr<Comparison> comparison;
        std::string difference;
        bool abandoned = false;
        const auto carry_out = [&](const auto& part) {
            if (!difference.empty() || abandoned) return;
            try {
                part();
            } catch (const NeverCalm&) {
                abandoned = true;
            } catch (const std::exception& error) {
                difference = error.what();
            }
        };
        carry_out([&] {
            comparison = std::make_unique<Comparison>(attempt.history, process_.port(), name, compared, attempt.lie);
            comparison->run(attempt.history.before_restart);
            comparison->quiesce();
        });
        stopped.arrive_and_wait();
        started.arrive_and_wait();
        carry_out([&] {
            comparison->restarted(killed);
            comparison->run(attempt.history.after_restart);
            comparison->finish();
        });
        return difference;
    }

    testing::ServerProcess process_{testing::nats_server_line};
    int names_ = 0;
    int restarts_ = 0;
};

class JetStreamDifferential : public ::testing::Test {
protected:
    void SetUp() override {
        if (!testing::find_program("nats-server")) GTEST_SKIP() << "nats-server is not installed";
        servers_.emplace();
    }

    std::optional<Servers> servers_;
};

void expect_everything_compared(const JetStreamCompared& compared) {
    for (const EventKind kind : kVerdicts) {
        for (const bool counted : {true, false}) {
            const std::string row = answer_row({kind, {}}, counted);
            EXPECT_GT(compared.at(row), 0U) << "never compared: " << row;
        }
    }
    for (const char* row :
         {"publish, stored", "publish, duplicate", "publish, refused", "publish, no stream",
          "nak with a delay, counted", "nak with a delay, ignored", "delivery, first", "delivery, again",
          "nothing more is delivered", "look-up, found", "look-up, nothing", "last sequence", "consumer's counters",
          "restart after a clean stop", "restart after a kill", "member joins", "member leaves", "second member joins",
          "second member leaves"}) {
        EXPECT_GT(compared.at(row), 0U) << "never compared: " << row;
    }
}

TEST_F(JetStreamDifferential, TheModelAnswersAsTheRealServerDoes) {
    const auto end = std::chrono::steady_clock::now() + kBudget;
    JetStreamCompared compared;
    int histories = 0;
    int batches = 0;
    std::string first;  // shrinking may run out of time and then knows of nothing
    const bool held = rc::check([&] {
        if (batches >= 2 && std::chrono::steady_clock::now() > end) return;
        ++batches;
        const auto drawn = *rc::gen::container<std::vector<History>>(kSideBySide, any_history());
        std::vector<Attempt> attempts;
        for (const History& history : drawn) attempts.push_back({history});
        const auto differences = servers_->run(attempts, compared);
        for (std::size_t i = 0; i < attempts.size(); ++i) {
            const std::string difference = servers_->confirmed(attempts[i], differences[i], compared);
            if (!difference.empty()) {
                if (first.empty()) first = fmt::format("{}\n{}", difference, rc::toString(attempts[i].history));
                RC_FAIL(difference);
            }
            ++histories;
        }
    });
    ASSERT_TRUE(held) << first;
    expect_everything_compared(compared);
    testing::add_to_coverage_page(
        kSection, fmt::format("{} random histories with a restart each.\n\n{}", histories, compared.markdown()));
}

TEST_F(JetStreamDifferential, EveryLieOfAModelIsCaught) {
    constexpr std::size_t kHistoriesEach = 12;
    std::vector<Attempt> attempts;
    for (const ModelLie& lie : model_lies()) {
        for (std::size_t i = 0; i < kHistoriesEach; ++i) {
            attempts.push_back({any_history()(rc::Random(attempts.size()), rc::kNominalSize).value(), &lie});
        }
    }
    JetStreamCompared compared;
    const auto differences = servers_->run(attempts, compared);

    // The first history that caught each lie, told honestly.
    testing::CoverageTable caught("lie", {"histories that caught it", "of"});
    std::vector<Attempt> honest;
    for (std::size_t i = 0; i < attempts.size(); ++i) {
        const char* name = attempts[i].lie->name;
        if (!differences[i].empty() && caught.at(name, 0) == 0) honest.push_back({attempts[i].history});
        caught.count(name, 0, differences[i].empty() ? 0 : 1);
        caught.count(name, 1);
    }
    const auto honest_differences = servers_->run(honest, compared);
    for (std::size_t i = 0; i < honest.size(); ++i) {
        EXPECT_EQ(servers_->confirmed(honest[i], honest_differences[i], compared), "") << "not because of a lie";
    }
    for (const ModelLie& lie : model_lies()) EXPECT_GT(caught.at(lie.name, 0), 0U) << "nobody noticed: " << lie.name;
    EXPECT_GE(model_lies().size(), 10U);
    testing::add_to_coverage_page(kSection, caught.markdown());
}

}  // namespace
}  // namespace lockstep::fakes
