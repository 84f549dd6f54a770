// lockstepd: one replica of the scheduler, of the workflow engine, or of both.
#include <fmt/core.h>
#include <google/protobuf/stubs/logging.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "prod/config/effective_settings.h"
#include "prod/config/variables.h"
#include "prod/lockstepd/daemon.h"
#include "prod/lockstepd/health_check.h"
#include "prod/tls/openssl_exit.h"

namespace {

using lockstep::prod::Daemon;

/// A worker fleet, Redis, NATS and gRPC take few descriptors, but the usual soft limit of 1024 is not ours to run into.
void raise_descriptor_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/// A warning may well name the cause: a variable that is misspelt leaves another one unset.
int fail(const std::string& why, const std::vector<std::string>& warnings) {
    fmt::print(stderr, "lockstepd: the configuration is not usable:\n{}\n", why);
    for (const auto& warning : warnings) fmt::print(stderr, "warning: {}\n", warning);
    return Daemon::kExitConfiguration;
}

/// The command line comes before the environment.
tl::expected<lockstep::prod::Roles, std::string> roles_of(const lockstep::prod::Environment& environment,
                                                          const std::string& option) {
    const char* source = option.empty() ? "LOCKSTEP_ROLE" : "--role";
    const std::string text = option.empty() ? environment.get_or("LOCKSTEP_ROLE", "scheduler") : option;
    auto roles = lockstep::prod::parse_roles(text);
    if (!roles) return tl::make_unexpected(fmt::format("{}: {}", source, roles.error()));
    return roles;
}

int probe_daemon(const lockstep::prod::Settings& settings, bool ask_readiness) {
    using lockstep::prod::HealthQuestion;
    const auto check = check_health(settings, ask_readiness ? HealthQuestion::is_ready : HealthQuestion::lives);
    fmt::print(check.passed ? stdout : stderr, "{}\n", check.said);
    return check.passed ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    lockstep::prod::keep_openssl_until_the_end();
    // A corrupt packet is an event of ours to report; protobuf would print its own line about each.
    google::protobuf::SetLogHandler(nullptr);
    bool check_only = false;
    bool ask_readiness = false;
    bool as_json = false;
    std::string role;
    CLI::App app(
        "One replica of the Lockstep scheduler, or with --role of the workflow engine. It is configured by "
        "environment\n"
        "variables (REDIS_URL, NATS_URL, SAFETY_KERNEL_ADDR, POOL_CONFIG_PATH, ... and LOCKSTEP_<TUNABLE>) and runs "
        "until\n"
        "SIGTERM or SIGINT; a second one ends it at once. SIGUSR1 has the log say what runs.\n"
        "SIGHUP reads the pools and timeouts files again; with a mistake in them those read before stay in force.");
    app.name("lockstepd");
    app.fallthrough();
    app.set_version_flag("--version", LOCKSTEP_VERSION);
    app.add_flag("--check", check_only, "read the configuration, report every mistake, and end");
    app.add_option("--role", role,
                   "scheduler (the default), workflow, or scheduler,workflow for both in one process (environment: "
                   "LOCKSTEP_ROLE)");
    auto* config = app.add_subcommand("config", "Settings: what is in force, and what there is");
    config->require_subcommand(1);
    auto* print =
        config->add_subcommand("print", "Each setting with its value and where that comes from; secrets are masked");
    print->add_flag("--json", as_json, "one JSON document");
    print->footer(
        "  lockstepd config print\n  lockstepd config print --json\n"
        "Sources: default, environment, file (of a secret, a credential or the timeouts file), command line. What "
        "differs from\n"
        "the defaults comes first. Exit codes: 0 printed, 2 the configuration is not usable.");
    auto* reference = config->add_subcommand("reference", "The page about every setting, in Markdown");
    auto* probe =
        app.add_subcommand("healthcheck", "Ask the lockstepd with this environment whether it lives; exit code 0 or 1");
    probe->add_flag("--ready", ask_readiness, "ask instead whether it takes jobs");
    probe->footer(
        "For a container's probe:  HEALTHCHECK CMD [\"lockstepd\", \"healthcheck\"]\n"
        "It asks /livez, or with --ready /readyz, at SCHEDULER_METRICS_ADDR; at WORKFLOW_ENGINE_HTTP_ADDR where the "
        "role is\n"
        "workflow alone. Exit codes: 0 yes, 1 no (the reason is printed), 2 the configuration is not usable.");
    app.footer(
        "Variables, each explained by `lockstepd config reference`, and LOCKSTEP_<TUNABLE> for every tunable:\n" +
        lockstep::prod::variables_by_section(100) +
        "\nThe log goes to standard error. Of the warnings and errors of one kind (level and message) the first 5 of "
        "10\n"
        "seconds are written, of other lines 50 a second; a line with left_out=N tells how many more there were.\n"
        "SIGUSR2 has the log tell everything, and the next one what CORDUM_LOG_LEVEL says.\n"
        "Variables that begin like known ones (NATS_, REDIS_, CORDUM_, LOCKSTEP_, ...) and are not read are warned "
        "of;\n"
        "values without sense, and settings that this program does not support, are refused.\n"
        "SCHEDULER_METRICS_ADDR serves /metrics, /livez (this process answers; also /healthz), /readyz (503 with the "
        "reason\n"
        "before it takes jobs, while it drains and while a server is away for longer than LOCKSTEP_READINESS_GRACE;\n"
        "?verbose lists the checks) and /health (how Redis and NATS are now; the body says whether it is ready).\n"
        "The workflow engine runs what `lockstepctl workflow` starts, needs no kernel and no files, and answers "
        "/health "
        "with\n"
        "`ok` on WORKFLOW_ENGINE_HTTP_ADDR (:9093), beside /metrics and /readyz. While an engine of another "
        "implementation\n"
        "is registered in Redis it does not start, unless LOCKSTEP_WORKFLOW_BESIDE_OTHERS=true: each would lack the "
        "results\n"
        "that the other takes.\n"
        "At start it waits 30 s for each server, and 10 m for a Redis that is loading its data. Later, while Redis is\n"
        "away, calls to it wait for a new connection up to their deadlines (LOCKSTEP_STORE_OP_TIMEOUT).\n\n"
        "Exit codes: 0 stopped or checked, 1 a server cannot be reached at start or NATS refuses the credentials for "
        "good,\n"
        "2 the configuration is not usable, a listener's address is taken, Redis may evict keys or another\n"
        "implementation's workflow engine is there,\n"
        "3 stopped, but what was in hand after LOCKSTEP_SHUTDOWN_GRACE was given up and is delivered again,\n"
        "128+N ended at once by a second signal N.");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : Daemon::kExitConfiguration;
    }

