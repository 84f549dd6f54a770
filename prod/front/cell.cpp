#include "prod/front/cell.h"

#include <fmt/core.h>

#include <limits>
#include <stdexcept>

#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "prod/front/durables.h"
#include "prod/front/set_aside.h"

namespace lockstep::prod {

using engine::LogLevel;

namespace {

constexpr engine::Duration kStreamTimeout = std::chrono::seconds(10);
/// Between two attempts to use a cell that is connected.
constexpr engine::Duration kSetUpPause = std::chrono::seconds(2);
constexpr engine::Duration kCountTimeout = std::chrono::seconds(2);
/// Why 10 s: a circle doubles nothing by itself, and what has gone into one is known again by its message id for two minutes.
constexpr engine::Duration kCircleInterval = std::chrono::seconds(10);

/// Others are not to suffer from a cell whose credentials were changed: it is tried for as long as the front runs.
NatsOptions untiring(NatsOptions options) {
    options.policy.refusals_max = std::numeric_limits<int>::max();
    options.name = "lockstep-front";
    return options;
}

std::unique_ptr<NatsBus> bus_of(UvLoop& loop, const CellAddress& cell) {
    auto bus = NatsBus::connect_in_background(loop, untiring(cell.nats));
    // A file of TLS or credentials that has gone since the cells file was read.
    if (!bus) throw std::runtime_error(fmt::format("cell {}: {}", cell.name, bus.error()));
    return std::move(*bus);
}

}  // namespace

Cell::Cell(const Ports& ports, CellAddress address, FrontTimes times, const CellFigures& figures)
    : ports_(ports),
      name_(address.name),
      times_(times),
      figures_(figures),
      bus_(bus_of(ports.loop, address)),
      line_(passage_ports(), "to " + name_,
            {.address = [this](engine::Delivery& delivery) { return to_cell(delivery); },
             .taken =
                 [this](bool repeated) {
                     if (!repeated) figures_.routed->Increment();
                 },
             .refused = [this] { figures_.refused_submits->Increment(); },
             .largest = [this] { return largest_of(*bus_); },
             .set_aside =
                 [this](const engine::Delivery& delivery, std::string why) {
                     return set_aside(delivery, true, std::move(why), *figures_.aside_submits);
                 }}),
      results_(passage_ports(), "results of " + name_,
               returning(*figures.results, *figures.refused_results, *figures.aside_results)),
      letters_(passage_ports(), "dead letters of " + name_,
               returning(*figures.dead_letters, *figures.refused_letters, *figures.aside_letters)),
      scope_(ports.loop) {
    bus_->on_event([this](bool connected, const std::string& what) { on_connection(connected, what); });
    bus_->on_problem([this](const std::string& what) {
        ports_.log.event(LogLevel::warn, "NATS of a cell", {{"cell", name_}, {"problem", what}});
    });
    scope_.spawn(set_up());
}

Passage::Handlers Cell::returning(prometheus::Counter& taken, prometheus::Counter& refused,
                                  prometheus::Counter& aside) {
    return {.address = [this](engine::Delivery& delivery) { return to_front(delivery); },
            .taken =
                [&taken](bool repeated) {
                    if (!repeated) taken.Increment();
                },
            .refused = [&refused] { refused.Increment(); },
            .largest = [this] { return largest_of(ports_.front); },
            .set_aside = [this, &aside](const engine::Delivery& delivery,
                                        std::string why) { return set_aside(delivery, false, std::move(why), aside); }};
}

engine::Task<std::uint64_t> Cell::largest_of(NatsBus& bus) {
    return bus.message_limit(std::string(engine::wire::kStreamSys), ports_.clock.in(kStreamTimeout));
}

engine::Task<bool> Cell::set_aside(const engine::Delivery& delivery, bool to_cell, std::string why,
                                   prometheus::Counter& aside) {
    std::string towards = to_cell ? "cell " + name_ : fmt::format("the front from cell {}", name_);
    const bool told = co_await publish_letter(ports_.front, ports_.clock, delivery, std::move(towards), std::move(why));
    if (told) aside.Increment();
    co_return told;
}

void Cell::on_connection(bool connected, const std::string& what) {
    ports_.log.event(connected ? LogLevel::info : LogLevel::warn,
                     connected ? "connected to the NATS of a cell" : "no connection to the NATS of a cell",
                     {{"cell", name_}, {"server", what}});
    figures_.connected->Set(connected && set_up_ && !in_circle_ ? 1 : 0);
    if (!connected) return line_.pause();
    connected_.wake_all();
    read_on();
}

void Cell::read_on() {
    if (in_circle_ || finishing_) return;
    results_.resume();
    letters_.resume();
    if (bus_->connection().connected) line_.resume();
}

engine::Task<void> Cell::set_up() {
    while (true) {
        while (!bus_->connection().connected) co_await connected_.wait();
        const std::string wrong = co_await set_up_once();
        if (wrong.empty()) break;
        ports_.log.event(LogLevel::error, "a cell cannot be used", {{"cell", name_}, {"error", wrong}});
        co_await ports_.clock.sleep(kSetUpPause);
    }
    set_up_ = true;
    figures_.connected->Set(bus_->connection().connected ? 1 : 0);
    ports_.log.event(LogLevel::info, "cell in use", {{"cell", name_}});
    co_await keep_out_of_circles();
}

engine::Task<void> Cell::keep_out_of_circles() {
    while (true) {
        co_await ports_.clock.sleep(kCircleInterval);
        if (!bus_->connection().connected) continue;
        const std::string wrong = co_await front_in_the_way();
        if (wrong.empty() == !in_circle_) continue;
        in_circle_ = !wrong.empty();
        figures_.connected->Set(is_used() ? 1 : 0);
        if (!in_circle_) {
            ports_.log.event(LogLevel::info, "cell in use", {{"cell", name_}});
            read_on();
            continue;
        }
        ports_.log.event(LogLevel::error, "a cell cannot be used", {{"cell", name_}, {"error", wrong}});
        for (Passage* passage : {&line_, &results_, &letters_}) passage->pause();
    }
}

engine::Task<std::string> Cell::front_in_the_way() {
    const std::string stream(engine::wire::kStreamSys);
    const std::string durable = front_durable(engine::wire::kSubjectSubmit);
    const auto taken = co_await bus_->consumer_state(stream, durable, ports_.clock.in(kStreamTimeout));
    if (!taken.applied())
        co_return fmt::format("it does not say whether it is the NATS of a front (CONSUMER.INFO of {}): {}", durable,
                              taken.failure().detail);
    if (!taken.value()) co_return std::string();
    co_return fmt::format(
        "its NATS is that of a front, and results would go round: a cell has a NATS, an account or a domain of its own "
        "(where that front is gone for good: nats consumer rm {} {})",
        stream, durable);
}

engine::Task<std::string> Cell::set_up_once() {
    const auto prepared = co_await bus_->prepare(ports_.clock.in(kStreamTimeout));
    if (!prepared) co_return prepared.error();
    const std::string stream(engine::wire::kStreamSys);
    const auto here = co_await ports_.front.stream_state(stream, ports_.clock.in(kStreamTimeout));
    if (!here.applied()) co_return here.failure().detail;
    const auto there = co_await bus_->stream_state(stream, ports_.clock.in(kStreamTimeout));
    if (!there.applied()) co_return there.failure().detail;
    // To the nanosecond: two streams do not come into being at once.
    if (here.value().created == there.value().created)
        co_return std::string(
            "its stream CORDUM_SYS is that of the front, which needs a NATS, an account or a domain of its own");
    std::string front = co_await front_in_the_way();
    if (!front.empty()) co_return front;
    const auto spec = [this](std::string_view subject) {
        return front_spec(subject, times_.ack_wait, times_.rate_limit_bps);
    };
    const auto results = co_await results_.open(*bus_, spec(engine::wire::kSubjectResult));
    if (!results.applied()) co_return results.failure().detail;
    const auto letters = co_await letters_.open(*bus_, spec(engine::wire::kSubjectDlq));
    if (!letters.applied()) co_return letters.failure().detail;
    const auto line = co_await line_.open(ports_.front, spec(line_subject(name_)));
    co_return line.applied() ? std::string() : line.failure().detail;
}

engine::Task<std::optional<Parcel>> Cell::to_cell(engine::Delivery& delivery) {
    const std::string subject(engine::wire::kSubjectSubmit);
    std::string payload(delivery.payload());
    // The id by which its submitter would have published it there. What has none is no submission, or garbage.
    std::string id;
    if (const auto packet = engine::wire::decode(payload)) id = engine::wire::message_id(*packet, subject);
    if (id.empty()) id = passage_id("front:" + name_, delivery.sequence(), payload);
    co_return Parcel{bus_.get(), subject, std::move(payload), std::move(id)};
}

engine::Task<std::optional<Parcel>> Cell::to_front(engine::Delivery& delivery) {
    std::string payload(delivery.payload());
    std::string id = passage_id("cell:" + name_, delivery.sequence(), payload);
    co_return Parcel{&ports_.front, std::string(delivery.subject()), std::move(payload), std::move(id)};
}

engine::Task<void> Cell::cancel(std::string payload) {
    if (!is_used()) co_return;
    const auto sent = co_await bus_->publish_core(std::string(engine::wire::kSubjectCancel), std::move(payload));
    if (sent.applied()) figures_.cancels->Increment();
}

engine::Task<void> Cell::count_waiting() {
    const auto state = co_await ports_.front.consumer_state(
        std::string(engine::wire::kStreamSys), front_durable(line_subject(name_)), ports_.clock.in(kCountTimeout));
    if (state.applied() && state.value())
        figures_.waiting->Set(static_cast<double>(state.value()->waiting + state.value()->in_hand));
}

engine::Task<void> Cell::finish() {
    finishing_ = true;
    scope_.cancel();
    co_await line_.finish();
    co_await results_.finish();
    co_await letters_.finish();
}

}  // namespace lockstep::prod
