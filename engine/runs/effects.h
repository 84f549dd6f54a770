// What a step of a run's life asks of the world. It is committed together with the run's document, and done afterwards by whoever
// comes: between the two nothing may be lost (H-26).
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/runtime/time.h"

namespace lockstep::engine {

/// A job that is to be submitted.
struct Submission {
    std::string job;
    std::string step;     // as in the run's `steps`
    std::string packet;   // bytes of the BusPacket
    std::string context;  // the job's input: JSON that is kept under its context pointer; empty: the job has none
};

/// A job that the run waits for again.
struct AwaitedJob {
    std::string job;
    std::string step;  // as in the run's `steps`
};

struct JobCancellation {
    std::string job;
    std::string reason;
};

/// A run that a step of this one starts: its document, still pending.
struct ChildRun {
    std::string run;
    std::string workflow;
    std::string org;
    std::string document;
};

struct RunEffects {
    std::vector<Submission> submissions;
    std::vector<JobCancellation> cancellations;
    std::vector<std::string> alerts;       // bytes of BusPackets for `sys.workflow.event`
    std::vector<nlohmann::json> timeline;  // in order
    std::vector<ChildRun> children;
    std::vector<std::string> cancelled_runs;  // that steps of this one have begun
    std::vector<std::string> settled_jobs;    // whose end has been taken into account
    std::vector<AwaitedJob> awaited_jobs;     // sent long since; their ends have not been heard
    bool reopened = false;                    // it had ended, and goes on
    bool calls_off = false;       // it has ended with all its steps: jobs that are still at work are cancelled
    bool changed = false;         // the document is another one than was read
    std::size_t begun = 0;        // steps and children that this pass has begun
    std::size_t input_bytes = 0;  // of the inputs that it has put together for them, about
    bool unfinished = false;      // more could begin: another pass goes on
    std::string wake;             // a run that waits for this one's end; empty: none
};

/// What there is about a job under some id; empty: it is gone.
struct RecordedJob {
    std::string tenant, topic;
    std::string request;  // as it is stored, JSON
};

/// How a job of the run has ended, as its record in the store says.
struct JobEnd {
    std::string job;
    std::string state;       // of the job: SUCCEEDED, FAILED and so on
    bool fatal = false;      // FAILED_FATAL: nothing is tried again
    std::string result_ptr;  // as the scheduler has stored it (H-18)
    std::string reason;
    std::optional<nlohmann::json> output;  // what the pointer leads to, decoded; nothing: not there, or too large
    RecordedJob recorded;
};

/// States of the child runs that a run waits for, by their ids.
struct ChildRunState {
    std::string status;
    nlohmann::json output;
    std::string unfit{};  // why it cannot be waited for; empty: it can
};
using ChildRunStates = std::map<std::string, ChildRunState, std::less<>>;

}  // namespace lockstep::engine
