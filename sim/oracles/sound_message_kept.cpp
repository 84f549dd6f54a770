#include "sim/oracles/sound_message_kept.h"

#include <fmt/core.h>

namespace lockstep::sim {

void SoundMessageKept::on_event(const fakes::Event& event, Time) {
    switch (event.kind) {
        case fakes::EventKind::stored:
            // A stream that has lost its end gives out its numbers again.
            if (event.packet == nullptr)
                unsound_.emplace(event.stream, event.sequence);
            else if (!unsound_.empty())
                unsound_.erase({std::string(event.stream), event.sequence});
            break;
        case fakes::EventKind::deliver: on_delivery(event); break;
        case fakes::EventKind::term: {
            if (event.when != fakes::When::applied) break;
            const Message message{event.stream, event.sequence};
            const auto garbled = garbled_.find(message);
            if (garbled == garbled_.end() || unsound_.contains(message) || spent_.contains(message)) break;
            violated(event.node, event.job,
                     fmt::format("the stream holds message {} of {} as a packet, and it was terminated because it had "
                                 "arrived as something else",
                                 event.sequence, event.stream),
                     garbled->second);
            break;
        }
        default: break;
    }
}

void SoundMessageKept::on_delivery(const fakes::Event& event) {
    if (event.number > tunables_.bus_max_deliver / 2) spent_.emplace(event.stream, event.sequence);
    if (event.packet != nullptr) return;
    const Message message{event.stream, event.sequence};
    if (unsound_.contains(message)) return;
    garbled_.insert_or_assign(message, present());
    exercise();
}

}  // namespace lockstep::sim
