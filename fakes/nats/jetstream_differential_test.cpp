// JetStreamModel against a real nats-server: the same random calls are made to both and what can be observed is compared:
// publish acknowledgements, which messages are delivered in which order with which count, which never are again, and
// look-ups, before and after a clean restart of the server.
//
// Method: real time is the model's time. No call is made within kGuard of a moment at which a timer of the model is due,
// so that a server that is a little late, as timers are, has the same history. What a call causes is compared in exact
// order; what timers cause within kTogether of each other, as a set. Twelve histories run side by side, since nearly all
// of their time is waiting. One that differs is run again alone on a calm machine: only a difference that comes back
// is one.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <barrier>
#include <map>
#include <memory>
#include <stdexcept>
#include <thread>
#include <tuple>

#include "fakes/nats/jetstream_model.h"
#include "fakes/nats/test_history.h"
#include "fakes/nats/test_real_jetstream.h"
#include "fakes/testing/server_process.h"

namespace lockstep::fakes {
namespace {

using namespace std::chrono_literals;
using engine::MonoTime;
using Wall = std::chrono::system_clock;  // the server rounds its own wall clock to seconds on disk

constexpr auto kAckWait = 500ms;
constexpr auto kNakDelay = 250ms;
constexpr auto kDuplicateWindow = 1200ms;
constexpr auto kGuard = 100ms;
constexpr auto kTogether = 30ms;
constexpr auto kPatience = 5s;
constexpr auto kBudget = 35s;

struct Difference : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// So many timers are due, one after the other, that there is no moment to make a call at. Proves nothing.
struct NeverCalm {};

/// One history, made to both.
class Comparison {
public:
    Comparison(const History& history, int port, const std::string& name)
        : stream_config_{.name = name,
                         .subjects = {name + ".>"},
                         .duplicate_window = kDuplicateWindow,
                         .max_messages = history.max_messages},
          consumer_config_{.name = "durable",
                           .filter_subject = name + ".wanted",
                           .deliver_group = "group",
                           .ack_wait = kAckWait,
                           .max_deliver = history.max_deliver,
                           .max_ack_pending = history.max_ack_pending},
          real_(port, stream_config_, consumer_config_),
          stream_(model_.add_stream(stream_config_)),
          consumer_(*model_.ensure_consumer(name, consumer_config_).consumer) {
        join();
    }

    void run(const std::vector<Step>& steps) {
        for (const Step& step : steps) {
            make_calm(step);
            carry_out(step);
            compare_deliveries();
        }
    }

    /// Before a restart the member leaves, so that nothing is handed out at a moment that cannot be known.
    void quiesce() {
        if (!joined_) return;
        make_calm({Call::leave, 0});
        leave();
    }

    /// The server has been started again.
    void restarted() {
        real_.reconnected();
        // A real server looks at what was pending after 0.5 to 1.5 s, or one ack wait when that is shorter, as here.
        tell("restart");
        model_.restart(now(), now() + kAckWait);
        ids_rebuilt_.reset();
        join();
        compare_deliveries();
    }

    /// Whatever was still to come has come, and nothing else.
    void finish() {
        if (!joined_) join();
        for (int i = 0; i < 3; ++i) wait(kAckWait);
        compare_deliveries();
        require(real_.last_sequence() == stream_.last_sequence(), "last sequence");
    }

private:
    struct Expected {
        std::uint64_t sequence = 0;
        int count = 0;
        int group = 0;  // deliveries of one group may come in any order
        friend bool operator==(const Expected&, const Expected&) = default;
    };

    [[nodiscard]] MonoTime now() const { return MonoTime(Wall::now() - start_); }

    void require(bool same, const std::string& what) const {
        if (!same) throw Difference(what + "\n" + story_);
    }

    void tell(std::string_view what) {
        story_ += fmt::format("{:8.3f} {}\n", std::chrono::duration<double>(now() - began_).count(), what);
    }

    void pump(bool by_timer) {
        while (const auto next = consumer_.next(model_now_)) {
            if (!by_timer) ++group_;
            expected_.push_back({next->receipt.sequence, next->receipt.count, group_});
            tell(fmt::format("  delivers {}/{}", next->receipt.sequence, next->receipt.count));
        }
    }

    /// Lets the model's timers run until none is due soon, and real time pass until they all were due a while ago.
    void make_calm(const Step& step) {
        const MonoTime give_up = now() + kPatience;
        for (;;) {
            if (now() > give_up) throw NeverCalm{};
            const auto deadline = consumer_.next_deadline();
            if (!deadline || *deadline > now() + kGuard) break;
            if (*deadline - last_timer_ > kTogether) ++group_;
            last_timer_ = model_now_ = *deadline;
            consumer_.expire(model_now_);
            if (joined_) pump(true);
            std::this_thread::sleep_until(start_ + (*deadline + kGuard).time_since_epoch());
        }
        if (step.call == Call::publish && avoid_forgetting()) {
            make_calm(step);
            return;
        }
        model_now_ = std::max(model_now_, now());
        ++group_;
        compare_deliveries();
    }

