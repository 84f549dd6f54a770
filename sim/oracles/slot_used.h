// slot_used: a slot of a tenant does not stay free while a job of that tenant waits for one. While nothing is broken it is
// taken within a second and the time of three calls of Redis, which a far server makes long. After trouble it may take until whoever
// was called and did not come is called again: a wake may be lost with its replica, the lock of a job may have to expire, and a job
// that somebody else has ended is struck off by the reconciler.
//
// A job waits from when it comes into its tenant's line, or is put off for its tenant's limit without one: nothing but the time
// of its next try is written then. It waits until it is handled again. A slot is free for it while fewer jobs of its tenant are SCHEDULED, DISPATCHED or RUNNING than policy
// has told it last. While any waiting job of the tenant is being handled, nobody can know who gets the slot: that time does
// not count. Jobs that somebody else has ended are seen as everybody sees them, by their state. One whose stored request Redis has
// damaged can use no slot.
//
// A job that has a slot does not stand in its own way: it is put off for its tenant's limit only while as many others have one,
// also where a look has just struck off some. Not judged once Redis has lost anything of a job of the tenant.
//
// What each command leaves of a line is judged at once, whatever the weather: see tenant_lines.h.
//
// Nor does a slot of a worker stay free for ten seconds while a job waits for one that the worker may serve: see worker_slots.h.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "engine/config/tunables.h"
#include "sim/model/weather.h"
#include "sim/oracles/oracle.h"
#include "sim/oracles/tenant_lines.h"
#include "sim/oracles/worker_slots.h"

namespace lockstep::sim {

class SlotUsed final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds{
        fakes::EventKind::redis,         fakes::EventKind::fault,         fakes::EventKind::kernel_check,
        fakes::EventKind::lock_acquired, fakes::EventKind::lock_released, fakes::EventKind::lock_expired,
        fakes::EventKind::core_deliver};
    SlotUsed(Judge& judge, const engine::Tunables& tunables);
    [[nodiscard]] std::string_view invariant() const override { return "slot_used"; }
    void on_event(const fakes::Event& event, Time now) override;
    void command(fakes::NodeId client, std::span<const std::string_view> words, std::int64_t now_ms) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void hash_removed(fakes::NodeId client, std::string_view key, std::string_view field,
                      std::string_view before) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double* before,
                  double after) override;
    void zset_removed(fakes::NodeId client, std::string_view key, std::string_view member, double before) override;
    void zset_listed(fakes::NodeId client, std::string_view key) override;
    void list_inserted(fakes::NodeId client, std::string_view key, std::size_t index,
                       std::string_view element) override;
    void list_removed(fakes::NodeId client, std::string_view key, std::size_t index, std::string_view element) override;
    void restored(const fakes::redis::Keyspace& now) override;
    void at_rest(const RestView& view) override;

private:
    struct Job {
        std::string tenant = "default";
        std::int64_t limit = 0;  // as policy told it last; 0 = none
        bool on_its_way = false;
        bool handled = false;  // somebody has its lock
        bool waits = false;
        bool request_cut = false;  // so that nobody can take it up
    };
    struct Tenant {
        std::int64_t on_their_way = 0;
        std::multiset<std::int64_t> limits;  // of those that wait
        std::int64_t handled = 0;            // jobs that have no slot, and are being handled
        std::optional<Time> free_since;
        bool ever_limited = false;  // policy has told one of its jobs a limit
        std::string waiting;        // one of those that wait
    };

    /// Changes one job; what that means for its tenant is worked out from the difference.
    template <class Change>
    void change(std::string_view job, Change apply);
    void count(const std::string& name, const Job& job, int by);
    void look_at(Tenant& tenant, fakes::NodeId node);
    void judge_gap(const Tenant& tenant, fakes::NodeId node);
    void judge_worker(const fakes::Event& event);
    /// From when on nothing was amiss that a wait of `bound` may be due to; with `after_trouble_` for `bound` where something was.
    [[nodiscard]] std::pair<Time, Duration> from_trouble_on(Time began, Duration bound) const;
    void judge_put_off(const std::string& name, fakes::NodeId node);
    [[nodiscard]] bool lost_some_of(const std::string& tenant) const;
    void time_call(const fakes::Event& event);

    const Duration after_trouble_;
    const Weather& weather_ = model().weather();
    TenantLines lines_;
    WorkerSlots workers_;
    bool settings_changed_ = false;
    std::map<std::string, Job, std::less<>> jobs_;
    std::map<std::string, Tenant, std::less<>> tenants_;
    std::map<std::pair<fakes::NodeId, std::string>, Time> calls_;  // of scripts that nobody has answered yet
    std::string
        put_off_;  // the job of which the present command has written the time of its next try, and nothing else
    Duration longest_call_{};  // of those while nothing was broken
    fakes::NodeId actor_;
    const Time& now_ = told_at();
};

}  // namespace lockstep::sim
