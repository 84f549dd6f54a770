// no_starvation: a tenant that has only a few jobs waiting gets its turns, whatever the others submit. While nothing is
// broken, each of its waiting jobs is tried, and tried again, within a bounded time: the longest documented delay, or the time after
// which the replayer looks for jobs that nobody tries, whichever is longer. After trouble the time counts from its end, and whoever
// looked may have to be replaced first.
//
// A try is a call for the job's lock; whether it succeeds is a matter of limits and free workers. A tenant
// with a backlog of its own may have to wait for itself, and is not judged. Nor is a job while it waits for a slot
// of its tenant or of a worker: whether it waits too long there is the business of slot_used. One whose stored request is damaged or lost cannot be
// tried, and is given up in the end (job_history).
#pragma once

#include <map>
#include <string>

#include "sim/model/weather.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class NoStarvation final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds{fakes::EventKind::state, fakes::EventKind::redis};
    NoStarvation(Judge& judge, const engine::Tunables& tunables);
    [[nodiscard]] std::string_view invariant() const override { return "no_starvation"; }
    void on_event(const fakes::Event& event, Time now) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double* before,
                  double after) override;
    void zset_removed(fakes::NodeId client, std::string_view key, std::string_view member, double before) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct Waiting {
        std::string tenant;
        bool waits = false;
        std::string line;  // the key of the one in which it stands, or stood last
        bool stands = false;
        Time since{};  // the last try, or when it left the line
        bool damaged = false;
    };
    struct Tenant {
        int waiting = 0;
        Time crowded_until{};  // when it last had more waiting than is judged
    };

    void on_state(const fakes::Event& event, Time now);
    void on_try(const fakes::Event& event, Time now);
    void set_waiting(Waiting& job, bool waits, Time now);
    void leave_line(Waiting& job) const;

    const Duration bound_;
    const Duration until_replaced_;
    std::map<std::string, Waiting, std::less<>> jobs_;
    std::map<std::string, Tenant, std::less<>> tenants_;
    const Weather& weather_ = model().weather();
    const Time& now_ = told_at();
};

}  // namespace lockstep::sim
