// What output policy has said about the output of one job, what was recorded of it, and who was told. Part of the model of one job.
//
// Policy's word is the answer to the latest question. It is open again when it is asked anew, when a result that could not be
// recorded is handled anew, and when the asker dies before it has recorded the answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fakes/event.h"
#include "sim/model/names.h"
#include "sim/model/state.h"

namespace lockstep::sim {

/// Bytes of an output as Redis has it, and had it before it was last written.
struct OutputSizes {
    std::int64_t now = 0;
    std::int64_t before = 0;
};

/// The field `output_safety` of a job's hash. Empty texts: it has none, or no record can be read there.
struct OutputRecord {
    std::string decision;
    std::string redacted_ptr;
    [[nodiscard]] bool withholds() const { return decision == "QUARANTINE" || decision == "DENY"; }
};
[[nodiscard]] OutputRecord read_output_record(const std::string& json);

struct OutputWord {
    struct Question {
        fakes::NodeId asker;
        std::string answer;     // empty until there is one
        EventNumber event = 0;  // the last of question and answer
        bool after_success = false;
    };
    struct Unrecorded {
        fakes::NodeId by;
        EventNumber event = 0;
    };
    struct Recorded {
        fakes::NodeId by;
        Since since;
        OutputRecord record;
    };
    bool has_succeeded = false;  // at some time
    std::optional<Question> latest;
    std::optional<Unrecorded> unrecorded;  // against an output that had succeeded: its hearer has still to record it
    std::optional<Recorded> recorded;      // last
    EventNumber letter = 0;                // the bus was told of its dead letter, which says that it is withheld
    bool letter_lost = false;              // out of Redis, maybe before that
    bool told_withheld = false;            // on sys.audit.output_policy, and so the next
    bool told_passed = false;

    void asked(fakes::NodeId by, EventNumber event) { latest = {by, {}, event, has_succeeded}; }
    /// False: it answers another question than the latest.
    bool answered(fakes::NodeId to, std::string_view decision, EventNumber event);
    void entered(State state);
    void lock_taken();
    void node_down(fakes::NodeId node);
    /// Redis may have forgotten what came of it.
    void taken_back();
};

}  // namespace lockstep::sim
