// lockstep-kernel: the reference safety kernel.
#include <fmt/core.h>
#include <google/protobuf/stubs/logging.h>
#include <signal.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "engine/config/tunables.h"
#include "engine/runtime/scope.h"
#include "prod/kernel/policy_file.h"
#include "prod/loop/signals.h"
#include "prod/loop/system_clock.h"
#include "prod/tls/tls_channel.h"
#include "prod/version/build.h"
#include "reports/usage/command.h"
#include "reports/usage/standard_streams.h"

namespace lockstep::prod {
namespace {

/// Memory for as much is taken when the file is read.
constexpr std::uint64_t kPolicyBytesMax = 256U << 20U;

struct Arguments {
    std::string policy = "config/safety.yaml";
    std::string listen = "127.0.0.1:50051";
    std::string reload = "30s";
    std::size_t max_bytes = 2U << 20U;
    KernelCertificates tls;
};

/// Empty: they can be used, or there are none.
std::string mistake_in(const KernelCertificates& tls) {
    if (tls.certificate_file.empty() && tls.client_ca_file.empty() && tls.key_file.empty()) return {};
    if (tls.certificate_file.empty() || tls.key_file.empty())
        return "--tls-cert and --tls-key belong together, and --tls-client-ca needs both";
    return mistake_in(
        TlsOptions{.ca_file = tls.client_ca_file, .certificate_file = tls.certificate_file, .key_file = tls.key_file});
}

/// Looks at the file again; a mistake in it leaves the policy in force as it is.
void reload(KernelServer& server, const Arguments& arguments, std::string& in_force) {
    auto policy = load_policy(arguments.policy, arguments.max_bytes);
    if (!policy) {
        fmt::print(stderr, "policy not reloaded:\n{}\n", policy.error());
        return;
    }
    if (policy->snapshot == in_force) return;
    in_force = policy->snapshot;
    fmt::print(stderr, "policy reloaded: {}\n", in_force);
    server.replace(std::move(*policy));
}

engine::Task<void> reload_regularly(const engine::Clock& clock, engine::Duration interval, KernelServer& server,
                                    const Arguments& arguments, std::string& in_force) {
    while (true) {
        co_await clock.sleep(interval);
        reload(server, arguments, in_force);
    }
}

int serve(const Arguments& arguments) {
    const auto interval = engine::parse_duration(arguments.reload);
    if (!interval) {
        fmt::print(stderr, "lockstep-kernel: --reload: {}\n", interval.error());
        return 2;
    }
    auto policy = load_policy(arguments.policy, arguments.max_bytes);
    if (!policy) {
        fmt::print(stderr, "lockstep-kernel: {}\n", policy.error());
        return 2;
    }
    std::string in_force = policy->snapshot;
    if (const std::string why = mistake_in(arguments.tls); !why.empty()) {
        fmt::print(stderr, "lockstep-kernel: {}\n", why);
        return 2;
    }
    const bool tls = !arguments.tls.certificate_file.empty();
    leave_no_zombies();
    try {
        KernelServer server(arguments.listen, std::move(*policy), tls ? std::optional(arguments.tls) : std::nullopt);
        UvLoop loop;
        const SystemClock clock;
        engine::Scope scope(loop);
        if (interval->count() > 0) scope.spawn(reload_regularly(clock, *interval, server, arguments, in_force));
        const SignalWatch again(loop, {SIGHUP}, [&](int) { reload(server, arguments, in_force); });
        const SignalWatch end(loop, {SIGTERM, SIGINT}, [&](int) { loop.stop(); });
        // Whoever waits for this line may send a signal at once.
        fmt::print(stderr, "serving policy {} on port {}{}\n", in_force, server.port(), tls ? " with TLS" : "");
        loop.run();
        return 0;
    } catch (const std::runtime_error& error) {
        fmt::print(stderr, "lockstep-kernel: {}; is another process using the address? Choose one with --listen\n",
                   error.what());
        return 1;
    }
}

}  // namespace
}  // namespace lockstep::prod

namespace {

int program(int argc, char** argv) {
    // A corrupt packet is an event of ours to report; protobuf would print its own line about each.
    google::protobuf::SetLogHandler(nullptr);
    lockstep::prod::Arguments arguments;
    const lockstep::usage::Program app(
        "Decides by a safety policy file: gRPC services SafetyKernel, OutputPolicyService and health.\n"
        "Reads the file again on SIGHUP and regularly; a file with mistakes leaves the old policy in force.",
        "lockstep-kernel");
    lockstep::prod::add_version_flag(app);
    app.option("--policy", &arguments.policy, "policy file").bytes().environment("SAFETY_POLICY_PATH").show_default();
    app.option("--listen", &arguments.listen, "host:port to serve on; port 0 takes a free one").show_default();
    app.option("--reload", &arguments.reload, "pause between two looks at the file; 0 for none")
        .environment("SAFETY_POLICY_RELOAD_INTERVAL")
        .show_default();
    app.option("--max-bytes", &arguments.max_bytes, "largest policy file")
        .unsigned_range(1, lockstep::prod::kPolicyBytesMax)
        .environment("SAFETY_POLICY_MAX_BYTES")
        .show_default();
    app.option("--tls-cert", &arguments.tls.certificate_file, "PEM file of its certificate and chain; serves TLS then")
        .bytes();
    app.option("--tls-key", &arguments.tls.key_file, "PEM file of the certificate's key").bytes();
    app.option("--tls-client-ca", &arguments.tls.client_ca_file,
               "PEM file of the authority whose certificates callers must show; without one anybody may call")
        .bytes();
    if (const auto ended = app.parse(argc, argv)) return *ended == 0 ? 0 : 2;
    return lockstep::prod::serve(arguments);
}

}  // namespace

int main(int argc, char** argv) { return lockstep::usage::run_program("lockstep-kernel", argc, argv, program); }
