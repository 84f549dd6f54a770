#include "prod/ctl/kernel_check.h"

#include <fmt/core.h>
#include <grpcpp/support/status_code_enum.h>

#include "prod/ctl/text.h"

namespace lockstep::prod {

namespace {

using engine::RpcFailure;

bool not_served(const RpcFailure& failure) { return failure.code == grpc::StatusCode::UNIMPLEMENTED; }

std::string told_by(const RpcFailure& failure) {
    return failure.message.empty() ? fmt::format("gRPC status {}", failure.code)
                                   : fmt::format("{} (gRPC status {})", printable(failure.message), failure.code);
}

std::string how_to_be_let_in(const KernelSettings& kernel) {
    if (!kernel.tls)
        return "start it, or set SAFETY_KERNEL_ADDR; one that speaks TLS is called so where SAFETY_KERNEL_TLS_CA names "
               "its "
               "authority";
    return fmt::format(
        "start it, or set SAFETY_KERNEL_ADDR; its certificate has to be of an authority in {} and for the name that is "
        "called (SAFETY_KERNEL_TLS_SERVER_NAME, else that of the address){}",
        kernel.tls->ca_file,
        kernel.tls->certificate_file.empty()
            ? "; one that asks who calls needs SAFETY_KERNEL_TLS_CERT and SAFETY_KERNEL_TLS_KEY"
            : fmt::format(", and it has to trust the authority of {}", kernel.tls->certificate_file));
}

std::string mend_of(const RpcFailure& failure, const KernelSettings& kernel) {
    if (failure.code == grpc::StatusCode::UNAVAILABLE) return how_to_be_let_in(kernel);
    if (failure.code == grpc::StatusCode::DEADLINE_EXCEEDED)
        return "something is there and keeps silent: look at the kernel's log, and whether SAFETY_KERNEL_ADDR is its "
               "address";
    return "look at the kernel's log, and whether SAFETY_KERNEL_ADDR is its address";
}

Finding health_of(const KernelFacts& facts) {
    const char* check = "kernel.health";
    if (!facts.serving && not_served(facts.serving.error()))
        return {check, Health::unknown, "it has no health service (grpc.health.v1.Health)",
                "probes of a platform cannot ask such a kernel; have them look at its port alone"};
    if (!facts.serving) return {check, Health::wrong, told_by(facts.serving.error()), "look at the kernel's log"};
    if (!*facts.serving) return {check, Health::wrong, "it says that it does not serve", "look at the kernel's log"};
    return {check, Health::well, "it says that it serves", {}};
}

Finding policy_of(const KernelFacts& facts) {
    const char* check = "kernel.policy";
    if (!facts.policies && not_served(facts.policies.error()))
        return {check, Health::unknown, "it does not tell the policy in force (SafetyKernel/ListSnapshots)",
                "compare its policy by hand where replicas of it may differ"};
    if (!facts.policies) return {check, Health::wrong, told_by(facts.policies.error()), "look at the kernel's log"};
    if (facts.policies->empty())
        return {check, Health::warn, "it has no policy in force", "give it one, as its manual says"};
    return {check, Health::well, "policy " + printable(facts.policies->front()), {}};
}

}  // namespace

Findings check_kernel(const KernelFacts& facts, const KernelSettings& settings) {
    if (!facts.serving && !facts.policies) {
        const bool another = not_served(facts.serving.error()) && not_served(facts.policies.error());
        const RpcFailure& failure = facts.policies.error();
        return {{"kernel.reachable", Health::wrong,
                 another
                     ? fmt::format("what answers at {} is no safety kernel: it serves neither its calls nor health",
                                   settings.address)
                     : fmt::format("the safety kernel at {} cannot be asked: {}", settings.address, told_by(failure)),
                 another ? "set SAFETY_KERNEL_ADDR to the kernel's" : mend_of(failure, settings)}};
    }
    return {{"kernel.reachable", Health::well, settings.tls ? "it answers, by TLS" : "it answers", {}},
            health_of(facts),
            policy_of(facts)};
}

}  // namespace lockstep::prod
