// What may explain the states of a job: what users asked for, what policy and workers answered. Part of the model of one job; nothing of
// it is ever taken back.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "sim/model/names.h"

namespace lockstep::sim {

enum class Asked : std::uint8_t { submit, cancel, approve, reject };

struct Operation {
    bool called = false;
    bool open = false;      // called, and the answer is still to come
    bool accepted = false;  // answered: it has taken effect, or will
};

struct Causes {
    Operation asked[4];     // by Asked
    bool is_named = false;  // in a submission, a request or a result
    bool is_sent = false;   // to a worker
    bool policy_refused = false;
    bool policy_wants_human = false;
    int policy_unanswered = 0;    // calls
    bool success_stored = false;  // in the stream of results
    bool was_cancelled = false;
    bool was_denied = false;
    bool was_released = false;      // left APPROVAL_REQUIRED since the approval was called
    bool request_stored = false;    // Redis has it
    NameNumbers::Number input = 0;  // the key that it points to, else that of the request that was sent last

    [[nodiscard]] const Operation& of(Asked what) const { return asked[static_cast<std::size_t>(what)]; }
    [[nodiscard]] Operation& of(Asked what) { return asked[static_cast<std::size_t>(what)]; }
    /// An operation never got an answer: it may have happened or not.
    [[nodiscard]] bool is_open() const {
        for (const Operation& one : asked)
            if (one.open) return true;
        return false;
    }
};

/// Results that schedulers received. Those of the first two name their worker.
struct Reported {
    bool success = false;
    bool cancelled = false;
    bool timeout = false;
    bool failure = false;
    bool retryable_failure = false;
    bool fatal = false;
    bool in_doubt = false;  // one that is not fatal, or not from the worker to which the job was sent
};

/// Which handler has the job in flight, by the mark that each leaves in its hash (ls_in_hand).
struct Handling {
    std::string token;
    int takes = 0;         // in a row, none of which has come back
    int takes_before = 0;  // the same, until the last one that has
    int longest = 0;       // the most that there ever were

    void mark(std::string_view text) {
        const std::string_view by = text.substr(0, text.find(' '));
        if (by == token) return;
        token = by;
        if (by.empty())
            takes_before = std::exchange(takes, 0);
        else
            longest = std::max(longest, ++takes);
    }
};

}  // namespace lockstep::sim