    if (reference->parsed()) {
        fmt::print("{}", lockstep::prod::reference_page());
        return Daemon::kExitOk;
    }
    const auto environment = lockstep::prod::Environment::of_process();
    const auto roles = roles_of(environment, role);
    if (!roles) return fail(roles.error(), {});
    auto settings = lockstep::prod::read_settings(environment, *roles);
    if (!settings) return fail(settings.error(), {});
    if (probe->parsed()) return probe_daemon(*settings, ask_readiness);
    auto files = lockstep::prod::read_files(*settings);
    if (!files) return fail(files.error(), settings->warnings);
    if (print->parsed()) {
        const auto& in_force = settings->roles.scheduler ? files->jobs.tunables : settings->tunables;
        const auto all = lockstep::prod::effective_settings(environment, {*settings, in_force, !role.empty()});
        fmt::print("{}", as_json ? lockstep::prod::as_json(all) : lockstep::prod::as_text(all));
        return Daemon::kExitOk;
    }
    if (check_only) {
        for (const auto& warning : settings->warnings) fmt::print("warning: {}\n", warning);
        for (const auto& warning : files->jobs.warnings) fmt::print("warning: {}\n", warning);
        fmt::print("the configuration is sound\n");
        return Daemon::kExitOk;
    }
    raise_descriptor_limit();
    Daemon daemon(std::move(*settings), std::move(*files), LOCKSTEP_VERSION);
    return daemon.run();
}
