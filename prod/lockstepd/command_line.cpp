#include "prod/lockstepd/command_line.h"

#include "prod/config/variables.h"
#include "prod/lockstepd/daemon.h"
#include "prod/version/build.h"

namespace lockstep::prod {

CommandLine::CommandLine()
    : app_(
          "One replica of the Lockstep scheduler, or with --role of the workflow engine. It is configured by "
          "environment\n"
          "variables (REDIS_URL, NATS_URL, SAFETY_KERNEL_ADDR, POOL_CONFIG_PATH, ... and LOCKSTEP_<TUNABLE>) and runs "
          "until\n"
          "SIGTERM or SIGINT; a second one ends it at once. SIGUSR1 has the log say what runs.\n"
          "SIGHUP reads the pools and timeouts files again; with a mistake in them those read before stay in force.",
          "lockstepd") {
    const usage::Program& app = app_;
    app.fallthrough();
    app.explain_refusals();
    add_version_flag(app);
    app.flag("--check", &check_only_, "read the configuration, report every mistake, and end");
    app.option("--role", &role_,
               "scheduler (the default), workflow, or scheduler,workflow for both in one process (environment: "
               "LOCKSTEP_ROLE)");
    const auto config = app.subcommand("config", "Settings: what is in force, and what there is");
    config.require_subcommand();
    const auto print =
        config.subcommand("print", "Each setting with its value and where that comes from; secrets are masked");
    print.flag("--json", &as_json_, "one JSON document");
    print.footer(
        "  lockstepd config print\n  lockstepd config print --json\n"
        "Sources: default, environment, file (of a secret, a credential or the timeouts file), command line. What "
        "differs from\n"
        "the defaults comes first. Exit codes: 0 printed, 2 the configuration is not usable.");
    config.subcommand("reference", "The page about every setting, in Markdown").on_parsed([this] {
        task_ = Task::print_reference;
    });
    const auto probe =
        app.subcommand("healthcheck", "Ask the lockstepd with this environment whether it lives; exit code 0 or 1");
    probe.flag("--ready", &ask_readiness_, "ask instead whether it takes jobs");
    probe.footer(
        "For a container's probe:  HEALTHCHECK CMD [\"lockstepd\", \"healthcheck\"]\n"
        "It asks /livez, or with --ready /readyz, at SCHEDULER_METRICS_ADDR; at WORKFLOW_ENGINE_HTTP_ADDR where the "
        "role is\n"
        "workflow alone. Exit codes: 0 yes, 1 no (the reason is printed), 2 the configuration is not usable.");
    print.on_parsed([this] { task_ = Task::print_settings; });
    probe.on_parsed([this] { task_ = Task::ask_health; });
    const auto completion = app.subcommand("completion", "Print a completion script for a shell");
    completion.option("shell", &shell_, "bash, zsh or fish").required().one_of({"bash", "zsh", "fish"});
    completion.footer("Example: source <(lockstepd completion bash)");
    completion.on_parsed([this] { task_ = Task::print_completion; });
    const auto manual = app.subcommand("man", "Print the manual page, for man -l");
    manual.footer("Example: lockstepd man | man -l -");
    manual.on_parsed([this] { task_ = Task::print_manual; });
    app.footer(
        "Variables, each explained by `lockstepd config reference`, and LOCKSTEP_<TUNABLE> for every tunable:\n" +
        variables_by_section(100) +
        "\nThe log goes to standard error. Of the warnings and errors of one kind (level and message) the first 5 of "
        "10\n"
        "seconds are written, of other lines 50 a second; a line with left_out=N tells how many more there were.\n"
        "Of a text the first 4096 bytes are written. Who reads the log too slowly loses lines, and stops nothing: `log "
        "lines\n"
        "lost` says how many, as does lockstep_log_lines_lost_total.\n"
        "SIGUSR2 has the log tell everything, and the next one what CORDUM_LOG_LEVEL says.\n"
        "Variables that begin like known ones (NATS_, REDIS_, CORDUM_, LOCKSTEP_, ...) and are not read are warned "
        "of;\n"
        "values without sense, and settings that this program does not support, are refused.\n"
        "SCHEDULER_METRICS_ADDR serves /metrics, /livez (this process answers and its event loop turns; also\n"
        "/healthz), /readyz (503 with the reason\n"
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
}

tl::expected<void, int> CommandLine::parse(int argc, const char* const* argv) {
    if (const auto ended = app_.parse(argc, argv))
        return tl::make_unexpected(*ended == 0 ? Daemon::kExitOk : Daemon::kExitConfiguration);
    if (check_only_ && task_ == Task::serve) task_ = Task::check;
    return {};
}

}  // namespace lockstep::prod
