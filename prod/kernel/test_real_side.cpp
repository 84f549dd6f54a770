#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <functional>
#include <mutex>
#include <stdexcept>

#include "cordum/agent/v1/safety.grpc.pb.h"
#include "cordum/v1/output_policy.grpc.pb.h"
#include "engine/runtime/scope.h"
#include "fakes/policy/decision.h"
#include "prod/kernel/grpc_kernel.h"
#include "prod/kernel/test_kernel_sides.h"
#include "prod/kernel/test_policy.h"
#include "prod/kernel/test_tcp_relay.h"
#include "prod/loop/system_clock.h"
#include "prod/loop/test_wait.h"

namespace lockstep::prod {

namespace {

using namespace std::chrono_literals;

/// Where calls wait until the test lets them go, and where it is counted how often the handler ran.
class Desk {
public:
    /// `arrived` is done, on one of gRPC's threads, whenever a call comes in.
    explicit Desk(std::function<void()> arrived) : tell_arrival_(std::move(arrived)) {}

    void begin(const Step& step) {
        const std::lock_guard lock(mutex_);
        step_ = step;
        ran_ = 0;
        arrived_ = 0;
    }
    [[nodiscard]] int ran() {
        const std::lock_guard lock(mutex_);
        return ran_;
    }
    [[nodiscard]] bool has_arrived() {
        const std::lock_guard lock(mutex_);
        return arrived_ > 0;
    }
    /// The calls that wait go on; where the handler has not run yet it does so, or never will.
    void let_go(bool run) {
        std::deque<std::function<void(bool)>> waiting;
        {
            const std::lock_guard lock(mutex_);
            waiting.swap(waiting_);
        }
        for (auto& call : waiting) call(run);
    }

    template <class Decide>
    grpc::ServerUnaryReactor* take(grpc::CallbackServerContext* context, Decide decide) {
        auto* reactor = context->DefaultReactor();
        const std::lock_guard lock(mutex_);
        ++arrived_;
        tell_arrival_();
        switch (step_.weather) {
            case Weather::slow:
            case Weather::no_answer:
            case Weather::breaks_before:
            case Weather::crashes:
                waiting_.emplace_back([this, reactor, decide](bool run) {
                    if (run) {
                        const std::lock_guard inner(mutex_);
                        decide(evaluator_);
                        ++ran_;
                    }
                    reactor->Finish(grpc::Status::CANCELLED);
                });
                return reactor;
            case Weather::breaks_after:
                decide(evaluator_);
                ++ran_;
                waiting_.emplace_back([reactor](bool) { reactor->Finish(grpc::Status::OK); });
                return reactor;
            case Weather::status:
                reactor->Finish(grpc::Status(static_cast<grpc::StatusCode>(step_.status), "refused by the handler"));
                return reactor;
            default:
                decide(evaluator_);
                ++ran_;
                reactor->Finish(grpc::Status::OK);
                return reactor;
        }
    }

private:
    const std::function<void()> tell_arrival_;
    std::mutex mutex_;
    fakes::policy::Evaluator evaluator_ = test_policy();
    Step step_;
    int ran_ = 0;
    int arrived_ = 0;
    std::deque<std::function<void(bool)>> waiting_;
};

class Safety final : public cap::SafetyKernel::CallbackService {
public:
    explicit Safety(Desk& desk) : desk_(desk) {}

private:
    grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context, const cap::PolicyCheckRequest* request,
                                    cap::PolicyCheckResponse* response) override {
        return desk_.take(context, [request, response](fakes::policy::Evaluator& evaluator) {
            *response = evaluator.check(*request, wall_now());
        });
    }
    Desk& desk_;
};

class Output final : public cap_output::OutputPolicyService::CallbackService {
public:
    explicit Output(Desk& desk) : desk_(desk) {}

private:
    grpc::ServerUnaryReactor* CheckOutput(grpc::CallbackServerContext* context,
                                          const cap_output::OutputCheckRequest* request,
                                          cap_output::OutputCheckResponse* response) override {
        return desk_.take(context, [request, response](fakes::policy::Evaluator& evaluator) {
            *response = evaluator.check_output(*request);
        });
    }
    Desk& desk_;
};

/// gRPC's server with its defaults, as kernels of others have it.
class RealServer {
public:
    explicit RealServer(const std::vector<grpc::Service*>& services) {
        grpc::ServerBuilder builder;
        builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
        for (grpc::Service* service : services) builder.RegisterService(service);
        // A server without any service does not start.
        if (services.empty()) builder.RegisterCallbackGenericService(&nothing_);
        server_ = builder.BuildAndStart();
        if (!server_) throw std::runtime_error("the gRPC server does not start");
    }
    ~RealServer() { server_->Shutdown(std::chrono::system_clock::now()); }
    [[nodiscard]] int port() const { return port_; }

private:
    grpc::CallbackGenericService nothing_;  // answers every call with UNIMPLEMENTED
    int port_ = 0;
    std::unique_ptr<grpc::Server> server_;
};

/// Takes connections and says nothing.
class SilentServer {
public:
    SilentServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof address;
        ::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address);
        ::listen(socket_, 8);
        ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length);
        port_ = ntohs(address.sin_port);
    }
    ~SilentServer() { ::close(socket_); }
    [[nodiscard]] int port() const { return port_; }

