// delay_timer_kept: a step that waits for a time, be it a delay or the next try after a failure, goes on when that has come by the
// clock of Redis: not before, once, and soon. And that time is the one that its definition says.
//
// Soon means: where the wait is long enough to be durable (`delay_persist_min`), within one interval of the poller and two more for
// its lock, and a shorter one within the same of the reconciler; counted from when it was due, from the last disturbance, from when
// somebody last had the run's lock, from when a poller that has died had put the timer off to, from when its parent let it begin
// (`max_parallel`), or from when a gateway or an operator wrote the run, whichever comes last. Those set no timers: what they have
// written is the reconciler's, and a delay that they take back is over once more.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "engine/config/tunables.h"
#include "sim/model/weather.h"
#include "sim/oracles/oracle.h"
#include "sim/oracles/run_definitions.h"

namespace lockstep::sim {

class DelayTimerKept final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted =
        fakes::EventKinds{fakes::EventKind::fault, fakes::EventKind::lock_released, fakes::EventKind::lock_expired};

    DelayTimerKept(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), tunables_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "delay_timer_kept"; }
    void on_event(const fakes::Event& event, Time now) override;
    void command(fakes::NodeId client, std::span<const std::string_view> words, std::int64_t now_ms) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void list_inserted(fakes::NodeId client, std::string_view key, std::size_t index, std::string_view value) override;
    void zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double* before,
                  double after) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct Wait {
        std::int64_t due_ms = 0;  // by Redis' clock, rounded down
        bool durable = false;
        EventNumber since = 0;
        bool has_no_place = false;  // it is due, perhaps, and as many of its siblings are at work as may be
        std::int64_t place_since_ms = 0;
    };
    struct Run {
        std::map<std::string, Wait> waits;  // by step
        std::set<std::string> completed;    // delays that the timeline says are over
        Time lock_free_since{};
        std::int64_t put_off_to_ms = 0;
        std::int64_t rewritten_ms = 0;  // by a gateway or an operator: they set no timers
    };

    void on_write(fakes::NodeId client, const std::string& name, const nlohmann::json& after);
    void note_waits(const std::string& name, Run& run, const nlohmann::json& after, bool by_others);
    void judge_length(const std::string& name, const nlohmann::json& run, const std::string& key, std::int64_t due_ms);
    void judge_going_on(fakes::NodeId client, const std::string& name, const std::string& step, const Wait& wait);
    [[nodiscard]] static bool goes_on(const nlohmann::json& step);

    const engine::Tunables& tunables_;
    std::map<std::string, Run, std::less<>> runs_;
    RunDefinitions definitions_;
    const Weather& weather_ = model().weather();
    std::int64_t redis_ms_ = 0;  // of the command that is being executed
    bool clock_jumps_ = false;   // that of Redis
};

}  // namespace lockstep::sim
