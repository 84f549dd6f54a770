// Submissions that the stream holds and its durable does not deliver, found by reading the stream.
//
// A server of a cluster that takes over a durable may not know what the former one had delivered, and an acknowledgement of a later
// message then hides it for good (nats-server before 2.10.26: its issues 6374 and 6469). Whoever submitted such a job has been told
// that it is stored. So what lies above the durable's floor for longer than the ack wait, and names a job that the store does
// not know, is handled as if it had been delivered. What is handed out again all the same is absorbed like any repetition.
#pragma once

#include <optional>

#include "engine/bus/stored_delivery.h"
#include "engine/config/context.h"
#include "engine/reconcile/ticker.h"
#include "engine/store/sweep_store.h"

namespace lockstep::engine {

class UntakenSubmissions {
public:
    /// `interval`: between two ticks. All arguments outlive it.
    UntakenSubmissions(const Context& context, SweepStore& sweeps, StoredMessages& messages, Duration interval);

    /// One tick's look. Costs one question to the server where nothing has waited for so long. Ends early where a server does not
    /// answer, or the tick is lost.
    [[nodiscard]] Task<void> look(Ticker& ticker);

private:
    [[nodiscard]] Task<std::optional<StreamSequence>> floor();
    /// False where the store does not answer.
    [[nodiscard]] Task<bool> hand_in(StoredMessage message);

    const Context& context_;
    SweepStore& sweeps_;
    StoredMessages& messages_;
    const Duration patience_;
    StreamSequence from_;  // where the next look goes on; 0: at the floor
};

}  // namespace lockstep::engine