private:
    int socket_;
    int port_ = 0;
};

class RealSide final : public KernelSide {
public:
    ~RealSide() override { desk_.let_go(false); }

    Observed observe(const Step& step) override {
        constexpr engine::Duration kShort = 150ms;
        constexpr engine::Duration kLong = 30s;
        desk_.begin(step);
        Observed observed;
        switch (step.weather) {
            case Weather::slow:
            case Weather::no_answer: observed.answer = call(kernel_, step, kShort); break;
            case Weather::no_such_service: observed.answer = call(elsewhere(bare_.port()), step, kLong); break;
            case Weather::silent: observed.answer = call(elsewhere(silent_.port()), step, kShort); break;
            case Weather::silent_long: observed.answer = call(elsewhere(silent_.port()), step, 3s); break;
            case Weather::breaks_before:
            case Weather::breaks_after:
            case Weather::crashes: observed.answer = call(kernel_, step, kLong, [this] { relay_.cut(); }); break;
            case Weather::refused:
                relay_.refuse();
                observed.answer = call(kernel_, step, kLong);
                relay_.accept_again();
                break;
            case Weather::deadline_passed: observed.answer = call(kernel_, step, -1ms); break;
            default: observed.answer = call(kernel_, step, kLong); break;
        }
        observed.ran = desk_.ran();
        desk_.let_go(step.weather == Weather::slow || step.weather == Weather::breaks_before);
        observed.ran_in_the_end = desk_.ran();
        recover(step);
        return observed;
    }

private:
    /// Until the kernel is there again for the client.
    void recover(const Step& step) {
        const Step plain{.output = step.output};
        desk_.begin(plain);
        const engine::MonoTime limit = loop_.monotonic() + 20s;
        while (call(kernel_, plain, 5s).starts_with("status") && loop_.monotonic() < limit) {
            loop_.run_until([] { return false; }, 20ms);
        }
    }

    GrpcKernel& elsewhere(int port) {
        other_ = std::make_unique<GrpcKernel>(loop_, KernelOptions{.address = at(port)});
        return *other_;
    }

    /// `in_hands` is done once the call has come to the handler.
    std::string call(GrpcKernel& kernel, const Step& step, engine::Duration patience,
                     const std::function<void()>& in_hands = {}) {
        const engine::MonoTime deadline = loop_.monotonic() + patience;
        if (step.output) return wait(kernel.check_output(output_request(step), deadline), in_hands);
        return wait(kernel.check(check_request(step), deadline), in_hands);
    }

    template <class Answer>
    std::string wait(engine::Task<Answer> task, const std::function<void()>& in_hands) {
        std::optional<Answer> slot;
        engine::Scope scope(loop_);
        scope.spawn(keep(std::move(task), slot));
        if (in_hands) {
            loop_.run_until([&] { return desk_.has_arrived() || slot.has_value(); }, 40s);
            in_hands();
        }
        if (!loop_.run_until([&] { return slot.has_value(); }, 40s)) return "nothing";
        if (!*slot) return "status " + std::to_string(slot->error().code);
        return std::string(fakes::policy::recorded_name((**slot).decision()));
    }

    static std::string at(int port) { return "127.0.0.1:" + std::to_string(port); }

    UvLoop loop_;
    Desk desk_{[mailbox = loop_.mailbox()] { mailbox->post([] {}); }};  // wakes the loop, which then looks
    Safety safety_{desk_};
    Output output_{desk_};
    RealServer server_{{&safety_, &output_}};
    RealServer bare_{{}};
    SilentServer silent_;
    TcpRelay relay_{server_.port()};
    GrpcKernel kernel_{loop_, {.address = at(relay_.port())}};
    std::unique_ptr<GrpcKernel> other_;
};

}  // namespace

std::unique_ptr<KernelSide> real_side() { return std::make_unique<RealSide>(); }

}  // namespace lockstep::prod
