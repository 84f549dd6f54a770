#include "fakes/nats/test_comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <thread>
#include <tuple>

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
/// A consumer's state is on disk after a tenth of a second.
constexpr auto kWritten = 400ms;
constexpr Wall::time_point kStart{};

StreamConfig stream_of(const History& history, const std::string& name) {
    return {.name = name,
            .subjects = {name + ".>"},
            .duplicate_window = kDuplicateWindow,
            .max_messages = history.max_messages};
}

ConsumerConfig consumer_of(const History& history, const std::string& name) {
    return {.name = "durable",
            .filter_subject = name + ".wanted",
            .deliver_group = "group",
            .ack_wait = kAckWait,
            .max_deliver = history.max_deliver,
            .max_ack_pending = history.max_ack_pending};
}

std::string described(const ConsumerModel::Counters& counters) {
    return fmt::format("{} pending, {} redelivered, {} delivered, floor {} at {} of the stream, {} waiting",
                       counters.ack_pending, counters.redelivered, counters.delivered, counters.floor_delivery,
                       counters.floor_stream, counters.waiting);
}

}  // namespace

void JetStreamCompared::count(std::string_view what) {
    const std::lock_guard lock(mutex_);
    table_.count(what, 0);
}

std::uint64_t JetStreamCompared::at(std::string_view what) const {
    const std::lock_guard lock(mutex_);
    return table_.at(what, 0);
}

std::string JetStreamCompared::markdown() const {
    const std::lock_guard lock(mutex_);
    return table_.markdown();
}

std::string answer_row(const DeliveryAnswer& answer, bool counted) {
    const bool delayed = answer.delay > engine::Duration::zero();
    return fmt::format("{}{}, {}", to_string(answer.kind), delayed ? " with a delay" : "",
                       counted ? "counted" : "ignored");
}

Comparison::Comparison(const History& history, int port, const std::string& name, JetStreamCompared& compared,
                       const ModelLie* lie)
    : stream_config_(stream_of(history, name)),
      consumer_config_(consumer_of(history, name)),
      compared_(compared),
      real_(port, stream_config_, consumer_config_),
      model_(lie != nullptr ? lie->make(stream_config_, consumer_config_)
                            : std::make_unique<Modelled>(stream_config_, consumer_config_)) {
    join();
}

void Comparison::run(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
        make_calm(step);
        carry_out(step);
        compare_deliveries();
    }
}

void Comparison::quiesce() {
    while (members_ > 0) {
        make_calm({Call::leave, 0});
        leave();
    }
    std::this_thread::sleep_for(kWritten);
}

void Comparison::restarted(bool killed) {
    real_.reconnected();
    // A real server looks at what was pending after 0.5 to 1.5 s, or one ack wait when that is shorter, as here.
    tell(killed ? "restart after a kill" : "restart");
    compared_.count(killed ? "restart after a kill" : "restart after a clean stop");
    model_->restart(killed, now(), now() + kAckWait);
    ids_rebuilt_.reset();
    join();
    compare_deliveries();
}

void Comparison::finish() {
    if (members_ == 0) join();
    for (int i = 0; i < 3; ++i) wait(kAckWait);
    compare_deliveries();
    require(real_.last_sequence() == model_->last_sequence(), "last sequence");
    compared_.count("nothing more is delivered");
}

MonoTime Comparison::now() const { return MonoTime(Wall::now() - kStart); }

void Comparison::require(bool same, const std::string& what) const {
    if (!same) throw Difference(what + "\n" + story_);
}

void Comparison::tell(std::string_view what) {
    story_ += fmt::format("{:8.3f} {}\n", std::chrono::duration<double>(now() - began_).count(), what);
}

void Comparison::pump(bool by_timer) {
    while (const auto next = model_->next(model_now_)) {
        if (!by_timer) ++group_;
        expected_.push_back({next->receipt.sequence, next->receipt.count, group_, next->message->payload});
        tell(fmt::format("  delivers {}/{}", next->receipt.sequence, next->receipt.count));
    }
}