    /// Waits if this is about the moment at which a message id is forgotten.
    bool avoid_forgetting() {
        for (const auto& [id, stored] : id_stored_) {
            MonoTime forgotten = stored + kDuplicateWindow;
            if (ids_rebuilt_ && stored < *ids_rebuilt_ && forgotten > *ids_rebuilt_) {
                forgotten = *ids_rebuilt_ + kDuplicateWindow;
            }
            if (now() > forgotten - kGuard && now() < forgotten + kGuard) {
                std::this_thread::sleep_until(start_ + (forgotten + kGuard).time_since_epoch());
                return true;
            }
        }
        return false;
    }

    void carry_out(const Step& step) {
        switch (step.call) {
            case Call::publish: publish(step.which); break;
            case Call::look_up: look_up(static_cast<std::uint64_t>(step.which)); break;
            case Call::wait_short: wait(kNakDelay); break;
            case Call::wait_long: wait(kAckWait); break;
            case Call::join:
                if (!joined_) join();
                break;
            case Call::leave:
                if (joined_) leave();
                break;
            default: verdict(step); break;
        }
    }

    void publish(int which) {
        // Two of the ids are shared by many publishes, the rest is published without; every third is not wanted.
        const std::string id = which < 2 ? std::to_string(which) : "";
        const std::string subject = stream_config_.name + (which % 3 == 2 ? ".other" : ".wanted");
        tell(fmt::format("publish {} id '{}'", subject, id));
        const StreamModel::Ack modelled = stream_.publish(make_message(subject, "p", id), model_now_);
        const RealJetStream::Ack real = real_.publish(subject, id);
        require(
            real.error == modelled.error && real.sequence == modelled.sequence && real.duplicate == modelled.duplicate,
            fmt::format("publish: model {} {} '{}', server {} {} '{}'", modelled.sequence, modelled.duplicate,
                        modelled.error, real.sequence, real.duplicate, real.error));
        if (!id.empty() && !ids_rebuilt_) ids_rebuilt_ = model_now_;
        if (modelled.stored() && !id.empty()) id_stored_[which] = model_now_;
        if (joined_) pump(false);
    }

    void verdict(const Step& step) {
        const auto& real = real_.delivered(expected_.size(), kPatience);
        if (static_cast<std::size_t>(step.which) >= real.size()) return;
        const RealDelivery delivery = real[real.size() - 1 - static_cast<std::size_t>(step.which)];
        tell(fmt::format("{} of {}/{}", rc::toString(step), delivery.receipt.sequence, delivery.receipt.count));
        switch (step.call) {
            case Call::ack:
                consumer_.ack(delivery.receipt, model_now_);
                real_.answer(delivery, "+ACK");
                break;
            case Call::nak:
                consumer_.nak(delivery.receipt, 0ms, model_now_);
                real_.answer(delivery, "-NAK");
                break;
            case Call::nak_later:
                consumer_.nak(delivery.receipt, kNakDelay, model_now_);
                real_.nak_later(delivery, kNakDelay);
                break;
            case Call::term:
                consumer_.term(delivery.receipt, model_now_);
                real_.answer(delivery, "+TERM");
                break;
            default:
                consumer_.in_progress(delivery.receipt, model_now_);
                real_.answer(delivery, "+WPI");
                break;
        }
        if (joined_) pump(false);
        std::this_thread::sleep_for(2ms);  // the server takes acknowledgements up in a thread of its own
    }

    void look_up(std::uint64_t from) {
        const std::string subject = stream_config_.name + ".wanted";
        const StreamModel::Stored* stored = stream_.next(stream_.filter(subject), from, model_now_);
        require(real_.find(subject, from) == (stored ? std::optional(stored->sequence) : std::nullopt), "look-up");
    }

    void join() {
        joined_ = true;
        tell("join");
        model_now_ = std::max(model_now_, now());
        real_.join();
        pump(false);
    }

    void leave() {
        real_.delivered(expected_.size(), kPatience);
        joined_ = false;
        tell("leave");
        real_.leave();
    }

    void wait(engine::Duration span) {
        const MonoTime end = now() + span;
        while (now() < end) {
            make_calm({Call::wait_short, 0});
            std::this_thread::sleep_until(start_ + std::min(end, now() + 50ms).time_since_epoch());
        }
        make_calm({Call::wait_short, 0});
    }

