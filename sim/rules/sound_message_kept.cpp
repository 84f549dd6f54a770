// No message that the stream holds as a packet is terminated while most of its deliveries are left. What reached a client as something
// else was an error on the way, and the next delivery may be sound (D-01).
#include "sim/rules/rules.h"

namespace lockstep::sim::rules {

void sound_message_kept(Rules& rules, const engine::Tunables& tunables) {
    rules.add([](const Delivered& delivered, const Model&, Verdict& verdict) {
        verdict.exercised(!delivered.is_packet && delivered.message.is_packet);
    });
    rules.add<Delivered>([&tunables](const Terminated& terminated, const Model&, Verdict& verdict) {
        const MessageLife& message = terminated.message;
        const bool is_kept = message.is_packet && message.deliveries <= tunables.bus_max_deliver / 2;
        verdict.require(!is_kept || message.garbled == 0, message.garbled,
                        "the stream holds message {} of {} as a packet, and it was terminated because it had arrived "
                        "as something else",
                        terminated.sequence, terminated.stream);
    });
}

}  // namespace lockstep::sim::rules
