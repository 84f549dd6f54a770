// What is to be submitted, cancelled and approved, and when; and what of it is done. It stands for the users behind the
// gateway, so it outlives gateway and operator processes: the next one goes on with what the last one left unfinished.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "engine/runtime/time.h"
#include "engine/wire/fwd.h"

namespace lockstep::fakes {

/// One line of load.
struct LoadItem {
    enum class Kind : std::uint8_t { submit, cancel, approve, reject, garbage, forge, redis };
    engine::Duration at{};  // since the beginning of the load
    Kind kind = Kind::submit;
    /// cancel, approve, reject: the job. submit: one id for each job, or empty for generated ones.
    std::vector<std::string> job_ids;
    std::string topic;                 // submit: for a template that names none
    int count = 1;                     // submit, with generated ids
    double per_second = 0;             // submit: rate; 0 = all at once
    std::size_t payload_bytes = 0;     // submit: filled up by as many; garbage: of each message
    std::string job_json;              // submit: a JobRequest in protobuf's JSON form; may be empty
    std::string packet_json;           // forge: a BusPacket in protobuf's JSON form; or
    std::string raw;                   // forge: bytes that are published as they are, on `subject`
    std::vector<std::string> command;  // redis: the words of a command
    std::string subject;               // forge: where it is published; empty = subject_of_forged
};

/// Where packets of this kind belong (wire.md 2). Empty for one without a payload, or that is none.
[[nodiscard]] std::string subject_of_forged(std::string_view packet_json);

struct LoadError {
    std::size_t item = 0;  // its place in the list
    std::string message;
};

class LoadPlan {
public:
    struct Action {
        engine::Duration at{};
        LoadItem::Kind kind{};
        std::string job;
        std::size_t request = 0;  // which template; of a forge, which packet; of a Redis command, which
        std::size_t bytes = 0;    // garbage
    };
    /// What a stranger publishes.
    struct Forged {
        std::string subject;
        std::string payload;
    };

    /// Generated job ids are `<prefix>job-<n>`, counted from 0 through all items.
    [[nodiscard]] static tl::expected<LoadPlan, LoadError> make(const std::vector<LoadItem>& items,
                                                                std::string prefix = {});
    LoadPlan(LoadPlan&&) noexcept;
    LoadPlan& operator=(LoadPlan&&) noexcept;
    ~LoadPlan();

    /// By time, then in the order of the list.
    [[nodiscard]] const std::vector<Action>& actions() const { return actions_; }
    /// The request of a submit, with job id and topic. REQUIRES: actions()[index] is a submit.
    [[nodiscard]] cap::JobRequest request(std::size_t index) const;

    /// REQUIRES: actions()[index] is a forge.
    [[nodiscard]] const Forged& forged(std::size_t index) const { return forged_[actions_[index].request]; }

    /// REQUIRES: actions()[index] is a Redis command.
    [[nodiscard]] const std::vector<std::string>& command(std::size_t index) const {
        return commands_[actions_[index].request];
    }

    [[nodiscard]] bool done(std::size_t index) const { return done_[index]; }
    /// `changed`: something came of it.
    void finish(std::size_t index, bool changed = true);
    /// How many actions are not done.
    [[nodiscard]] std::size_t open() const { return open_; }
    /// What of cancels, approvals and rejections has changed nothing: "the approval of x". Not where another one of the kind about the
    /// same job has.
    [[nodiscard]] std::vector<std::string> in_vain() const;

private:
    LoadPlan();

    std::vector<Action> actions_;
    std::vector<cap::JobRequest> templates_;
    std::vector<Forged> forged_;
    std::vector<std::vector<std::string>> commands_;
    std::vector<bool> done_;
    std::vector<bool> changed_;
    std::size_t open_ = 0;
};

}  // namespace lockstep::fakes
