#include "fakes/nats/client.h"
#include "fakes/nats/server.h"
#include "fakes/testing/bus_server.h"
#include "fakes/testing/manual_world.h"

namespace lockstep::fakes::engine_test {

namespace {

class SimulatedBusServer final : public BusServer {
public:
    SimulatedBusServer() {
        world_.run_for(std::chrono::seconds(1));  // the clock has left its origin
        bus_ = std::make_unique<NatsClient>(world_, server_, kBus, options());
        other_ = std::make_unique<NatsClient>(world_, server_, kOther, options());
        world_.run_until([this] { return bus_->connection().connected && other_->connection().connected; });
    }

    engine::Bus& bus() override { return *bus_; }
    engine::Bus& other() override { return *other_; }
    engine::Executor& executor() override { return world_.executor(); }
    bool run_until(const std::function<bool()>& done, engine::Duration limit) override {
        return world_.run_until(done, limit);
    }

    void break_connection() override { world_.break_connections(kBus, kServer); }
    void disconnect() override {
        world_.break_connections(kBus, kServer);
        world_.partition(kBus, kServer);
        world_.run_until([this] { return !bus_->connection().connected; });
    }
    void reconnect() override { world_.heal(); }
    void lose_next_answer() override {
        world_.fault.on_publish = [this](NodeId, std::string_view) {
            world_.fault.on_publish = nullptr;
            return CallFault::unknown;
        };
    }
    void restart() override { server_.restart(std::chrono::seconds(1)); }
    void make_stream_anew(const std::string& stream) override { server_.make_stream_anew(stream); }

private:
    static constexpr NodeId kServer{0};
    static constexpr NodeId kBus{1};
    static constexpr NodeId kOther{2};
    static NatsClientOptions options() { return {.reconnect_wait = std::chrono::milliseconds(50)}; }

    testing::ManualWorld world_;
    NatsServer server_{world_, NatsServerOptions{.node = kServer}};
    std::unique_ptr<NatsClient> bus_;
    std::unique_ptr<NatsClient> other_;
};

}  // namespace

std::unique_ptr<BusServer> start_bus_server() { return std::make_unique<SimulatedBusServer>(); }

}  // namespace lockstep::fakes::engine_test
