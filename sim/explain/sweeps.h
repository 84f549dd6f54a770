// What a recorded run keeps about the ticks of reconciler and replayer, so that the story of a job that is left for ever can
// tell which sweeps passed it by, and why: what each page named, in which indexes the job stood, and what its record said about
// when it is to be tried again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/redis/keyspace.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

struct SweepLog {
    /// One page of an index, read under a tick lock.
    struct Page {
        std::uint64_t event = 0;  // its number in the run: when the call took effect
        std::int64_t ns = 0;      // virtual time since the start of the run
        std::int16_t node = -1;   // of the reader
        std::string index;
        bool held = false;               // the reader still had the tick lock, so that the index was read
        std::vector<std::string> named;  // the texts of the answer, jobs among them
    };
    /// A change of what is known of a job: its place in an index ("" or "listed"), or a field of its record.
    struct Fact {
        std::uint64_t event = 0;
        std::string what;  // the index, or the field
        std::string value;
    };
    std::vector<Page> pages;
    std::map<std::string, std::vector<Fact>, std::less<>> jobs;  // oldest first
};

class SweepRecorder final : public EventObserver, public fakes::redis::KeyspaceObserver {
public:
    void on_event(const fakes::Event& event, Time now) override;
    void command(fakes::NodeId client, std::span<const std::string_view> words, std::int64_t now_ms) override;
    void zset_listed(fakes::NodeId client, std::string_view key) override;
    void zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double* before,
                  double after) override;
    void zset_removed(fakes::NodeId client, std::string_view key, std::string_view member, double before) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void hash_removed(fakes::NodeId client, std::string_view key, std::string_view field,
                      std::string_view before) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void losing(const fakes::redis::Keyspace& before) override;
    void restored(const fakes::redis::Keyspace& now) override;

    /// What was recorded; the recorder is empty then.
    [[nodiscard]] SweepLog take();

private:
    void note(std::string_view job, std::string_view what, std::string_view value);

    SweepLog log_;
    std::optional<SweepLog::Page> reading_;  // by the command that is being executed
    std::uint64_t events_ = 0;
};

/// The last sweeps that could have moved a job on which was left in `state` since the event of that number, one line each, with
/// the reason why they did not. Empty for a state that no sweep looks at.
[[nodiscard]] std::vector<std::string> sweep_lines(const SweepLog& log, const std::vector<std::string>& nodes,
                                                   std::string_view job, std::string_view state, std::uint64_t since);

}  // namespace lockstep::sim
