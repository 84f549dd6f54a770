// Messages that the stream holds and their durable does not deliver, found by reading the stream.
//
// A server of a cluster that takes over a durable may not know what the former one had delivered (nats-server before 2.10.26: its
// issues 6374 and 6469). Whoever submitted such a job has been told that it is stored. Two things were seen:
//   - It leaves what was in hand in hand for ever. So what lies above the durable's floor for longer than the ack wait is looked at.
//   - It takes that for done: its floor lies behind it. So after a change of leader everything is looked at that lies between the
//     floor that the former leader had told of and what was the end of the stream when the new one was first met. How far that has
//     come stands in Redis. A leader that has come and gone since the last note is heard of (leader_watch.h). Where nothing has been
//     noted yet, results are looked at from when the oldest job that is at work was sent.
// A submission whose job the store does not know, and a result whose job is at work, are handled as if they had been delivered. What
// is handed out again all the same is absorbed like any repetition. Of results that are only stuck, result_backlog.h takes care.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "engine/bus/stored_delivery.h"
#include "engine/config/context.h"
#include "engine/reconcile/leader_watch.h"
#include "engine/reconcile/ticker.h"
#include "engine/store/delivery_marks.h"
#include "engine/store/sweep_store.h"

namespace lockstep::engine {

class Undelivered {
public:
    enum class Of : std::uint8_t { submissions, results };

    /// `interval`: between two ticks. All arguments outlive it.
    Undelivered(Of what, const Context& context, SweepStore& sweeps, StoredMessages& messages, Duration interval);

    /// One tick's look. Costs one question to the server, and to a cluster of them two to Redis, where nothing has waited for so long.
    /// Ends early where a server does not answer, or the tick is lost: the next one goes on there.
    [[nodiscard]] Task<void> look(Ticker& ticker);
    /// Whether the last look has had an answer to what follows.
    [[nodiscard]] bool knows_what_is_hidden() const { return knows_what_is_hidden_; }
    /// Where a stretch of the stream begins of which it is not known whether it was delivered: behind this sequence, as the last
    /// look has left it. Nothing: there is none.
    [[nodiscard]] std::optional<StreamSequence> hidden_behind() const { return hidden_behind_; }
    /// The server that was asked last is one of a cluster.
    [[nodiscard]] bool of_a_cluster() const { return of_a_cluster_; }

private:
    /// What has become of the next message of the subject.
    struct Seen {
        enum class What : std::uint8_t { unknown, nothing, young, passed, handed_in };
        What what = What::unknown;
        StreamSequence sequence{};
        /// There may be more behind it to be looked at now.
        [[nodiscard]] bool go_on() const { return what == What::passed || what == What::handed_in; }
    };

    [[nodiscard]] Task<std::optional<ConsumerState>> durable();
    /// Another server may have led the durable since the mark was kept, whoever leads now. So it is where an older mark has come late and
    /// stands in the place of this replica's.
    [[nodiscard]] bool may_have_changed(const LeaderWatch::Heard& heard, const std::optional<DeliveryMark>& kept) const;
    /// Where no mark has been kept: which leaders there were before is not known, and a result of a job that is at work may have been
    /// passed by. Nothing where a server does not answer.
    [[nodiscard]] Task<std::optional<DeliveryMark>> first_mark(const ConsumerState& durable);
    /// The mark that follows from what was kept and what is heard now. Nothing where a server does not answer.
    [[nodiscard]] Task<std::optional<DeliveryMark>> mark_now(const ConsumerState& durable,
                                                             const std::optional<DeliveryMark>& kept,
                                                             bool may_have_changed);
    /// Whether the mark stands in Redis afterwards.
    [[nodiscard]] Task<bool> note(const DeliveryMark& mark, const std::optional<DeliveryMark>& kept);
    /// Moves the mark over what is accounted for.
    [[nodiscard]] Task<void> look_through(Ticker& ticker, DeliveryMark& mark);
    /// Notes that it has been handed in. Whether that was often enough.
    [[nodiscard]] bool is_tried_out(StreamSequence sequence);
    [[nodiscard]] Task<void> look_above(Ticker& ticker, StreamSequence last);
    [[nodiscard]] Task<Seen> look_at_next(StreamSequence from);
    /// Nothing where the store does not answer.
    [[nodiscard]] Task<std::optional<bool>> is_wanted(const StoredMessage& message);

    const Of what_;
    const Context& context_;
    SweepStore& sweeps_;
    StoredMessages& messages_;
    DeliveryMarks marks_;
    const std::string subject_;
    const std::string durable_;
    const Duration interval_, patience_;
    LeaderWatch watch_;
    /// When this replica last noted something.
    struct Noted {
        LeaderWatch::Heard heard;  // until then
        StreamSequence passed_by;
    };
    Noted noted_;
    StreamSequence looked_at_;  // where the last look above the floor ended early; 0: it did not
    bool of_a_cluster_ = false;
    bool knows_what_is_hidden_ = false;
    std::optional<StreamSequence> hidden_behind_;
    /// How often what lies ahead of a mark has been handed in, and since when.
    struct Tried {
        int times = 0;
        MonoTime since{};
    };
    std::map<StreamSequence, Tried> tried_;
};

}  // namespace lockstep::engine