    void compare_deliveries() {
        std::vector<Expected> real;
        for (const RealDelivery& delivery : real_.delivered(joined_ ? expected_.size() : 0, kPatience)) {
            real.push_back({delivery.receipt.sequence, delivery.receipt.count, 0});
        }
        for (std::size_t i = 0; i < std::min(real.size(), expected_.size()); ++i) real[i].group = expected_[i].group;
        std::vector<Expected> modelled = expected_;
        const auto by_group = [](const Expected& a, const Expected& b) {
            return std::tie(a.group, a.sequence, a.count) < std::tie(b.group, b.sequence, b.count);
        };
        if (real.size() == modelled.size()) std::sort(real.begin(), real.end(), by_group);
        std::sort(modelled.begin(), modelled.end(), by_group);
        require(real == modelled, fmt::format("deliveries: model{}, server{}", listed(modelled), listed(real)));
    }

    static std::string listed(const std::vector<Expected>& deliveries) {
        std::string text;
        for (const Expected& one : deliveries) text += fmt::format(" {}/{}", one.sequence, one.count);
        return text;
    }

    const StreamConfig stream_config_;
    const ConsumerConfig consumer_config_;
    RealJetStream real_;
    JetStreamModel model_;
    StreamModel& stream_;
    ConsumerModel& consumer_;
    const Wall::time_point start_{};
    MonoTime model_now_{};
    MonoTime last_timer_{};
    std::optional<MonoTime> ids_rebuilt_ = MonoTime{};  // empty between a restart and the first id after it
    bool joined_ = false;
    const MonoTime began_ = now();
    std::string story_;
    int group_ = 0;
    std::vector<Expected> expected_;
    std::map<int, MonoTime> id_stored_;
};

class Servers {
public:
    explicit Servers(std::string program)
        : process_([program = std::move(program)](int port, const std::filesystem::path& folder) {
              return std::vector<std::string>{program, "-a",  "127.0.0.1",    "-p", std::to_string(port),
                                              "-js",   "-sd", folder.string()};
          }) {}

    /// Runs the histories side by side, with one restart in the middle. For each what differed; empty for nothing.
    std::vector<std::string> run(const std::vector<History>& histories) {
        std::vector<std::string> differences(histories.size());
        std::barrier stopped(static_cast<std::ptrdiff_t>(histories.size()) + 1);
        std::barrier started(static_cast<std::ptrdiff_t>(histories.size()) + 1);
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < histories.size(); ++i) {
            threads.emplace_back([&, i, name = "S" + std::to_string(++names_)] {
                differences[i] = run_one(histories[i], name, stopped, started);
            });
        }
        stopped.arrive_and_wait();
        process_.stop();
        process_.start();
        started.arrive_and_wait();
        for (std::thread& thread : threads) thread.join();
        return differences;
    }

private:
    std::string run_one(const History& history, const std::string& name, std::barrier<>& stopped,
                        std::barrier<>& started) {
        std::unique_ptr<Comparison> comparison;
        std::string difference;
        bool abandoned = false;
        const auto attempt = [&](const auto& part) {
            if (!difference.empty() || abandoned) return;
            try {
                part();
            } catch (const NeverCalm&) {
                abandoned = true;
            } catch (const std::exception& error) {
                difference = error.what();
            }
        };
        attempt([&] {
            comparison = std::make_unique<Comparison>(history, process_.port(), name);
            comparison->run(history.before_restart);
            comparison->quiesce();
        });
        stopped.arrive_and_wait();
        started.arrive_and_wait();
        attempt([&] {
            comparison->restarted();
            comparison->run(history.after_restart);
            comparison->finish();
        });
        return difference;
    }

    testing::ServerProcess process_;
    int names_ = 0;
};

TEST(JetStreamDifferential, TheModelAnswersAsTheRealServerDoes) {
    const auto program = testing::find_program("nats-server");
    if (!program) GTEST_SKIP() << "nats-server is not installed";
    Servers servers(*program);
    const auto end = Wall::now() + kBudget;
    int compared = 0;
    std::string first;  // shrinking may run out of time and then knows of nothing
    const bool held = rc::check([&] {
        if (Wall::now() > end) return;
        const auto histories = *rc::gen::container<std::vector<History>>(12, any_history());
        const auto differences = servers.run(histories);
        for (std::size_t i = 0; i < histories.size(); ++i) {
            std::string difference = differences[i];
            for (int again = 0; again < 2 && !difference.empty(); ++again) {
                difference = servers.run({histories[i]}).front();
            }
            if (!difference.empty()) {
                if (first.empty()) first = fmt::format("{}\n{}", difference, rc::toString(histories[i]));
                RC_FAIL(difference);
            }
            ++compared;
        }
    });
    EXPECT_TRUE(held) << first;
    EXPECT_GT(compared, 0);
    RecordProperty("histories", compared);
}

}  // namespace
}  // namespace lockstep::fakes
