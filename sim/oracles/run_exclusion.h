// run_exclusion: a workflow run is advanced by one holder of its lock at a time. A holder's span lasts from the command by which it
// read the run's document to the one by which it changed it, or tried to; and no longer than its token stood under the run's lock.
// The spans of two holders never overlap.
//
// Who holds is a token, not a replica: two handlers of one replica are two holders. Whoever takes no lock at all is a holder by
// itself, from its read to its write. Where the settings let replicas go without the lock (`wf_on_redis_error`, `wf_on_contention`),
// only this is judged: nobody overwrites what another one has written since it read.
//
// What gateways and operators write is not judged, and nor is a span across which Redis has lost data.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "engine/config/tunables.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class RunExclusion final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted{fakes::EventKind::redis};

    RunExclusion(Judge& judge, const engine::Tunables& tunables);
    [[nodiscard]] std::string_view invariant() const override { return "run_exclusion"; }
    void on_event(const fakes::Event& event, Time now) override;
    void command(fakes::NodeId client, std::span<const std::string_view> words, std::int64_t now_ms) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct Span {
        std::string holder;
        fakes::NodeId client;
        std::uint64_t begin = 0;  // numbers of commands
        std::uint64_t end = 0;
        EventNumber read = 0;
        bool wrote = false;
    };
    struct Run {
        std::string token;                          // under its lock; empty: nobody's
        std::map<std::string, Span> reads;          // by holder, the last one of each
        std::deque<Span> changes;                   // finished spans, the latest last
        std::map<std::string, std::uint64_t> lost;  // tokens that stand there no more, since when
    };
    /// What the command that is being executed does to one run.
    struct Doing {
        std::string run;
        bool names_document = false;
        bool brings_document = false;
        bool wrote = false;
        bool has_effect = false;
        std::string token;  // that it names
    };

    void begin_command(fakes::NodeId client, std::span<const std::string_view> words);
    /// The command has been executed.
    void finish_command();
    void note_read(Run& run);
    void judge_change(Run& run);
    [[nodiscard]] const Span* read_of(const Run& run) const;

    const bool goes_without_;
    std::map<std::string, Run, std::less<>> runs_;
    std::uint64_t number_ = 0;  // of the command
    fakes::NodeId client_;
    Doing doing_;
};

}  // namespace lockstep::sim
