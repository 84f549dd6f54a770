#include "prod/rehearsal/outside_world.h"

#include <stdexcept>

#include "prod/loop/system_clock.h"

namespace lockstep::prod::rehearsal {

namespace {

[[noreturn]] void not_here() { throw std::logic_error("there is no simulated network among real servers"); }

}  // namespace

bool OutsideWorld::Deeds::emit(const fakes::Event& event) {
    recording_.add(Deed{.at_us = engine::to_unix_micros(wall_now()),
                        .kind = event.kind,
                        .when = event.when,
                        .accepted = event.flag,
                        .node = event.node,
                        .job = std::string(event.job),
                        .to = std::string(event.to)});
    return true;
}

engine::WallTime OutsideWorld::wall(fakes::NodeId /*node*/) const { return wall_now(); }
engine::MonoTime OutsideWorld::monotonic(fakes::NodeId /*node*/) const { return monotonic_now(); }
fakes::World::TimerId OutsideWorld::after(fakes::NodeId, engine::Duration, fakes::Action) { not_here(); }
void OutsideWorld::cancel(TimerId) { not_here(); }
void OutsideWorld::listen(fakes::NodeId, std::string_view, fakes::Server&) { not_here(); }
void OutsideWorld::connect(fakes::NodeId, fakes::NodeId, std::string_view, fakes::ConnectionListener&,
                           std::function<void(std::shared_ptr<fakes::Connection>)>) {
    not_here();
}
fakes::Faults& OutsideWorld::faults() { not_here(); }

}  // namespace lockstep::prod::rehearsal
