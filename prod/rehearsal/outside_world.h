// The simulation's gateway and operator on real servers: they reach those through their ports, and of the world they only
// ask the time, a little randomness, and where to say what they do.
#pragma once

#include "fakes/world.h"
#include "prod/rehearsal/recording.h"

namespace lockstep::prod::rehearsal {

/// Throws std::logic_error for everything that only a simulated server would ask for.
class OutsideWorld final : public fakes::World {
public:
    OutsideWorld(Recording& recording, std::uint64_t seed) : deeds_(recording), draws_(seed, "gateway") {}

    [[nodiscard]] engine::WallTime wall(fakes::NodeId node) const override;
    [[nodiscard]] engine::MonoTime monotonic(fakes::NodeId node) const override;
    TimerId after(fakes::NodeId node, engine::Duration delay, fakes::Action action) override;
    void cancel(TimerId timer) override;
    void listen(fakes::NodeId node, std::string_view service, fakes::Server& server) override;
    void connect(fakes::NodeId client, fakes::NodeId server, std::string_view service,
                 fakes::ConnectionListener& listener,
                 std::function<void(std::shared_ptr<fakes::Connection>)> done) override;
    fakes::KeyedRng& draws(std::string_view /*family*/) override { return draws_; }
    fakes::Faults& faults() override;
    fakes::Trace& trace() override { return deeds_; }

private:
    /// Taken down beside what the servers show, which is told later.
    class Deeds final : public fakes::Trace {
    public:
        explicit Deeds(Recording& recording) : recording_(recording) {}
        bool emit(const fakes::Event& event) override;

    private:
        Recording& recording_;
    };
    Deeds deeds_;
    fakes::KeyedRng draws_;
};

}  // namespace lockstep::prod::rehearsal