void Comparison::make_calm(const Step& step) {
    const MonoTime give_up = now() + kPatience;
    for (;;) {
        if (now() > give_up) throw NeverCalm{};
        const auto deadline = model_->consumer().next_deadline();
        if (!deadline || *deadline > now() + kGuard) break;
        if (*deadline - last_timer_ > kTogether) ++group_;
        last_timer_ = model_now_ = *deadline;
        model_->consumer().expire(model_now_);
        if (members_ > 0) pump(true);
        std::this_thread::sleep_until(kStart + (*deadline + kGuard).time_since_epoch());
    }
    if (step.call == Call::publish && avoid_forgetting()) {
        make_calm(step);
        return;
    }
    model_now_ = std::max(model_now_, now());
    ++group_;
    compare_deliveries();
}

bool Comparison::avoid_forgetting() {
    for (const auto& [id, stored] : id_stored_) {
        MonoTime forgotten = stored + kDuplicateWindow;
        if (ids_rebuilt_ && stored < *ids_rebuilt_ && forgotten > *ids_rebuilt_) {
            forgotten = *ids_rebuilt_ + kDuplicateWindow;
        }
        if (now() > forgotten - kGuard && now() < forgotten + kGuard) {
            std::this_thread::sleep_until(kStart + (forgotten + kGuard).time_since_epoch());
            return true;
        }
    }
    return false;
}

void Comparison::carry_out(const Step& step) {
    switch (step.call) {
        case Call::publish: publish(step.which); break;
        case Call::publish_nowhere: publish_nowhere(); break;
        case Call::look_up: look_up(static_cast<std::uint64_t>(step.which)); break;
        case Call::counters: compare_counters(); break;
        case Call::wait_short: wait(kNakDelay); break;
        case Call::wait_long: wait(kAckWait); break;
        case Call::join:
            if (members_ == 0) join();
            break;
        case Call::leave:
            while (members_ > 0) leave();
            break;
        case Call::second_member: second_member(); break;
        default: answer(step); break;
    }
}

void Comparison::publish(int which) {
    // Two of the ids are shared by many publishes, the rest is published without; every third is not wanted.
    const std::string id = which < 2 ? std::to_string(which) : "";
    const std::string subject = stream_config_.name + (which % 3 == 2 ? ".other" : ".wanted");
    const std::string payload = fmt::format("payload {}", ++published_);
    tell(fmt::format("publish {} id '{}'", subject, id));
    const StreamModel::Ack modelled = model_->publish(subject, payload, id, model_now_);
    const RealJetStream::Ack real = real_.publish(subject, payload, id);
    require(real.error == modelled.error && real.sequence == modelled.sequence && real.duplicate == modelled.duplicate,
            fmt::format("publish: model {} {} '{}', server {} {} '{}'", modelled.sequence, modelled.duplicate,
                        modelled.error, real.sequence, real.duplicate, real.error));
    const bool refused = !modelled.error.empty();
    compared_.count(refused ? "publish, refused" : modelled.duplicate ? "publish, duplicate" : "publish, stored");
    if (!id.empty() && !ids_rebuilt_) ids_rebuilt_ = model_now_;
    if (modelled.stored() && !id.empty()) id_stored_[which] = model_now_;
    if (members_ > 0) pump(false);
}

void Comparison::publish_nowhere() {
    const std::string subject = "nowhere." + stream_config_.name;
    tell("publish nowhere");
    require(!model_->binds(subject) && real_.publish(subject, "p", "").error == "no responders", "publish nowhere");
    compared_.count("publish, no stream");
}

void Comparison::answer(const Step& step) {
    const auto& real = real_.delivered(expected_.size(), kPatience);
    if (static_cast<std::size_t>(step.which) >= real.size()) return;
    const RealDelivery delivery = real[real.size() - 1 - static_cast<std::size_t>(step.which)];
    tell(fmt::format("{} of {}/{}", rc::toString(step), delivery.receipt.sequence, delivery.receipt.count));
    DeliveryAnswer answer;
    switch (step.call) {
        case Call::nak: answer = {EventKind::nak, {}}; break;
        case Call::nak_later: answer = {EventKind::nak, kNakDelay}; break;
        case Call::term: answer = {EventKind::term, {}}; break;
        case Call::in_progress: answer = {EventKind::in_progress, {}}; break;
        default: break;
    }
    const bool counted = model_->apply(delivery.receipt, answer, model_now_);
    real_.answer(delivery, answer);
    compared_.count(answer_row(answer, counted));
    if (members_ > 0) pump(false);
}

