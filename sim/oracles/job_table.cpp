#include "sim/oracles/job_table.h"

namespace lockstep::sim {

void JobTable::string_set(fakes::NodeId, std::string_view key, const std::string*, std::string_view after, std::int64_t,
                          std::int64_t) {
    states_.string_set(key, after);
}

void JobTable::hash_set(fakes::NodeId, std::string_view key, std::string_view field, const std::string*,
                        std::string_view after) {
    states_.hash_set(key, field, after);
}

void JobTable::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal, const fakes::redis::Value&,
                           std::int64_t) {
    states_.key_removed(key);
}

void JobTable::restored(const fakes::redis::Keyspace& now) { states_.restored(now); }

}  // namespace lockstep::sim
