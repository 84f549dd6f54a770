// lockstepd: one replica of the scheduler, of the workflow engine, or of both.
#include <fmt/core.h>
#include <google/protobuf/stubs/logging.h>
#include <sys/resource.h>

#include <cstdio>
#include <string>
#include <vector>

#include "prod/config/effective_settings.h"
#include "prod/config/variables.h"
#include "prod/lockstepd/command_line.h"
#include "prod/lockstepd/daemon.h"
#include "prod/lockstepd/health_check.h"
#include "prod/loop/signals.h"
#include "prod/tls/openssl_exit.h"
#include "prod/version/build.h"
#include "reports/usage/completion.h"
#include "reports/usage/manual.h"
#include "reports/usage/standard_streams.h"

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

namespace {

int program(int argc, char** argv) {
    lockstep::prod::keep_openssl_until_the_end();
    // A corrupt packet is an event of ours to report; protobuf would print its own line about each.
    google::protobuf::SetLogHandler(nullptr);
    lockstep::prod::CommandLine line;
    if (const auto parsed = line.parse(argc, argv); !parsed) return parsed.error();
    using Task = lockstep::prod::CommandLine::Task;
    switch (line.task()) {
        case Task::print_reference: fmt::print("{}", lockstep::prod::reference_page()); return Daemon::kExitOk;
        case Task::print_completion:
            fmt::print("{}",
                       lockstep::usage::completion_script(line.app(), *lockstep::usage::shell_called(line.shell())));
            return Daemon::kExitOk;
        case Task::print_manual:
            fmt::print("{}", lockstep::usage::manual_page(line.app(), LOCKSTEP_VERSION));
            return Daemon::kExitOk;
        default: break;
    }
    const auto environment = lockstep::prod::Environment::of_process();
    const auto roles = roles_of(environment, line.role());
    if (!roles) return fail(roles.error(), {});
    auto settings = lockstep::prod::read_settings(environment, *roles);
    if (!settings) return fail(settings.error(), {});
    if (line.task() == Task::ask_health) return probe_daemon(*settings, line.ask_readiness());
    auto files = lockstep::prod::read_files(*settings);
    if (!files) return fail(files.error(), settings->warnings);
    if (line.task() == Task::print_settings) {
        const auto& in_force = settings->roles.scheduler ? files->jobs.tunables : settings->tunables;
        const auto all = lockstep::prod::effective_settings(environment, {*settings, in_force, !line.role().empty()});
        fmt::print("{}", line.as_json() ? lockstep::prod::as_json(all) : lockstep::prod::as_text(all));
        return Daemon::kExitOk;
    }
    if (line.task() == Task::check) {
        for (const auto& warning : settings->warnings) fmt::print("warning: {}\n", warning);
        for (const auto& warning : files->jobs.warnings) fmt::print("warning: {}\n", warning);
        fmt::print("the configuration is sound\n");
        return Daemon::kExitOk;
    }
    raise_descriptor_limit();
    lockstep::prod::leave_no_zombies();
    Daemon daemon(std::move(*settings), std::move(*files), lockstep::prod::build_name());
    return daemon.run();
}

}  // namespace

int main(int argc, char** argv) { return lockstep::usage::run_program("lockstepd", argc, argv, program); }
