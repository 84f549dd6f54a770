// JetStreamModel and a real nats-server, side by side: every call is made to both, and what can be observed is compared:
// publish acknowledgements, which messages are delivered in which order with which count and content, which never are
// again, look-ups and the consumer's counters, before and after a restart of the server.
//
// Method: real time is the model's time. No call is made within kGuard of a moment at which a timer of the model is due,
// so that a server that is a little late, as timers are, has the same history. What a call causes is compared in exact
// order; what timers cause within kTogether of each other, as a set.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/nats/test_history.h"
#include "fakes/nats/test_modelled.h"
#include "fakes/nats/test_real_jetstream.h"
#include "fakes/testing/coverage.h"

namespace lockstep::fakes {

/// How often what was compared, by many threads.
class JetStreamCompared {
public:
    void count(std::string_view what);
    [[nodiscard]] std::uint64_t at(std::string_view what) const;
    [[nodiscard]] std::string markdown() const;

private:
    mutable std::mutex mutex_;
    testing::CoverageTable table_{"what", {"times"}};
};

/// What an answer is called in the table.
[[nodiscard]] std::string answer_row(const DeliveryAnswer& answer, bool counted);

/// The two do not do the same. Says after what.
struct Difference : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// So many timers are due, one after the other, that there is no moment to make a call at. Proves nothing.
struct NeverCalm {};

/// One history, made to both.
class Comparison {
public:
    /// With the honest model where `lie` is null.
    Comparison(const History& history, int port, const std::string& name, JetStreamCompared& compared,
               const ModelLie* lie);

    /// Throws Difference or NeverCalm, as all of these do.
    void run(const std::vector<Step>& steps);
    /// Before a restart the members leave, so that nothing is handed out at a moment that cannot be known; and what the
    /// server writes down a little later is written.
    void quiesce();
    /// The server has been started again, after a stop or a kill.
    void restarted(bool killed);
    /// Whatever was still to come has come, and nothing else.
    void finish();

private:
    struct Expected {
        std::uint64_t sequence = 0;
        int count = 0;
        int group = 0;  // deliveries of one group may come in any order
        std::string payload;
        friend bool operator==(const Expected&, const Expected&) = default;
    };

    [[nodiscard]] engine::MonoTime now() const;
    void require(bool same, const std::string& what) const;
    void tell(std::string_view what);

    void pump(bool by_timer);
    /// Lets the model's timers run until none is due soon, and real time pass until they all were due a while ago.
    void make_calm(const Step& step);
    /// Waits if this is about the moment at which a message id is forgotten.
    bool avoid_forgetting();
    void carry_out(const Step& step);
    void publish(int which);
    void publish_nowhere();
    void answer(const Step& step);
    void look_up(std::uint64_t from);
    void compare_counters();
    void join();
    void leave();
    void second_member();
    void wait(engine::Duration span);
    void compare_deliveries();
    static std::string listed(const std::vector<Expected>& deliveries);

    const StreamConfig stream_config_;
    const ConsumerConfig consumer_config_;
    JetStreamCompared& compared_;
    RealJetStream real_;
    std::unique_ptr<Modelled> model_;
    engine::MonoTime model_now_{};
    engine::MonoTime last_timer_{};
    std::optional<engine::MonoTime> ids_rebuilt_ = engine::MonoTime{};  // empty from a restart to the first id after it
    int members_ = 0;
    const engine::MonoTime began_ = now();
    std::string story_;
    int group_ = 0;
    int published_ = 0;
    std::vector<Expected> expected_;
    std::size_t compared_deliveries_ = 0;
    std::map<int, engine::MonoTime> id_stored_;
};

}  // namespace lockstep::fakes
