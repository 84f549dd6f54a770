// What can be seen of real servers from outside, as the facts that rules are made for: what Redis says it executed
// (MONITOR), what NATS delivers to one who listens to everything, and what the harness itself does. Taken down by other threads, told by
// one.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "fakes/event.h"

namespace lockstep::prod::rehearsal {

/// A line of MONITOR. Redis tells of a script first and then of each command inside it.
struct MonitorLine {
    std::int64_t at_us = 0;  // Unix time by the clock of Redis
    std::string client;      // its address; "lua" inside a script
    std::vector<std::string> words;
    [[nodiscard]] bool inside_script() const { return client == "lua"; }
};

/// `1700000000.123456 [0 127.0.0.1:6000] "SET" "key" "v\x00lue"`. Nothing for a line of another form.
[[nodiscard]] std::optional<MonitorLine> parse_monitor_line(std::string_view line);

/// A message as a subscriber of `>` gets it. What a stream delivers to a consumer comes by, too, under its own subject and
/// with the consumer's acknowledgement as its reply; and so do acknowledgements, which are messages.
struct BusMessage {
    std::string subject;
    std::string payload;
    std::string reply;
    std::int64_t at_us = 0;  // Unix time at which it arrived
    std::string message_id{};
    bool is_early = false;  // as of RecordOrder
};

/// A line of the workers' record, "job time worker".
struct Execution {
    std::int64_t at_us = 0;  // Unix time at which it began, as the line says
    std::string line;
};
/// Zero for a line without a time.
[[nodiscard]] std::int64_t time_of_execution(std::string_view line);

/// The delivery that a `$JS.ACK...` subject speaks of.
struct DeliveredMessage {
    std::string stream;
    std::string consumer;
    std::int64_t deliveries = 0;
    std::uint64_t sequence = 0;
};
[[nodiscard]] std::optional<DeliveredMessage> parse_ack_subject(std::string_view subject);

/// What the harness itself does for users, and what they are told.
struct Deed {
    std::int64_t at_us = 0;
    fakes::EventKind kind{};
    fakes::When when{};
    bool accepted = false;
    fakes::NodeId node;
    std::string job;
    std::string to;
};

using Record = std::variant<MonitorLine, BusMessage, Execution, Deed>;

/// Filled from any thread.
class Recording {
public:
    void add(Record record) {
        const std::scoped_lock lock(mutex_);
        records_.push_back(std::move(record));
    }
    /// All that has come since the last call, in the order in which it came.
    [[nodiscard]] std::deque<Record> take() {
        const std::scoped_lock lock(mutex_);
        return std::exchange(records_, {});
    }

private:
    std::mutex mutex_;
    std::deque<Record> records_;
};

}  // namespace lockstep::prod::rehearsal
