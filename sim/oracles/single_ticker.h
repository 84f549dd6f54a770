// single_ticker: never two replicas tick in one lock window. A tick is what reads a page of jobs under a tick lock; its window
// lasts from the moment at which the lock was last granted until the lock would expire, whether it is still held or not.
#pragma once

#include <map>
#include <string>

#include "engine/config/tunables.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class SingleTicker final : public Oracle {
public:
    SingleTicker(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), tunables_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "single_ticker"; }
    void on_event(const fakes::Event& event, Time now) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct Window {
        fakes::NodeId ticker;  // who ticked in it; not valid = nobody yet
        Time until{};
        EventNumber tick = 0;  // the last one of the ticker
        fakes::NodeId granted_to;
        Time granted_until{};
    };
    void on_page(const fakes::Event& event, Time now);

    const engine::Tunables& tunables_;
    std::map<std::string, Window, std::less<>> windows_;  // by lock
};

}  // namespace lockstep::sim
