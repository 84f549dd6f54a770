// `submit`: does what a gateway does with a job. It writes the input, the job's keys and the stored request, then publishes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/runtime/task.h"
#include "engine/wire/messages.h"
#include "prod/ctl/session.h"

namespace lockstep::prod {

struct SubmitOptions {
    std::string topic = "job.default";
    std::string id;  // empty: made up; with a count it is a prefix
    std::string tenant = "default";
    std::string payload = "{}";
    std::string principal;
    std::string trace;
    std::string idempotency_key;
    std::string capability;
    std::string workflow;
    std::string compensation;  // a CAP Compensation in protobuf's JSON form; empty = none
    std::vector<std::string> required;
    std::vector<std::string> risk_tags;
    std::map<std::string, std::string> labels;
    std::map<std::string, std::string> env;
    int priority = 2;  // batch
    engine::Duration budget{};
    std::int64_t count = 1;
    double rate = 0;  // per second; 0: as fast as it goes
    bool publish_only = false;
    bool wait = false;
    engine::Duration wait_limit = std::chrono::minutes(10);
    bool json = false;
};

/// What became of a submission.
enum class Fate : std::uint8_t {
    submitted,   // stored and published, now or earlier
    stored,      // stored; a scheduler finds it without the message
    not_stored,  // certainly
    unknown,     // whether it was stored cannot be said
};

struct Submitted {
    Fate fate = Fate::submitted;
    std::string trouble{};        // why it is not `submitted`
    std::string existing{};       // the job that was there before, under its id or its idempotency key
    bool record_expired = false;  // of that job nothing else is known
    std::string of_key{};         // what is to be said of the key
    bool letter_gone = false;  // of a job that is submitted again: not stored, as its dead letter is not there any more

    /// A scheduler has it, or finds it.
    [[nodiscard]] bool is_recorded() const { return fate == Fate::submitted || fate == Fate::stored; }
};

/// Of a job that is submitted again: its former id, and its dead letter and its stored request, byte for byte as they were read.
struct LetterClaim {
    std::string job;
    std::string letter;
    std::string request;
};

/// What is wrong with the options as they were typed, as a sentence that names the option; empty = nothing.
[[nodiscard]] std::string mistake_in(const SubmitOptions& options);

/// REQUIRES: no mistake in the options.
[[nodiscard]] engine::Task<int> submit(Session& session, SubmitOptions options);

/// Records `request`, which has an id of its own, in place of the dead letter, and publishes it. Its input is a copy of the former job's
/// where it names one. However many do this with one letter, and however often, one job comes of it.
[[nodiscard]] engine::Task<Submitted> submit_again(Session& session, cap::JobRequest request, LetterClaim claim);

}  // namespace lockstep::prod
