// Hears of the servers of a NATS cluster that come to lead a durable. One that led and is gone before anybody has asked who leads is
// seen by nothing else: the durable's state names who leads now.
//
// What is heard is a core message of the server ($JS.EVENT.ADVISORY.CONSUMER.LEADER_ELECTED.<stream>.<durable>), and passes by who has no
// connection then. So a connection made since counts like one of them. Whoever else may publish on that subject costs the listener a
// look through a stretch of the stream.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/ports/bus.h"

namespace lockstep::engine {

class LeaderWatch final : public MessageSink {
public:
    /// What has been heard so far: as long as it stays the same, no server has come to lead.
    struct Heard {
        bool listening = false;
        std::uint64_t elections = 0;
        std::uint64_t connection = 0;
        friend bool operator==(const Heard&, const Heard&) = default;
    };

    /// `bus` outlives the watch.
    LeaderWatch(Bus& bus, std::string stream, std::string durable);

    [[nodiscard]] Heard heard() const;
    /// Does nothing the second time. What is asked of the server behind it, it answers after it has begun to tell.
    void listen();

    void on_message(std::string_view subject, std::string_view payload) override;

private:
    Bus& bus_;
    const std::string subject_;
    std::uint64_t elections_ = 0;
    std::unique_ptr<Subscription> subscription_;
};

}  // namespace lockstep::engine