void Comparison::look_up(std::uint64_t from) {
    const std::string subject = stream_config_.name + ".wanted";
    const StreamModel::Stored* stored = model_->look_up(subject, from, model_now_);
    std::optional<RealJetStream::Found> modelled;
    if (stored != nullptr) modelled = {stored->sequence, stored->message->message_id, stored->message->payload};
    tell(fmt::format("look-up from {}", from));
    require(real_.find(subject, from) == modelled, "look-up");
    require(real_.last_sequence() == model_->last_sequence(), "last sequence");
    compared_.count(modelled ? "look-up, found" : "look-up, nothing");
    compared_.count("last sequence");
}

void Comparison::compare_counters() {
    // What was told last may still be on its way through the server; a timer is not due for a while.
    const MonoTime give_up = now() + kGuard / 2;
    const ConsumerModel::Counters modelled = model_->consumer().counters(now());
    const auto pending = model_->consumer().pending_messages();
    const std::uint64_t above = pending.empty() ? UINT64_MAX : pending.front().sequence;
    // The server's floor may lie behind messages of other subjects that follow, when it has looked at those.
    const auto told = [&] {
        ConsumerModel::Counters counters = real_.counters();
        if (counters.floor_stream > modelled.floor_stream && counters.floor_stream < above)
            counters.floor_stream = modelled.floor_stream;
        return counters;
    };
    ConsumerModel::Counters real = told();
    while (!(real == modelled) && now() < give_up) real = told();
    require(real == modelled, fmt::format("counters: model {}, server {}", described(modelled), described(real)));
    compared_.count("consumer's counters");
}

void Comparison::join() {
    ++members_;
    tell("join");
    model_now_ = std::max(model_now_, now());
    real_.join();
    compared_.count(members_ > 1 ? "second member joins" : "member joins");
    pump(false);
}

void Comparison::leave() {
    real_.delivered(expected_.size(), kPatience);
    compared_.count(members_ > 1 ? "second member leaves" : "member leaves");
    --members_;
    tell("leave");
    real_.leave();
}

void Comparison::second_member() {
    if (members_ == 1) {
        join();
    } else if (members_ == 2) {
        leave();
    }
}

void Comparison::wait(engine::Duration span) {
    const MonoTime end = now() + span;
    while (now() < end) {
        make_calm({Call::wait_short, 0});
        std::this_thread::sleep_until(kStart + std::min(end, now() + 50ms).time_since_epoch());
    }
    make_calm({Call::wait_short, 0});
}

void Comparison::compare_deliveries() {
    std::vector<Expected> real;
    for (const RealDelivery& delivery : real_.delivered(members_ > 0 ? expected_.size() : 0, kPatience)) {
        real.push_back({delivery.receipt.sequence, delivery.receipt.count, 0, delivery.payload});
    }
    for (std::size_t i = 0; i < std::min(real.size(), expected_.size()); ++i) real[i].group = expected_[i].group;
    std::vector<Expected> modelled = expected_;
    const auto by_group = [](const Expected& a, const Expected& b) {
        return std::tie(a.group, a.sequence, a.count) < std::tie(b.group, b.sequence, b.count);
    };
    if (real.size() == modelled.size()) std::sort(real.begin(), real.end(), by_group);
    std::sort(modelled.begin(), modelled.end(), by_group);
    require(real == modelled, fmt::format("deliveries: model{}, server{}", listed(modelled), listed(real)));
    for (; compared_deliveries_ < real.size(); ++compared_deliveries_) {
        compared_.count(real[compared_deliveries_].count > 1 ? "delivery, again" : "delivery, first");
    }
}

std::string Comparison::listed(const std::vector<Expected>& deliveries) {
    std::string text;
    for (const Expected& one : deliveries) text += fmt::format(" {}/{}", one.sequence, one.count);
    return text;
}

}  // namespace lockstep::fakes
