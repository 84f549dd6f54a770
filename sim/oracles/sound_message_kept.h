// sound_message_kept: no message that the stream holds as a packet is terminated while most of its deliveries are left. What
// reached a client as something else was an error on the way, and the next delivery may be sound (D-01).
//
// It is put to the test by every delivery of such a message that is no packet.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "engine/config/tunables.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class SoundMessageKept final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted =
        fakes::EventKinds{fakes::EventKind::stored, fakes::EventKind::deliver, fakes::EventKind::term};
    SoundMessageKept(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), tunables_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "sound_message_kept"; }
    void on_event(const fakes::Event& event, Time now) override;

private:
    using Message = std::pair<std::string, std::uint64_t>;  // stream and sequence
    void on_delivery(const fakes::Event& event);

    const engine::Tunables& tunables_;
    std::set<Message> unsound_;               // as they were stored
    std::map<Message, EventNumber> garbled_;  // sound ones, and the last delivery of each that was no packet
    std::set<Message> spent_;                 // more than half of their deliveries are
};

}  // namespace lockstep::sim
