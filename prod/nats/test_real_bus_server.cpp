#include "fakes/testing/bus_server.h"
#include "fakes/testing/server_lines.h"
#include "fakes/testing/server_process.h"
#include "prod/kernel/test_tcp_relay.h"
#include "prod/loop/test_wait.h"
#include "prod/nats/nats_bus.h"

namespace lockstep::fakes::engine_test {

namespace {

using namespace std::chrono_literals;

class RealBusServer final : public BusServer {
public:
    RealBusServer() {
        bus_ = connect(relay_.port());
        other_ = connect(process_.port());
        if (!prod::carry_out(loop_, other_->prepare(loop_.monotonic() + 10s)))
            throw std::runtime_error("the streams cannot be made");
    }

    engine::Bus& bus() override { return *bus_; }
    engine::Bus& other() override { return *other_; }
    engine::Executor& executor() override { return loop_; }
    bool run_until(const std::function<bool()>& done, engine::Duration limit) override {
        return loop_.run_until(done, limit);
    }

    void break_connection() override { relay_.cut(); }
    void disconnect() override {
        relay_.refuse();
        loop_.run_until([this] { return !bus_->connection().connected; }, 10s);
    }
    void reconnect() override { relay_.accept_again(); }
    void lose_next_answer() override { relay_.cut_after(0); }
    void restart() override {
        process_.stop();
        process_.start();
    }
    void make_stream_anew(const std::string& stream) override {
        const auto admin = prod::NatsConnection::connect(loop_, options(process_.port()));
        ask(**admin, "$JS.API.STREAM.DELETE." + stream, "");
        ask(**admin, "$JS.API.STREAM.CREATE." + stream, prod::jetstream::stream_create({stream, {"sys.>"}, 1h, 1}));
    }

private:
    static prod::NatsOptions options(int port) {
        return {.url = "nats://127.0.0.1:" + std::to_string(port),
                .policy = {.reconnect_wait = 50ms, .reconnect_jitter = 5ms},
                .ping_interval = 10min};
    }
    std::unique_ptr<prod::NatsBus> connect(int port) {
        auto bus = prod::NatsBus::connect(loop_, options(port));
        if (!bus) throw std::runtime_error(bus.error());
        return std::move(*bus);
    }
    std::string ask(prod::NatsConnection& admin, const std::string& subject, const std::string& body) {
        const auto answer = prod::carry_out(loop_, admin.request(subject, body, "", loop_.monotonic() + 10s));
        if (!answer.applied()) throw std::runtime_error(subject + ": " + answer.failure().detail);
        return answer.value().payload;
    }

    testing::ServerProcess process_{testing::nats_server_line};
    prod::TcpRelay relay_{process_.port()};
    prod::UvLoop loop_;
    std::unique_ptr<prod::NatsBus> bus_;
    std::unique_ptr<prod::NatsBus> other_;
};

}  // namespace

std::unique_ptr<BusServer> start_bus_server() {
    if (!testing::find_program("nats-server")) return nullptr;
    return std::make_unique<RealBusServer>();
}

}  // namespace lockstep::fakes::engine_test
