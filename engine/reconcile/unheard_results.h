// Which overdue jobs may have a result in the stream that nobody has heard, and what becomes of each (D-04).
// Decisions only: who asks the stream, and when, is result_backlog.h.
//
// Counted in sequences of the stream, never in clocks. What a look has found holds for the jobs that were overdue before it
// began: whatever the stream takes in later has come after their limit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "engine/ports/bus.h"
#include "engine/runtime/identifiers.h"
#include "engine/runtime/time.h"

namespace lockstep::engine {

/// What becomes of a job that has been at work for too long.
enum class Overdue : std::uint8_t {
    ends,
    waits,         // its result may stand in the stream: for the next tick
    ends_unheard,  // likewise, and it has been waited for as long as is promised
};

class UnheardResults {
public:
    /// How many messages are read in one tick. Where more may be unheard, everybody waits, and the next tick goes on behind them.
    static constexpr std::size_t kReadMax = 1'000;

    /// A stretch of the stream, both ends included.
    struct Stretch {
        StreamSequence first;
        StreamSequence last;
    };

    /// Everybody waits: the answer that was needed did not come, or a part of what may be unheard is not looked at.
    void nothing_learnt() { everybody_ = true; }
    /// Takes what the stream and the durable of results say, in the order in which they were asked, and says what is to be
    /// read for it; nothing when that changes nothing. REQUIRES: the jobs that are asked about were found before.
    [[nodiscard]] std::optional<Stretch> look(StreamSequence last_sequence, const ConsumerState& consumer);
    /// A message in that stretch. False once enough is enough.
    [[nodiscard]] bool found(StreamSequence sequence, std::string_view payload);

    /// Whether the stream may hold a result of the job that nobody has heard.
    [[nodiscard]] bool may_name(const JobId& job) const { return everybody_ || jobs_.contains(job); }
    /// The first message that was found for the job; nothing where none was.
    [[nodiscard]] std::optional<StreamSequence> first_of(const JobId& job) const;

private:
    bool everybody_ = false;
    std::map<JobId, StreamSequence> jobs_;
    StreamSequence read_to_;
    std::size_t read_ = 0;
};

/// How long a job may be overdue and waited for. `connected_for`: how long this replica has had answers from both the stream and Redis
/// without a break; a shorter time says nothing of what others could have heard and handled.
struct Patience {
    Duration limit{};
    Duration connected_for{};
};
[[nodiscard]] Overdue decide(bool may_be_unheard, Duration overdue_by, const Patience& patience);

}  // namespace lockstep::engine
