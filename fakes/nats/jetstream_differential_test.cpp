// JetStreamModel against a real nats-server: the same random histories on both. test_comparison.h has the method. Many
// histories run side by side, since nearly all of their time is waiting. Those that differ run again without the others, on a
// calmer machine: only a difference that comes back is one. The page fakes/coverage.md says how often what was compared; what was
// never compared fails here.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <barrier>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "fakes/nats/test_comparison.h"
#include "fakes/testing/server_lines.h"
#include "fakes/testing/server_process.h"

namespace lockstep::fakes {
namespace {

constexpr const char* kSection = "JetStream";
constexpr std::size_t kHistories = 120;

/// A history, and the lie that the model tells, if any.
struct Attempt {
    History history;
    const ModelLie* lie = nullptr;
};

class Servers {
public:
    enum class Restart : std::uint8_t { after_stop, after_kill };
    explicit Servers(Restart restart = Restart::after_stop) : kill_(restart == Restart::after_kill) {}

    /// Runs them side by side, with one restart in the middle. For each what differed; empty for nothing.
    std::vector<std::string> run(const std::vector<Attempt>& attempts, JetStreamCompared& compared) {
        std::vector<std::string> differences(attempts.size());
        std::barrier stopped(static_cast<std::ptrdiff_t>(attempts.size()) + 1);
        std::barrier started(static_cast<std::ptrdiff_t>(attempts.size()) + 1);
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < attempts.size(); ++i) {
            threads.emplace_back([&, i, name = "S" + std::to_string(++names_)] {
                differences[i] = run_one(attempts[i], name, compared, stopped, started);
            });
        }
        stopped.arrive_and_wait();
        if (kill_) {
            process_.kill();
        } else {
            process_.stop();
        }
        process_.start();
        started.arrive_and_wait();
        for (std::thread& thread : threads) thread.join();
        return differences;
    }

    /// The first difference that comes back each time that the histories which differed run again; empty for none.
    std::string confirmed(std::vector<Attempt> attempts, std::vector<std::string> differences,
                          JetStreamCompared& compared) {
        constexpr int kTimes = 2;
        for (int time = 0;; ++time) {
            std::vector<Attempt> differed;
            std::string first;
            for (std::size_t i = 0; i < attempts.size(); ++i) {
                if (differences[i].empty()) continue;
                if (differed.empty()) first = differences[i] + "\n" + rc::toString(attempts[i].history);
                differed.push_back(std::move(attempts[i]));
            }
            if (differed.empty() || time == kTimes) return first;
            attempts = std::move(differed);
            differences = run(attempts, compared);
        }
    }

private:
    std::string run_one(const Attempt& attempt, const std::string& name, JetStreamCompared& compared,
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
            comparison->restarted(kill_);
            comparison->run(attempt.history.after_restart);
            comparison->finish();
        });
        return difference;
    }

    testing::ServerProcess process_{testing::nats_server_line};
    const bool kill_;
    int names_ = 0;
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
    std::vector<Attempt> attempts;
    for (std::size_t i = 0; i < kHistories; ++i)
        attempts.push_back({any_history()(rc::Random(i), rc::kNominalSize).value()});
    // Two servers, so that both kinds of restart are waited for at once.
    Servers killed(Servers::Restart::after_kill);
    JetStreamCompared compared;
    const auto compare = [&compared](Servers& servers, const std::vector<Attempt>& attempts) {
        return servers.confirmed(attempts, servers.run(attempts, compared), compared);
    };
    const auto half = attempts.begin() + kHistories / 2;
    auto after_kill =
        std::async(std::launch::async, compare, std::ref(killed), std::vector<Attempt>(half, attempts.end()));
    EXPECT_EQ(compare(*servers_, std::vector<Attempt>(attempts.begin(), half)), "");
    ASSERT_EQ(after_kill.get(), "");
    expect_everything_compared(compared);
    testing::add_to_coverage_page(
        kSection, fmt::format("{} random histories with a restart each.\n\n{}", kHistories, compared.markdown()));
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
    EXPECT_EQ(servers_->confirmed(honest, servers_->run(honest, compared), compared), "") << "not because of a lie";
    for (const ModelLie& lie : model_lies()) EXPECT_GT(caught.at(lie.name, 0), 0U) << "nobody noticed: " << lie.name;
    EXPECT_GE(model_lies().size(), 10U);
    testing::add_to_coverage_page(kSection, caught.markdown());
}

}  // namespace
}  // namespace lockstep::fakes
