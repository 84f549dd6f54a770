// The turns in which replicas change the documents of workflow runs. A turn lasts from the command by which its holder read the
// document to the one by which it changed it, or tried to, and no longer than its token stood under the run's lock.
//
// A holder is a token: two handlers of one replica are two. One that takes no lock is a holder by itself. What gateways and
// operators write is no turn, and nor is one across which Redis has lost data.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/event.h"
#include "sim/model/names.h"

namespace lockstep::sim {

struct RunTurn {
    std::string holder;  // its token, or which node it is
    fakes::NodeId client;
    std::uint64_t begin = 0;  // numbers of commands
    std::uint64_t end = 0;
    EventNumber read = 0;
    bool wrote = false;
};

struct RunChange {
    std::string run;
    RunTurn turn;                   // ends with this change
    std::vector<RunTurn> finished;  // the latest last
};

class RunTurns {
public:
    /// Replicas may read and change a run whose lock another one has.
    bool go_unlocked = false;

    /// Without words: the last command has been executed. `present`: the event, and so below.
    [[nodiscard]] std::optional<RunChange> command(fakes::NodeId client, std::span<const std::string_view> words,
                                                   EventNumber present);
    [[nodiscard]] std::optional<RunChange> replied(const fakes::Event& reply, EventNumber present);
    void string_set(fakes::NodeId client, std::string_view key, std::string_view after);
    void key_removed(std::string_view key);
    void data_lost();

private:
    struct Lost {
        std::string token;
        std::uint64_t command = 0;
    };
    struct Run {
        std::string token;           // under its lock; empty: none
        std::vector<RunTurn> reads;  // the last one of each holder, the latest last
        std::deque<RunTurn> changes;
        std::deque<Lost> lost;  // tokens that stand there no more

        [[nodiscard]] const RunTurn* read_by(std::string_view holder) const;
        [[nodiscard]] const Lost* loss_of(std::string_view by_token) const;
        void lose_token(std::uint64_t command);
        void forget_read(std::string_view holder);
    };
    /// What the command that is being executed does to one run.
    struct Doing {
        std::string run;
        bool is_of_one = false;  // it names the document of this run, and of no other
        bool brings_document = false;
        bool wrote = false;
        bool has_effect = false;
        std::string token;  // that it names
    };

    void begin(fakes::NodeId client, std::span<const std::string_view> words);
    [[nodiscard]] std::optional<RunChange> finish(EventNumber present);
    [[nodiscard]] std::optional<RunChange> end_turn(Run& run);

    std::map<std::string, Run, std::less<>> runs_;
    std::uint64_t number_ = 0;  // of the command
    fakes::NodeId client_;
    Doing doing_;
};

}  // namespace lockstep::sim
