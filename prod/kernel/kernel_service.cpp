#include "prod/kernel/kernel_service.h"

#include <fmt/core.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <deque>
#include <mutex>
#include <stdexcept>

#include "cordum/agent/v1/safety.grpc.pb.h"
#include "cordum/v1/output_policy.grpc.pb.h"
#include "engine/wire/fwd.h"
#include "fakes/policy/evaluator.h"
#include "prod/loop/system_clock.h"

namespace lockstep::prod {

namespace {

/// Snapshots that ListSnapshots tells, the newest first: as many as the store of a real kernel keeps.
constexpr std::size_t kSnapshotsKept = 10;

/// One evaluator behind one lock: a check takes microseconds, and velocity counters must see every request anyway.
class Judge {
public:
    explicit Judge(LoadedPolicy policy) { replace(std::move(policy)); }

    void replace(LoadedPolicy policy) {
        const std::lock_guard lock(mutex_);
        if (snapshots_.empty() || snapshots_.front() != policy.snapshot) snapshots_.push_front(policy.snapshot);
        if (snapshots_.size() > kSnapshotsKept) snapshots_.pop_back();
        input_rules_ = policy.input_conditions.any() ? ConditionalInputRules(policy.document, policy.input_conditions)
                                                     : ConditionalInputRules();
        evaluator_.replace(std::move(policy.document), std::move(policy.snapshot));
    }
    cap::PolicyCheckResponse check(const cap::PolicyCheckRequest& request) {
        const std::lock_guard lock(mutex_);
        const engine::WallTime now = wall_now();
        cap::PolicyCheckResponse response = evaluator_.check(request, now);
        input_rules_.apply(request, now, response);
        return response;
    }
    cap_output::OutputCheckResponse check_output(const cap_output::OutputCheckRequest& request) {
        const std::lock_guard lock(mutex_);
        return evaluator_.check_output(request);
    }
    std::deque<std::string> snapshots() {
        const std::lock_guard lock(mutex_);
        return snapshots_;
    }

private:
    std::mutex mutex_;
    fakes::policy::Evaluator evaluator_;
    ConditionalInputRules input_rules_;  // those that the evaluator cannot apply by itself, and their neighbours
    std::deque<std::string> snapshots_;
};

class SafetyService final : public cap::SafetyKernel::CallbackService {
public:
    explicit SafetyService(Judge& judge) : judge_(judge) {}

private:
    using Context = grpc::CallbackServerContext;
    grpc::ServerUnaryReactor* answer(Context* context, const cap::PolicyCheckRequest* request,
                                     cap::PolicyCheckResponse* response) {
        *response = judge_.check(*request);
        auto* reactor = context->DefaultReactor();
        reactor->Finish(grpc::Status::OK);
        return reactor;
    }
    grpc::ServerUnaryReactor* Check(Context* c, const cap::PolicyCheckRequest* q,
                                    cap::PolicyCheckResponse* a) override {
        return answer(c, q, a);
    }
    grpc::ServerUnaryReactor* Evaluate(Context* c, const cap::PolicyCheckRequest* q,
                                       cap::PolicyCheckResponse* a) override {
        return answer(c, q, a);
    }
    grpc::ServerUnaryReactor* Explain(Context* c, const cap::PolicyCheckRequest* q,
                                      cap::PolicyCheckResponse* a) override {
        return answer(c, q, a);
    }
    grpc::ServerUnaryReactor* Simulate(Context* c, const cap::PolicyCheckRequest* q,
                                       cap::PolicyCheckResponse* a) override {
        return answer(c, q, a);
    }
    grpc::ServerUnaryReactor* ListSnapshots(Context* context, const cap::ListSnapshotsRequest*,
                                            cap::ListSnapshotsResponse* response) override {
        for (auto& snapshot : judge_.snapshots()) response->add_snapshots(snapshot);
        auto* reactor = context->DefaultReactor();
        reactor->Finish(grpc::Status::OK);
        return reactor;
    }

    Judge& judge_;
};

class OutputService final : public cap_output::OutputPolicyService::CallbackService {
public:
    explicit OutputService(Judge& judge) : judge_(judge) {}

private:
    grpc::ServerUnaryReactor* CheckOutput(grpc::CallbackServerContext* context,
                                          const cap_output::OutputCheckRequest* request,
                                          cap_output::OutputCheckResponse* response) override {
        *response = judge_.check_output(*request);
        auto* reactor = context->DefaultReactor();
        reactor->Finish(grpc::Status::OK);
        return reactor;
    }

    Judge& judge_;
};

}  // namespace

namespace {

std::shared_ptr<grpc::ServerCredentials> credentials_of(const std::optional<KernelCertificates>& certificates) {
    if (!certificates) return grpc::InsecureServerCredentials();
    grpc::experimental::TlsServerCredentialsOptions options(
        std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
            certificates->key_file, certificates->certificate_file, certificates->client_ca_file,
            static_cast<unsigned>(certificates->reread.count())));
    options.watch_identity_key_cert_pairs();
    if (!certificates->client_ca_file.empty()) {
        options.watch_root_certs();
        options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    }
    return grpc::experimental::TlsServerCredentials(options);
}

}  // namespace

class KernelServer::Services {
public:
    Services(const std::string& address, LoadedPolicy policy, const std::optional<KernelCertificates>& certificates)
        : judge(std::move(policy)) {
        grpc::EnableDefaultHealthCheckService(true);
        grpc::ServerBuilder builder;
        builder.AddListeningPort(address, credentials_of(certificates), &port);
        builder.AddChannelArgument(GRPC_ARG_MINIMAL_STACK, 1);
        builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
        builder.AddChannelArgument(GRPC_ARG_OPTIMIZATION_TARGET, "throughput");
        builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
        builder.RegisterService(&safety);
        builder.RegisterService(&output);
        server = builder.BuildAndStart();
        if (!server || port == 0) throw std::runtime_error(fmt::format("cannot listen on {}", address));
    }

    Judge judge;
    SafetyService safety{judge};
    OutputService output{judge};
    int port = 0;
    std::unique_ptr<grpc::Server> server;
};

KernelServer::KernelServer(const std::string& address, LoadedPolicy policy,
                           const std::optional<KernelCertificates>& certificates)
    : services_(std::make_unique<Services>(address, std::move(policy), certificates)) {}

KernelServer::~KernelServer() { stop(); }

int KernelServer::port() const { return services_->port; }

void KernelServer::replace(LoadedPolicy policy) { services_->judge.replace(std::move(policy)); }

void KernelServer::stop() { services_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1)); }

}  // namespace lockstep::prod
