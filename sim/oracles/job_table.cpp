#include "sim/oracles/job_table.h"

#include "sim/model/job_keys.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

EventNumber JobTable::upcoming() const { return judge_.present() + 1; }

void JobTable::string_set(fakes::NodeId, std::string_view key, const std::string*, std::string_view after, std::int64_t,
                          std::int64_t) {
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

void JobTable::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal, const fakes::redis::Value&,
                           std::int64_t) {
    states_.key_removed(key);
    sent_.key_removed(key, upcoming());
}

void JobTable::restored(const fakes::redis::Keyspace& now) {
    states_.restored(now);
    sent_.restored(now, judge_.present());
}

}  // namespace lockstep::sim
