#include "sim/oracles/job_table.h"

#include "sim/model/job_keys.h"
#include "sim/oracles/oracle.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

EventNumber JobTable::upcoming() const { return judge_.present() + 1; }

fakes::NodeId JobTable::holder_of(const fakes::Event& event) const {
    return event.job_number < holders_.size() ? holders_[event.job_number] : fakes::NodeId{};
}

void JobTable::on_event(const fakes::Event& event, Time) {
    if (event.kind == fakes::EventKind::fault) {
        if (event.name == "redis.failover" && event.from == "begin") lost_.failing_over();
        if (event.name == "redis.two_primaries") lost_.two_primaries(event.from == "begin");
        if (event.from == "begin" && (event.name == "redis.restart" || event.node == Topology::kRedis))
            lost_.restarting();
        return;
    }
    if (event.job_number == 0 || !is_job_lock(event.key)) return;
    if (event.job_number >= holders_.size()) holders_.resize(event.job_number + 1);
    holders_[event.job_number] = event.kind == fakes::EventKind::lock_acquired ? event.node : fakes::NodeId{};
}

void JobTable::string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                          std::int64_t, std::int64_t) {
    lost_.string_set(client, key, before, after);
    states_.string_set(key, after);
    sent_.string_set(key, upcoming());
}

void JobTable::hash_set(fakes::NodeId, std::string_view key, std::string_view field, const std::string*,
                        std::string_view after) {
    states_.hash_set(key, field, after);
    sent_.hash_set(key, field, after, upcoming());
}

void JobTable::hash_removed(fakes::NodeId, std::string_view key, std::string_view field, std::string_view) {
    sent_.hash_removed(key, field, upcoming());
}

void JobTable::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal why,
                           const fakes::redis::Value& last, std::int64_t) {
    lost_.key_removed(key, why, last);
    states_.key_removed(key);
    sent_.key_removed(key, upcoming());
}

void JobTable::losing(const fakes::redis::Keyspace& before) { lost_.losing(before); }

void JobTable::restored(const fakes::redis::Keyspace& now) {
    lost_.restored(now);
    states_.restored(now);
    sent_.restored(now, judge_.present());
    holders_.clear();
}

}  // namespace lockstep::sim
