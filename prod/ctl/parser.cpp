#include "prod/ctl/parser.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "prod/ctl/approval.h"
#include "prod/ctl/consumers.h"
#include "prod/ctl/dead_letters.h"
#include "prod/ctl/doctor.h"
#include "prod/ctl/document.h"
#include "prod/ctl/guards.h"
#include "prod/ctl/jobs.h"
#include "prod/ctl/pools.h"
#include "prod/ctl/reason_codes.h"
#include "prod/ctl/submit.h"
#include "prod/ctl/top.h"
#include "prod/ctl/why.h"
#include "prod/ctl/workers.h"
#include "prod/ctl/workflow_commands.h"
#include "prod/version/build.h"
#include "reports/usage/completion.h"
#include "reports/usage/manual.h"

namespace lockstep::prod {

/// What the command line says, as text; the callbacks turn it into options.
struct Parser::Arguments {
    bool json = false;
    bool undecodable = false;
    SubmitOptions submit;
    std::string payload_file;
    std::string budget;
    std::vector<std::string> labels;
    std::vector<std::string> env;
    StatusOptions status;
    std::string wait;
    std::string job;
    std::string reason;
    ApprovalOptions approval;
    std::string state;
    std::int64_t limit = 100;
    std::int64_t offset = 0;
    ConsumersOptions consumers;
    AdoptOptions adopt;
    PoolOptions pool;
    TopOptions top;
    std::string pause;
    std::string ack_wait;
    QueueOptions queue;
    DoctorOptions doctor;
    LetterFilter letters;
    std::string older_than;
    std::string newer_than;
    std::string after;
    BulkOptions bulk;
    bool every_letter = false;
    std::string shell;
    WorkflowArguments workflow;
};

namespace {

using Arguments = Parser::Arguments;

/// Entries of a list that is shown or gone through.
constexpr std::int64_t kListMax = 1'000'000'000;

std::map<std::string, std::string> pairs(const char* option, const std::vector<std::string>& list) {
    std::map<std::string, std::string> out;
    for (const std::string& one : list) {
        const auto equals = one.find('=');
        if (equals == std::string::npos || equals == 0)
            refuse(fmt::format("{}: expected key=value, got \"{}\"", option, one));
        std::string key = one.substr(0, equals);
        if (const std::string mistake = usage::identifier_mistake(key); !mistake.empty())
            refuse(fmt::format("{}: {} before the =", option, mistake));
        out[key] = one.substr(equals + 1);
    }
    return out;
}

usage::Command job_command(const usage::Command& app, Arguments& a, const char* name, const char* help) {
    const auto command = app.subcommand(name, help);
    command.option("job", &a.job, "job id").identifier().required();
    return command;
}

void add_submit(const usage::Command& app, Arguments& a, Chosen& chosen) {
    SubmitOptions& o = a.submit;
    const auto c = app.subcommand("submit", "Submit a job, or many of a kind, as a gateway does");
    c.option("--topic", &o.topic, "what kind of job").identifier().show_default();
    c.option("--id", &o.id, "job id (with --count a prefix), not of the form RUN:STEP@ATTEMPT; made up when missing")
        .identifier();
    c.option("--tenant", &o.tenant, "tenant").identifier().show_default();
    const auto payload = c.option("--payload", &o.payload, "input of the job").bytes().show_default();
    c.option("--payload-file", &a.payload_file, "file with the input, any bytes; - for standard input")
        .bytes()
        .excludes(payload);
    c.option("--label", &a.labels, "label key=value (repeatable)");
    c.option("--env", &a.env, "environment entry key=value (repeatable)");
    c.option("--requires", &o.required, "capability that the pool must offer (repeatable)").identifier();
    c.option("--risk-tag", &o.risk_tags, "risk tag for the policy (repeatable)").identifier();
    c.option("--capability", &o.capability, "capability of the job, for the policy").identifier();
    c.option("--principal", &o.principal, "who submits").identifier();
    c.option("--workflow", &o.workflow, "workflow that the job is a step of").identifier();
    c.option("--compensation", &o.compensation, "job that undoes this one, as JSON such as '{\"topic\":\"job.undo\"}'");
    c.option("--priority", &o.priority, "1 interactive, 2 batch, 3 critical").range(0, 3).show_default();
    c.option("--deadline", &a.budget, "time for the whole job, such as 30s");
    c.option("--trace", &o.trace, "trace id; made up when missing").identifier();
    const auto key = c.option("--idempotency-key", &o.idempotency_key, "submit once per tenant and key").identifier();
    const auto count =
        c.option("--count", &o.count, "how many; says how many are stored, and for how many that is unknown")
            .range(1, 100'000'000)
            .show_default();
    c.option("--rate", &o.rate, "how many per second; 0 for as fast as it goes").real_range(0, 1e6);
    c.flag("--publish-only", &o.publish_only, "leave the job's keys to the scheduler");
    c.flag("--wait", &o.wait, "wait for the end of the job and show it").excludes(count);
    c.option("--wait-for", &a.wait, "how long --wait waits (default 10m)");
    key.excludes(count);
    c.on_parsed([&a, &chosen] {
        if (!a.payload_file.empty()) a.submit.payload = text_from(a.payload_file);
        a.submit.labels = pairs("--label", a.labels);
        a.submit.env = pairs("--env", a.env);
        a.submit.budget = span("--deadline", a.budget, {});
        a.submit.wait_limit = span("--wait-for", a.wait, a.submit.wait_limit);
        if (const std::string mistake = mistake_in(a.submit); !mistake.empty()) refuse(mistake);
        chosen = {[&a](Session& s) { return submit(s, a.submit); }, true};
    });
}

void add_job_commands(const usage::Command& app, Arguments& a, Chosen& chosen) {
    const auto status = app.subcommand("status", "Show jobs: state, worker, decision, history");
    status.option("job", &a.status.jobs, "job ids").identifier().required();
    status.flag("--wait", &a.status.wait, "wait until they have ended; exit code 4 unless all succeeded");
    status.option("--wait-for", &a.wait, "how long --wait waits (default 10m)");
    status.on_parsed([&a, &chosen] {
        a.status.wait_limit = span("--wait-for", a.wait, a.status.wait_limit);
        chosen = {[&a](Session& s) { return show_status(s, a.status); }, false};
    });

    const auto result = job_command(app, a, "result", "Print the output of a job");
    result.on_parsed([&a, &chosen] { chosen = {[&a](Session& s) { return show_result(s, a.job); }, false}; });

    const auto list = app.subcommand("list", "Count jobs by state, or list those of one state");
    list.option("--state", &a.state, "state, such as RUNNING");
    list.option("--limit", &a.limit, "at most so many").range(1, kListMax).show_default();
    list.on_parsed(
        [&a, &chosen] { chosen = {[&a](Session& s) { return list_jobs(s, a.state, a.limit, a.json); }, false}; });

    const auto cancel = job_command(app, a, "cancel", "Cancel a job that has not ended");
    cancel.option("--reason", &a.reason, "why");
    cancel.on_parsed(
        [&a, &chosen] { chosen = {[&a](Session& s) { return cancel_job(s, a.job, a.reason, a.json); }, true}; });

    const auto workers = app.subcommand("workers", "Show the workers that the scheduler knows");
    workers.on_parsed([&a, &chosen] { chosen = {[&a](Session& s) { return list_workers(s, a.json); }, false}; });
}

void add_approval(const usage::Command& app, Arguments& a, Chosen& chosen, bool approve) {
    const auto c =
        job_command(app, a, approve ? "approve" : "reject",
                    approve ? "Let a job run that waits for approval" : "Refuse a job that waits for approval");
    if (approve)
        c.footer(
            "What was approved runs: the request as it is stored, and its input in Redis, by the SHA-256 of its first\n"
            "2 MiB and its length. Where either is another one when the job is to be sent, the question is asked "
            "again.\n"
            "Not covered is an input that lies elsewhere, and one that is exchanged between that comparison and the\n"
            "worker's reading, or, where a gateway asked the question, before a scheduler has read it.");
    c.option("--by", &a.approval.by, "who decides (default: the user's name)");
    c.option("--reason", &a.approval.reason, "why");
    c.option("--note", &a.approval.note, "more about it");
    c.on_parsed([&a, &chosen, approve] {
        a.approval.job = a.job;
        a.approval.approve = approve;
        a.approval.json = a.json;
        if (a.approval.by.empty()) a.approval.by = user_name();
        chosen = {[&a](Session& s) { return decide_approval(s, a.approval); }, true};
    });
}

void add_letter_filter(const usage::Command& command, Arguments& a) {
    command.option("--topic", &a.letters.topic, "only of jobs of this topic");
    command.option("--tenant", &a.letters.tenant, "only of this tenant's jobs");
    command.option("--reason", &a.letters.reason, "only with this reason code, such as timeout");
    command.option("--older-than", &a.older_than, "only older ones, such as 24h");
    command.option("--newer-than", &a.newer_than, "only newer ones, such as 1h");
}

LetterFilter letter_filter(const Arguments& a) {
    LetterFilter filter = a.letters;
    if (!a.older_than.empty()) filter.older_than = span("--older-than", a.older_than, {});
    if (!a.newer_than.empty()) filter.newer_than = span("--newer-than", a.newer_than, {});
    return filter;
}

/// `what` is said where neither a job nor anything that says which is named.
BulkOptions bulk_options(const Arguments& a, BulkAction action, const char* what) {
    BulkOptions options = a.bulk;
    options.action = action;
    options.filter = letter_filter(a);
    options.json = a.json;
    options.undecodable = action == BulkAction::purge && a.undecodable;
    if (!options.filter.narrows() && !a.every_letter)
        refuse(
            fmt::format("dlq {}: say which: --topic, --tenant, --reason, --older-than, --newer-than, or --all", what));
    return options;
}

void add_bulk(const usage::Command& command, Arguments& a) {
    add_letter_filter(command, a);
    command.flag("--all", &a.every_letter, "every letter, where nothing else says which");
    command.option("--limit", &a.bulk.limit, "at most so many of them, the newest first")
        .range(1, kListMax)
        .show_default();
    command.flag("--dry-run", &a.bulk.dry_run, "only say which it would be");
}

void add_dead_letters(const usage::Command& app, Arguments& a, Chosen& chosen) {
    const auto dlq = app.subcommand("dlq", "Dead letters: jobs that ended badly");
    dlq.require_subcommand();
    const auto list = dlq.subcommand("list", "The newest first");
    list.option("--limit", &a.limit, "at most so many").range(1, kListMax).show_default();
    list.option("--offset", &a.offset, "leave out so many of the newest").range(0, kListMax).show_default();
    list.option("--after", &a.after, "go on behind this one: what the page before said, SECONDS:JOB");
    add_letter_filter(list, a);
    list.flag("--undecodable", &a.undecodable, "messages whose bytes are no packet; they have a list of their own");
    list.on_parsed([&a, &chosen] {
        ListLettersOptions options{.filter = letter_filter(a),
                                   .limit = a.limit,
                                   .offset = a.offset,
                                   .after = {},
                                   .undecodable = a.undecodable,
                                   .json = a.json};
        if (!a.after.empty()) options.after = parse_letter_cursor(a.after);
        if (!a.after.empty() && !options.after)
            refuse(fmt::format("--after: expected SECONDS:JOB, got \"{}\"", a.after));
        chosen = {[options](Session& s) { return list_dead_letters(s, options); }, false};
    });
    const auto reasons = dlq.subcommand("reasons", "What each reason code means, and what to do about it");
    reasons.on_parsed([&a, &chosen] {
        chosen.offline = [&a] {
            fmt::print("{}", a.json ? json_text(reason_codes_json()) : reason_codes_page());
            return kDone;
        };
    });
    const auto show = job_command(dlq, a, "show", "One entry; what its code means goes to standard error");
    show.on_parsed([&a, &chosen] { chosen = {[&a](Session& s) { return show_dead_letter(s, a.job); }, false}; });
    const auto remove = job_command(dlq, a, "delete", "Remove one entry");
    remove.on_parsed(
        [&a, &chosen] { chosen = {[&a](Session& s) { return delete_dead_letter(s, a.job, a.json); }, false}; });
    const auto clean = dlq.subcommand("clean", "Drop what the list still names although it has expired");
    clean.on_parsed([&a, &chosen] { chosen = {[&a](Session& s) { return clean_dead_letters(s, a.json); }, false}; });
    const auto retry =
        dlq.subcommand("retry", "Submit jobs again under new ids and remove their entries: one, or all that fit");
    retry.footer(
        "The stored request is submitted as it was, with a copy of its input; approvals are not taken over. An entry\n"
        "whose request or input has expired, or whose input lies elsewhere than at ctx:JOB, stays. However many "
        "people\n"
        "do this at once, each entry becomes one job.");
    retry.option("job", &a.job, "job id; none: all that fit").identifier();
    add_bulk(retry, a);
    retry.on_parsed([&a, &chosen, retry] {
        if (a.job.empty()) {
            chosen = {[options = bulk_options(a, BulkAction::retry, "retry")](Session& s) {
                          return handle_dead_letters(s, options);
                      },
                      true};
            return;
        }
        // One job and a filter: whichever was meant, the other would be passed over.
        if (const auto given = retry.option_names(true); !given.empty())
            refuse(fmt::format("dlq retry: a job is named, and {} is about many", given.front()));
        chosen = {[&a](Session& s) { return retry_dead_letter(s, a.job, a.json); }, true};
    });
    const auto purge = dlq.subcommand("purge", "Remove the entries of all that fit");
    add_bulk(purge, a);
    purge.flag("--undecodable", &a.undecodable, "of the list of messages whose bytes are no packet");
    purge.on_parsed([&a, &chosen] {
        chosen = {[options = bulk_options(a, BulkAction::purge, "purge")](Session& s) {
                      return handle_dead_letters(s, options);
                  },
                  false};
    });
}

void add_adopt(const usage::Command& consumers, Arguments& a, Chosen& chosen) {
    const auto adopt = consumers.subcommand("adopt", "Say that Redis and the durables are one deployment's");
    adopt.flag("--replace", &a.adopt.replace, "also durables that belong to another deployment, which must be gone");
    adopt.flag("--dry-run", &a.adopt.dry_run, "only say what would change");
    adopt.footer(
        "A replica does not start with a Redis that has no deployment id beside durables that name one (the Redis has\n"
        "lost its data, or belongs to another deployment), nor with durables of another deployment.");
    adopt.on_parsed([&a, &chosen] {
        a.adopt.json = a.json;
        chosen = {[&a](Session& s) { return adopt_consumers(s, a.adopt); }, true};
    });
}

void add_consumers(const usage::Command& app, Arguments& a, Chosen& chosen) {
    const auto consumers = app.subcommand("consumers", "The scheduler's durable consumers on NATS");
    consumers.require_subcommand();
    add_adopt(consumers, a, chosen);
    const auto set = consumers.subcommand("set", "Change their settings in place; messages and positions stay");
    jetstream::ConsumerChange& change = a.consumers.change;
    set.option("--ack-wait", &a.ack_wait, "silence after which a message is delivered again, such as 30s");
    set.option("--max-deliver", &change.max_deliver, "deliveries of one message").range(1, 1'000'000);
    set.option("--max-ack-pending", &change.max_ack_pending, "messages out without a verdict").range(1, 1'000'000);
    set.option("--rate-limit", &change.rate_limit_bps, "bits a second that are delivered; 0 for no limit")
        .range(0, 1'000'000'000'000);
    set.flag("--dry-run", &a.consumers.dry_run, "only say what would change");
    set.footer(
        "A replica whose settings differ from the durable's does not start: set NATS_JS_ACK_WAIT and the like to the "
        "same\n"
        "everywhere. A replica of the reference compares ack wait, max deliver and max ack pending with its own; its "
        "client\n"
        "refuses a durable that differs. The rate limit is compared by nobody.");
    set.on_parsed([&a, &chosen] {
        jetstream::ConsumerChange& wanted = a.consumers.change;
        if (!a.ack_wait.empty()) {
            wanted.ack_wait = span("--ack-wait", a.ack_wait, {});
            if (*wanted.ack_wait <= engine::Duration::zero()) refuse("--ack-wait: must be positive");
        }
        if (!wanted.ack_wait && !wanted.max_deliver && !wanted.max_ack_pending && !wanted.rate_limit_bps)
            refuse(
                "consumers set: nothing to set; name at least one of --ack-wait, --max-deliver, --max-ack-pending, "
                "--rate-limit");
        a.consumers.json = a.json;
        chosen = {[&a](Session& s) { return set_consumers(s, a.consumers); }, true, false};
    });
}

void add_pool_command(const usage::Command& pool, Arguments& a, Chosen& chosen, engine::PoolStatus status) {
    const bool drain = status == engine::PoolStatus::draining;
    const auto c =
        pool.subcommand(drain ? "drain" : "resume",
                        drain ? "Give its workers no new jobs; what they have goes on" : "Give its workers jobs again");
    c.option("pool", &a.pool.pool, "name of the pool").identifier().required();
    if (drain) {
        c.flag("--wait", &a.pool.wait, "wait until its workers have no job; exit code 4 if they still have one");
        c.option("--wait-for", &a.wait, "how long --wait waits (default 10m)");
    }
    c.on_parsed([&a, &chosen, status] {
        a.pool.status = status;
        a.pool.json = a.json;
        a.pool.wait_limit = span("--wait-for", a.wait, a.pool.wait_limit);
        chosen = {[&a](Session& s) { return set_pool_status(s, a.pool); }, true};
        chosen.without_bus = "nobody is told; schedulers find the change within SCHEDULER_CONFIG_RELOAD_INTERVAL";
    });
}

void add_pools(const usage::Command& app, Arguments& a, Chosen& chosen) {
    const auto pool = app.subcommand("pool", "Pools of workers: take one out, and put it back");
    pool.require_subcommand();
    pool.footer(
        "The status is written to cfg:system:default, which all schedulers follow; it stays over restarts, whatever a "
        "pools file says.");
    add_pool_command(pool, a, chosen, engine::PoolStatus::draining);
    add_pool_command(pool, a, chosen, engine::PoolStatus::active);
}

void add_why(const usage::Command& app, Arguments& a, Chosen& chosen) {
    const auto why = job_command(app, a, "why", "Why a job has not ended yet, and what would help");
    why.footer("Reads Redis and NATS and asks no replica: it works while none runs.");
    why.on_parsed([&a, &chosen] {
        chosen = {[&a](Session& s) { return show_why(s, a.job, a.json); }, true};
        chosen.without_bus = "what Redis does not know is not looked for in the stream";
    });
    const auto queue = app.subcommand("queue", "What waits, by cause and topic, since when");
    queue.option("--limit", &a.queue.limit, "look at so many jobs, the oldest of each state")
        .range(1, 1'000'000)
        .show_default();
    queue.flag("--each", &a.queue.each, "list every job with its cause instead");
    queue.on_parsed([&a, &chosen] {
        a.queue.json = a.json;
        chosen = {[&a](Session& s) { return show_queue(s, a.queue); }, true};
        chosen.without_bus = "what stands in the streams is not counted";
    });
}

void add_top(const usage::Command& app, Arguments& a, Chosen& chosen) {
    const auto top = app.subcommand("top", "What goes on: jobs by state, messages that wait, pools and workers");
    top.option("--workers", &a.top.workers, "list so many workers, the busiest first").range(0, 100'000).show_default();
    top.option("--every", &a.pause, "how often to look, such as 5s (default 1s)");
    top.flag("--once", &a.top.once, "look once; so it does where the output is no terminal, too");
    top.on_parsed([&a, &chosen] {
        a.top.json = a.json;
        a.top.pause = span("--every", a.pause, a.top.pause);
        if (a.top.pause <= engine::Duration::zero()) refuse("--every: must be longer than nothing");
        chosen = {[&a](Session& s) { return show_top(s, a.top); }, true};
        chosen.without_bus = "what stands in the streams is not counted";
    });
}

void add_guards(const usage::Command& app, Arguments& a, Chosen& chosen) {
    const auto locks = app.subcommand("locks", "Who holds the locks of the loops, and until when");
    locks.option("job", &a.job, "also the lock of this job").identifier();
    locks.on_parsed([&a, &chosen] { chosen = {[&a](Session& s) { return list_locks(s, a.job, a.json); }, false}; });
    const auto circuit = app.subcommand("circuit", "Whether policy is asked: the circuits that all replicas share");
    circuit.on_parsed([&a, &chosen] { chosen = {[&a](Session& s) { return show_circuits(s, a.json); }, false}; });
}

void add_doctor(const usage::Command& app, Arguments& a, Chosen& chosen) {
    const auto doctor = app.subcommand("doctor", "What is wrong with the deployment, and how to mend it");
    doctor.flag("--all", &a.doctor.all, "also tell what is well");
    doctor.footer(
        "Holds the environment, Redis, NATS, what they store and the safety kernel to what the scheduler needs. Run "
        "it\n"
        "with the environment of lockstepd. Exit codes: 0 nothing is wrong (there may be warnings), 5 something is.");
    doctor.on_parsed([&a, &chosen] {
        a.doctor.json = a.json;
        chosen = {[&a](Session& s) { return run_doctor(s, a.doctor); }, false, false};
        chosen.whatever_is_there = true;
    });
}

void add_shell(const usage::Command& app, Arguments& a, Chosen& chosen) {
    const auto completion = app.subcommand("completion", "Print a completion script for a shell");
    completion.option("shell", &a.shell, "bash, zsh or fish").required().one_of({"bash", "zsh", "fish"});
    completion.footer("Example: source <(lockstepctl completion bash)");
    completion.on_parsed([&app, &a, &chosen] {
        chosen.offline = [&app, &a] {
            fmt::print("{}", usage::completion_script(app, *usage::shell_called(a.shell)));
            return kDone;
        };
    });
    const auto manual = app.subcommand("man", "Print the manual page, for man -l");
    manual.footer("Example: lockstepctl man | man -l -");
    manual.on_parsed([&app, &chosen] {
        chosen.offline = [&app] {
            fmt::print("{}", usage::manual_page(app, LOCKSTEP_VERSION));
            return kDone;
        };
    });
}

}  // namespace

Parser::Parser()
    : app_(
          "Operates a Lockstep deployment: submits jobs, shows and ends them, says why they wait, decides approvals, "
          "tends\n"
          "dead letters, runs workflows.",
          "lockstepctl"),
      arguments_(std::make_unique<Arguments>()) {
    const usage::Program& app = app_;
    Arguments& a = *arguments_;
    app.explain_refusals();
    add_version_flag(app);
    app.require_subcommand();
    app.fallthrough();
    app.option("--nats", &nats_, "NATS address (environment: NATS_URL)");
    app.option("--redis", &redis_, "Redis address (environment: REDIS_URL)");
    app.flag("--json", &a.json, "print one JSON document and nothing else");
    app.footer(
        "Exit codes: 0 done, 1 a server cannot be reached or refused, 2 wrong use, or standard\n"
        "output cannot be written, 3 no such job, workflow,\n"
        "run or pool, 4 what was waited for did not come: the job or run did not succeed, the pool is not empty,\n"
        "5 doctor: something is wrong, 130 submit --count was interrupted and has said what is stored.");
    add_submit(app, a, chosen_);
    add_job_commands(app, a, chosen_);
    add_why(app, a, chosen_);
    add_top(app, a, chosen_);
    add_guards(app, a, chosen_);
    add_doctor(app, a, chosen_);
    add_approval(app, a, chosen_, true);
    add_approval(app, a, chosen_, false);
    add_dead_letters(app, a, chosen_);
    add_consumers(app, a, chosen_);
    add_pools(app, a, chosen_);
    add_workflow(app, a.workflow, a.json, chosen_);
    add_shell(app, a, chosen_);
}

Parser::~Parser() = default;

tl::expected<void, int> Parser::parse(int argc, const char* const* argv) {
    if (const auto ended = app_.parse(argc, argv)) return tl::make_unexpected(*ended == 0 ? kDone : kWrongUse);
    Arguments& a = *arguments_;
    a.submit.json = a.status.json = a.approval.json = a.json;
    return {};
}

}  // namespace lockstep::prod
