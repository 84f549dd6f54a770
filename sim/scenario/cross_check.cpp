#include "sim/scenario/cross_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

#include "engine/config/nearest.h"
#include "engine/config/relations.h"
#include "engine/config/tunable_minimum.h"
#include "engine/ports/rare_branches.h"
#include "engine/wire/json_text.h"
#include "fakes/policy/parse.h"
#include "fakes/redis/command.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/check_directions.h"
#include "sim/scenario/check_forged.h"
#include "sim/scenario/check_numbers.h"
#include "sim/scenario/check_workflows.h"
#include "sim/scenario/glob.h"
#include "sim/scenario/message_fields.h"
#include "sim/scenario/named_topics.h"
#include "sim/scenario/read.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim::detail {

namespace {

using engine::format_duration;
using nlohmann::json;

std::string upper(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return out;
}

/// The engine makes the ids of compensations itself.
constexpr std::string_view kCompensation = "comp-";
/// The dead letters of messages that nobody could read are named after their place in the stream.
constexpr std::string_view kPoison = "poison:";
/// A check that came to nothing tells its gRPC status in place of a decision.
constexpr std::string_view kStatusOfACheck = "status:";

std::span<const std::string> rare_branches() {
    static const std::vector<std::string> kNames(engine::kRareBranches.begin(), engine::kRareBranches.end());
    return kNames;
}

std::span<const std::string> redis_commands() {
    static const std::vector<std::string> kNames = [] {
        std::vector<std::string> names;
        for (const auto& command : fakes::redis::command_table()) names.push_back(upper(command.name));
        return names;
    }();
    return kNames;
}

/// What `to` may be of a check, a result or the end of a job's work.
std::span<const std::string> told_by(fakes::EventKind event) {
    static const std::vector<std::string> kDecisions{
        "ALLOW", "DENY", "REQUIRE_APPROVAL", "THROTTLE", "ALLOW_WITH_CONSTRAINTS", "UNSPECIFIED"};
    static const std::vector<std::string> kOutputDecisions{"ALLOW", "QUARANTINE", "REDACT", "UNSPECIFIED"};
    static const std::vector<std::string> kStatuses = [] {
        std::vector<std::string> all(job_states().begin(), job_states().end());
        for (const std::string& outcome : worker_outcomes())
            if (std::ranges::find(all, outcome) == all.end() && upper(outcome) == outcome) all.push_back(outcome);
        return all;
    }();
    if (event == fakes::EventKind::kernel_check) return kDecisions;
    return event == fakes::EventKind::output_check ? std::span<const std::string>(kOutputDecisions)
                                                   : std::span<const std::string>(kStatuses);
}

bool is_glob(std::string_view text) { return text.find_first_of("*?") != std::string_view::npos; }

std::vector<std::string> listed(const std::set<std::string>& names) { return {names.begin(), names.end()}; }

/// Rule of NATS.
bool is_subject_token(std::string_view text) {
    return std::ranges::none_of(
        text, [](unsigned char c) { return c <= ' ' || c == 0x7f || c == '.' || c == '*' || c == '>'; });
}

bool carries_packet(fakes::EventKind kind) {
    switch (kind) {
        case fakes::EventKind::publish:
        case fakes::EventKind::core_publish:
        case fakes::EventKind::stored:
        case fakes::EventKind::deliver:
        case fakes::EventKind::core_deliver: return true;
        default: return false;
    }
}

class CrossChecker {
public:
    CrossChecker(const json& document, const Scenario& scenario, std::vector<Finding>& findings)
        : document_(document),
          scenario_(scenario),
          topology_(scenario.cluster),
          findings_(findings),
          workflows_(scenario, findings) {}

    void run() {
        if (scenario_.duration <= Duration{}) add("/duration", "expected a duration of more than 0");
        guard_of_results();
        collect_pools();
        workers();
        service_rates();
        timeouts("/cluster/timeouts", part("cluster", "timeouts"));
        policies();
        load();
        faults();
        chaos();
        one_kind_of_invariants();
        jobs_of(scenario_.expect, "/expect");
        workflows_.expectations(scenario_.expect, "/expect");
        values_of(scenario_.expect, "/expect");
        numbers_of(scenario_.expect, "/expect");
        if (scenario_.at_least > scenario_.duration)
            add("/at_least", fmt::format("expected at most the duration of {}", format_duration(scenario_.duration)));
        events_of(part("expect", "events"), "/expect/events");
        proof();
    }

private:
    void add(std::string pointer, std::string message) {
        findings_.push_back({std::move(pointer), std::move(message), false});
    }

    [[nodiscard]] const json* part(const char* first, const char* second = nullptr) const {
        const json* value = member(document_, first);
        return value == nullptr || second == nullptr ? value : member(*value, second);
    }

    /// As lockstepd does at its start; also of replicas that come back with other settings.
    void guard_of_results() {
        if (scenario_.cluster.workflow_engines == 0 && !scenario_.cluster.schedulers_run_workflows) return;
        const auto refuse = [this](const json* config, const std::string& at) {
            if (config != nullptr && text_of(*config, "bus_guard_key_scope") == "stream")
                add(at + "/bus_guard_key_scope", std::string(engine::kOneMarkForTwoServices));
        };
        refuse(part("cluster", "config"), "/cluster/config");
        const json* all = part("faults");
        for (std::size_t i = 0; all != nullptr && i < all->size(); ++i)
            if ((*all)[i].is_object()) refuse(member((*all)[i], "config"), child("/faults", i) + "/config");
    }

    // Pools and workers ------------------------------------------------------------------------------------------------

    void collect_pools() {
        note_pools(engine::wire::sound_json(scenario_.cluster.documents.pools));
        for (const Fault& fault : scenario_.faults) {
            const auto* update = std::get_if<faults::ConfigUpdate>(&fault.what);
            if (update != nullptr && !update->pools.empty()) note_pools(engine::wire::sound_json(update->pools));
        }
    }

    void note_pools(const json& document) {
        if (const json* topics = member(document, "topics")) {
            for (const auto& [topic, pools] : topics->items()) {
                topics_.insert(topic);
                if (pools.is_string())
                    pools_.insert(pools.get<std::string>());
                else
                    for (const std::string& pool : texts_of(*topics, topic)) pools_.insert(pool);
            }
        }
        if (const json* pools = member(document, "pools"))
            for (const auto& entry : pools->items()) pools_.insert(entry.key());
    }

    void workers() {
        for (const std::string& name : topology_.clashes())
            add("/cluster/workers", fmt::format("expected names of their own, but \"{}\" would name two things", name));
        const json* groups = part("cluster", "workers");
        if (groups == nullptr) return;
        for (std::size_t i = 0; i < groups->size(); ++i) {
            const json& group = (*groups)[i];
            if (!group.is_object()) continue;
            const std::string at = child("/cluster/workers", i);
            if (const std::string id = text_of(group, "id"); !is_subject_token(id))
                add(at + "/id",
                    fmt::format("expected an id without '.', '*', '>' and blanks, as it is a part of the subject that "
                                "the worker's jobs come by, got \"{}\"",
                                id));
            const std::string pool = text_of(group, "pool", "default");
            known_pool(pool, member(group, "pool") == nullptr ? at : at + "/pool");
            if (const json* outcomes = member(group, "outcomes")) {
                double sum = 0;
                for (const json& weight : *outcomes) sum += weight.get<double>();
                if (sum <= 0) add(at + "/outcomes", "expected at least one weight of more than 0");
            }
        }
    }

    void known_pool(const std::string& pool, const std::string& at) {
        if (pools_.contains(pool)) return;
        add(at, fmt::format("no topic and no pool of cluster.pools is named \"{}\"{}", pool,
                            engine::suggestion(pool, listed(pools_))));
    }

    void service_rates() {
        for (const auto& [name, rate] : scenario_.cluster.service_rates)
            if (!topology_.known(name))
                add(child("/cluster/service_rates", name), fmt::format("there is no node or group \"{}\"{}", name,
                                                                       engine::suggestion(name, topology_.names())));
    }

    void timeouts(const std::string& at, const json* document) {
        const json* reconciler = document == nullptr ? nullptr : member(*document, "reconciler");
        if (reconciler == nullptr) return;
        for (const char* name : {"dispatch_timeout", "running_timeout", "scan_interval"}) {
            if (member(*reconciler, name) != nullptr && member(*reconciler, fmt::format("{}_seconds", name)) != nullptr)
                add(child(at + "/reconciler", name), fmt::format("expected either {0} or {0}_seconds, got both", name));
        }
        // Zero stands for the documented fallback.
        const json* scan = member(*reconciler, "scan_interval");
        const Duration least = engine::minimum_of(*engine::find_tunable("reconciler_interval"));
        if (scan != nullptr && duration_value(*scan) > Duration{} && duration_value(*scan) < least)
            add(at + "/reconciler/scan_interval",
                fmt::format("expected 0 or a duration of at least {}", format_duration(least)));
    }

    /// By the parser of the kernel itself, which knows every word of a policy.
    void policies() {
        namespace policy = fakes::policy;
        const auto add_all = [this](const std::string& at, const policy::ParseErrors& errors) {
            for (const policy::ParseError& error : errors) add(at + error.path, error.message);
        };
        const json* kernel = part("cluster", "kernel");
        const json* document = kernel == nullptr ? nullptr : member(*kernel, "policy");
        auto parsed = policy::parse_document(document == nullptr ? json::object() : *document);
        if (!parsed) add_all("/cluster/kernel/policy", parsed.error());
        const json* output = part("cluster", "output_policy");
        if (output == nullptr) return;
        const auto with_output = policy::with_output_policy(parsed ? std::move(*parsed) : policy::Document{}, *output);
        if (!with_output) add_all("/cluster/output_policy", with_output.error());
    }

    // Load -------------------------------------------------------------------------------------------------------------

    void load() {
        const json* lines = part("load");
        if (lines == nullptr) return;
        for (std::size_t i = 0; i < lines->size(); ++i) {
            const Load& line = scenario_.load[i];
            const std::string at = child("/load", i);
            if (!(*lines)[i].is_object()) continue;
            load_line(line, (*lines)[i], at);
        }
        for (std::size_t i = 0; i < lines->size(); ++i) {
            const Load& line = scenario_.load[i];
            if (line.kind == Load::Kind::cancel) known_job(line.job_id, child("/load", i) + "/cancel");
            if (line.kind == Load::Kind::approve) known_job(line.job_id, child("/load", i) + "/approve");
        }
    }

    /// A job that comes after the end is never submitted, and what is said of it never judged.
    void all_submitted(const Load& line, const std::string& at) {
        if (line.per_second <= 0 || line.count <= 1 || line.at > scenario_.duration) return;
        const double left = std::chrono::duration<double>(scenario_.duration - line.at).count();
        const double needed = (line.count - 1) / line.per_second;
        if (needed <= left) return;
        add(at, fmt::format("expected all {} jobs to be submitted within the duration of {}, but at this rate the last "
                            "comes {:.0f}s after the first",
                            line.count, format_duration(scenario_.duration), needed));
    }

    void load_line(const Load& line, const json& object, const std::string& at) {
        within_duration(line.at, at);
        all_submitted(line, at);
        std::vector<std::string> kinds;
        for (const char* key : {"job", "cancel", "approve", "garbage", "forge", "raw", "redis", "workflow"})
            if (member(object, key) != nullptr) kinds.emplace_back(key);
        if (kinds.size() > 1)
            return add(at, fmt::format("expected one of {} in one line of load", fmt::join(kinds, ", ")));
        if (line.kind == Load::Kind::workflow) return workflows_.line(line, object, at);
        if (line.kind == Load::Kind::forge) return check_forged(line, object, at, findings_);
        if (member(object, "subject") != nullptr)
            add(at + "/subject", "\"subject\" goes with \"forge\" and \"raw\" only");
        if (line.kind == Load::Kind::redis && !line.command.empty())
            one_of(upper(line.command.front()), redis_commands(), "Redis command", at + "/redis/0");
        if (line.kind == Load::Kind::submit) check_directions(object, at + "/job/env", findings_);
        if (line.kind != Load::Kind::submit) {
            for (const char* key : {"topic", "payload_bytes", "count", "rate"})
                if (member(object, key) != nullptr &&
                    (line.kind != Load::Kind::garbage || key == std::string_view("topic")))
                    add(child(at, key), fmt::format("\"{}\" goes with submits only", key));
        } else if (!line.job_id.empty() && line.count > 1) {
            add(at + "/count",
                "expected one job under one job id; without a job id the jobs are job-0, job-1 and so on");
        } else if (!line.topic.empty() && !topics_.contains(line.topic)) {
            const bool in_job = member(object, "topic") == nullptr && member(object, "job") != nullptr &&
                                object["job"].contains("topic");
            add(in_job                               ? at + "/job/topic"
                : member(object, "topic") != nullptr ? at + "/topic"
                                                     : at,
                fmt::format("no pool takes the topic \"{}\": cluster.pools.topics does not name it{}", line.topic,
                            engine::suggestion(line.topic, listed(topics_))));
        }
    }

    void known_job(const std::string& id, const std::string& at) {
        if (jobs_.empty()) {  // not before somebody asks: there may be a million
            const auto ids = job_ids(scenario_.load);
            jobs_.insert(ids.begin(), ids.end());
        }
        if (jobs_.contains(id) || id.starts_with(kCompensation) || workflows_.is_job_of_run(id)) return;
        add(at, fmt::format("no line of load submits a job \"{}\"{}", id, engine::suggestion(id, listed(jobs_))));
    }

    // Faults -----------------------------------------------------------------------------------------------------------

    void within_duration(Duration time, const std::string& at) {
        if (time > scenario_.duration)
            add(at + "/at", fmt::format("expected a time within the duration of {}, got {}",
                                        format_duration(scenario_.duration), format_duration(time)));
    }

    void faults() {
        const json* list = part("faults");
        if (list == nullptr) return;
        for (std::size_t i = 0; i < list->size(); ++i) {
            const json& object = (*list)[i];
            const FaultInfo* info = object.is_object() ? find_fault(text_of(object, "do")) : nullptr;
            if (info != nullptr) fault(scenario_.faults[i], *info, object);
        }
    }

    void fault(const Fault& fault, const FaultInfo& info, const json& object) {
        const std::string& at = fault.pointer;
        const bool timed = member(object, "at") != nullptr;
        const json* on = member(object, "on");
        if (timed == (on != nullptr))
            add(at,
                timed ? "expected either \"at\" or \"on\", got both" : "expected \"at\" (a time) or \"on\" (an event)");
        if (timed) within_duration(fault.at, at);
        if (on != nullptr && fault.on) trigger(*fault.on, *on, at + "/on");
        for (const FaultArg& arg : info.args) argument(arg, object, at);
        narrowed(object, at);
        if (const auto* settings = std::get_if<faults::ConfigUpdate>(&fault.what)) update(*settings, at);
        if (const auto* with = fault.part<faults::Restarting>()) restart(fault, *with, object, at);
        timeouts(at + "/timeouts", member(object, "timeouts"));
        const auto* flap = std::get_if<faults::KernelFlap>(&fault.what);
        if (flap != nullptr && member(object, "period") != nullptr && flap->period <= Duration{})
            add(at + "/period", "expected a duration of more than 0");
    }

    void restart(const Fault& fault, const faults::Restarting& with, const json& object, const std::string& at) {
        if (member(object, "config") != nullptr)
            comes_back(fault, with, at, {"config", NodeRole::scheduler, "schedulers", "settings"});
        if (member(object, "worker") != nullptr)
            comes_back(fault, with, at, {"worker", NodeRole::worker, "workers", "a pool"});
        if (with.worker.pool) known_pool(*with.worker.pool, at + "/worker/pool");
    }

    void narrowed(const json& object, const std::string& at) {
        const std::string job = text_of(object, "job");
        const std::string script = text_of(object, "script");
        const std::vector<std::string> commands = texts_of(object, "commands");
        if (!job.empty() && !is_glob(job)) known_job(job, at + "/job");
        if (!script.empty() && !is_glob(script)) one_of(script, redis_scripts(), "script", at + "/script");
        for (std::size_t i = 0; i < commands.size(); ++i)
            one_of(upper(commands[i]), redis_commands(), "Redis command", child(at + "/commands", i));
    }

    void update(const faults::ConfigUpdate& fault, const std::string& at) {
        const bool parts = !fault.pools.empty() || !fault.timeouts.empty() || !fault.settings.empty();
        if (!parts && fault.raw.empty() && fault.layers.empty())
            add(at,
                "expected a key \"pools\", \"timeouts\", \"scheduler\" or \"layers\": the new settings; or \"raw\"");
        if (parts && !fault.raw.empty()) add(at + "/raw", "expected either parts of the settings or \"raw\", got both");
    }

    /// What a node may start again with, and which nodes may.
    struct Restart {
        const char* key;
        NodeRole role;
        const char* group;
        const char* has;  // what others have not
    };

    void comes_back(const Fault& fault, const faults::OfNode& whom, const std::string& at, const Restart& with) {
        if (!fault.duration)
            add(fmt::format("{}/{}", at, with.key),
                fmt::format(R"(without "for", how long until it starts again, it stays down and has no {})",
                            with.role == NodeRole::scheduler ? "settings" : "pool"));
        const std::string which =
            fmt::format("expected \"{}\" or one of them: {}", with.group, fmt::join(names_of_role(with.role), ", "));
        if (whom.target == "actor")
            return add(at + "/target",
                       fmt::format("\"actor\" may be anybody, and only {} have {}; {}", with.group, with.has, which));
        if (!topology_.known(whom.target)) return;
        const auto members = topology_.members(whom.target);
        if (std::ranges::any_of(members, [&](fakes::NodeId node) { return topology_.node(node).role != with.role; }))
            add(at + "/target",
                fmt::format("only {} have {}, and \"{}\" is none; {}", with.group, with.has, whom.target, which));
    }

    [[nodiscard]] std::vector<std::string> names_of_role(NodeRole role) const {
        std::vector<std::string> names;
        for (const fakes::NodeId node : topology_.of_role(role)) names.emplace_back(topology_.name(node));
        return names;
    }

    void argument(const FaultArg& arg, const json& object, const std::string& at) {
        const bool names_node = arg.kind == FaultArgKind::node || arg.kind == FaultArgKind::node_or_group ||
                                arg.kind == FaultArgKind::worker;
        const json* value = member(object, arg.name);
        if (!names_node || value == nullptr) return;
        const std::string name = value->get<std::string>();
        const std::string here = child(at, arg.name);
        if (name == "actor") {
            if (member(object, "on") == nullptr)
                add(here, "\"actor\" is the node that caused an event; without \"on\" there is none");
            return;
        }
        if (!topology_.known(name))
            return add(here, fmt::format("there is no node or group \"{}\"{}", name,
                                         engine::suggestion(name, topology_.names())));
        const auto members = topology_.members(name);
        if (members.empty()) return add(here, fmt::format("the group \"{}\" has no node in this cluster", name));
        if (arg.kind == FaultArgKind::worker && topology_.node(members.front()).role != NodeRole::worker)
            add(here, fmt::format("expected a worker or a group of workers, got \"{}\"", name));
    }

    void one_of(const std::string& word, std::span<const std::string> known, std::string_view noun,
                const std::string& at) {
        if (std::ranges::find(known, word) != known.end()) return;
        const std::vector<std::string> words(known.begin(), known.end());
        add(at, fmt::format("there is no {} \"{}\"{}", noun, word, engine::suggestion(word, words)));
    }

    void trigger(const Trigger& trigger, const json& object, const std::string& at) {
        const EventInfo* event = find_event(text_of(object, "event"));
        if (event == nullptr) return;
        window(object, at);
        if (event->deed && trigger.when == fakes::When::applied)
            add(at + "/when",
                fmt::format("expected \"before\" or \"answered\": what \"{}\" comes to has events of its own",
                            event->name));
        if (!event->call && trigger.when != fakes::When::applied)
            add(at + "/when",
                fmt::format("expected \"applied\": \"{}\" is a fact, it has no before and no answer", event->name));
        for (const char* filter : {"command", "script", "key", "name", "to"}) {
            if (member(object, filter) == nullptr || std::ranges::find(event->filters, filter) != event->filters.end())
                continue;
            const std::vector<std::string> fitting(event->filters.begin(), event->filters.end());
            add(child(at, filter),
                fmt::format("the event \"{}\" has no \"{}\"; its filters: node, job, subject{}{}", event->name, filter,
                            fitting.empty() ? "" : ", ", fmt::join(fitting, ", ")));
        }
        if (trigger.event == fakes::EventKind::state && !trigger.to.empty() && !is_glob(trigger.to))
            one_of(trigger.to, job_states(), "job state", at + "/to");
        if (!trigger.script.empty() && !is_glob(trigger.script))
            one_of(trigger.script, redis_scripts(), "script", at + "/script");
        if (!trigger.command.empty() && !is_glob(trigger.command))
            one_of(trigger.command, redis_commands(), "Redis command", at + "/command");
        if (trigger.event == fakes::EventKind::reached && !trigger.name.empty() && !is_glob(trigger.name))
            one_of(trigger.name, rare_branches(), "rare branch", at + "/name");
        const auto is_meant = [&trigger](const std::string& name) { return glob_matches(trigger.node, name); };
        if (!trigger.node.empty() && std::ranges::none_of(topology_.names(), is_meant))
            add(at + "/node", fmt::format("there is no node or group \"{}\"{}", trigger.node,
                                          engine::suggestion(trigger.node, topology_.names())));
    }

    void chaos() {
        if (!scenario_.chaos || part("chaos") == nullptr) return;
        if (scenario_.chaos->heal_at && *scenario_.chaos->heal_at > scenario_.duration)
            add("/chaos/heal_at",
                fmt::format("expected a time within the duration of {}", format_duration(scenario_.duration)));
        for (std::size_t i = 0; i < scenario_.chaos->fault_free.size(); ++i)
            if (scenario_.chaos->fault_free[i].at >= *scenario_.chaos->heal_at)
                add(child("/chaos/fault_free", i) + "/at", "expected a time before all is healed");
    }

    // Expectations -----------------------------------------------------------------------------------------------------

    void one_kind_of_invariants() {
        const json* expect = part("expect", "invariants");
        if (expect == nullptr || !expect->is_object() || expect->size() == 1) return;
        // What was refused has been taken out.
        if (std::ranges::any_of(findings_,
                                [](const Finding& one) { return one.pointer.starts_with("/expect/invariants/"); }))
            return;
        add("/expect/invariants", "expected one key, \"all_but\" or \"violated\"");
    }

    void jobs_of(const Expectations& expect, const std::string& at) {
        for (const auto& [job, state] : expect.jobs) known_job(job, child(at + "/jobs", job));
    }

    void values_of(const Expectations& expect, const std::string& at) {
        for (std::size_t i = 0; i < expect.dead_letters.size(); ++i) {
            const std::string& job = expect.dead_letters[i].job;
            if (!job.empty() && !is_glob(job) && !job.starts_with(kPoison))
                known_job(job, child(at + "/dead_letters", i) + "/job");
        }
        for (std::size_t i = 0; i < expect.redis.size(); ++i) {
            const RedisExpectation& wanted = expect.redis[i];
            const std::string here = child(at + "/redis", i);
            if (wanted.absent && wanted.value) add(here, "expected either \"value\" or \"absent\", got both");
            if (!wanted.field.empty() && !wanted.member.empty())
                add(here, "expected either \"field\" or \"member\", got both");
            if (wanted.at && *wanted.at > scenario_.duration)
                add(here + "/at", fmt::format("expected a time within the duration of {}, got {}",
                                              format_duration(scenario_.duration), format_duration(*wanted.at)));
        }
    }

    void numbers_of(const Expectations& expect, const std::string& at) {
        check_numbers(expect, at, topology_, strangers_speak(scenario_) ? nullptr : &named(), findings_);
    }

    /// A fault that is placed on what never happens is reported by its run; an expectation of none of it would just hold.
    void can_match(const Trigger& filter, const json& object, const std::string& at) {
        if (!filter.subject.empty() && !strangers_speak(scenario_)) known_subject(filter.subject, at + "/subject");
        if (!filter.job.empty() && !is_glob(filter.job)) known_job(filter.job, at + "/job");
        if (!filter.to.empty() && !is_glob(filter.to) && filter.event != fakes::EventKind::state &&
            !filter.to.starts_with(kStatusOfACheck))
            one_of(filter.to, told_by(filter.event),
                   filter.event == fakes::EventKind::kernel_check || filter.event == fakes::EventKind::output_check
                       ? "decision"
                       : "status",
                   at + "/to");
        const EventInfo* event = find_event(text_of(object, "event"));
        if (event == nullptr || member(object, "outcome") == nullptr) return;
        if (!event->call)
            add(at + "/outcome", fmt::format("\"{}\" is a fact, it has no outcome", event->name));
        else if (member(object, "when") != nullptr && filter.when != fakes::When::answered)
            add(at + "/when", "expected \"answered\" or nothing: an outcome is not known before the answer");
    }

    const std::set<std::string>& named() {
        if (named_.empty()) named_ = topics_named(document_, topics_);
        return named_;
    }

    void known_subject(const std::string& subject, const std::string& at) {
        const std::vector<std::string> known = subjects_of(named(), topology_);
        if (std::ranges::any_of(known, [&](const std::string& one) { return glob_matches(subject, one); })) return;
        add(at, fmt::format("no message comes by \"{}\" here{}", subject, engine::suggestion(subject, known)));
    }

    void window(const json& object, const std::string& at) {
        const json* after = member(object, "after");
        const json* until = member(object, "until");
        if (after != nullptr && duration_value(*after) > scenario_.duration)
            add(at + "/after", fmt::format("expected a time within the duration of {}, got {}",
                                           format_duration(scenario_.duration), shown(*after)));
        if (after != nullptr && until != nullptr && duration_value(*until) < duration_value(*after))
            add(at + "/until", fmt::format("expected at least \"after\", {}", shown(*after)));
    }

    void events_of(const json* events, const std::string& list) {
        if (events == nullptr) return;
        for (std::size_t i = 0; i < events->size(); ++i) {
            const json& object = (*events)[i];
            if (!object.is_object()) continue;
            const std::string at = child(list, i);
            const Trigger filter = read_trigger(object);
            trigger(filter, object, at);
            can_match(filter, object, at);
            for (const char* key : {"trace", "fields"})
                if (member(object, key) != nullptr && !carries_packet(filter.event))
                    add(child(at, key), fmt::format("\"{}\" is no event of a message", to_string(filter.event)));
            if (const json* fields = member(object, "fields")) {
                for (const auto& [path, value] : fields->items())
                    if (const std::string why = complaint_about_field(path); !why.empty())
                        add(child(at + "/fields", path), why);
            }
            if (const json* before = member(object, "before_event")) {
                const Trigger earlier = read_trigger(*before);
                trigger(earlier, *before, at + "/before_event");
                can_match(earlier, *before, at + "/before_event");
            }
            for (const char* key : {"nth", "per"})
                if (member(object, key) != nullptr)
                    add(child(at, key), fmt::format("\"{}\" places faults; expectations count", key));
        }
    }

    void proof() {
        const json* object = part("proves");
        if (!scenario_.proves || object == nullptr) return;
        const Proof& proof = *scenario_.proves;
        const Expectations& expect = scenario_.expect;
        const auto listed_in = [](const std::vector<std::string>& names, const std::string& name) {
            return std::ranges::find(names, name) != names.end();
        };
        if (listed_in(scenario_.without, proof.without))
            add("/proves/without", "expected a mechanism that is at work in this file, but \"without\" names it");
        if (!expect.violated.empty())
            add("/proves",
                "expected a file in which everything holds; this one names invariants that must be violated");
        if (member(*object, "violated") == nullptr && member(*object, "expect") == nullptr)
            add("/proves", "expected a key \"violated\" or \"expect\": what is different without the mechanism");
        for (std::size_t i = 0; i < proof.violated.size(); ++i) {
            if (expect.watches(proof.violated[i])) continue;
            add(child("/proves/violated", i),
                "expected an invariant that holds with the mechanism: name it in expect.invariants");
        }
        jobs_of(proof.expect, "/proves/expect");
        workflows_.expectations(proof.expect, "/proves/expect");
        values_of(proof.expect, "/proves/expect");
        numbers_of(proof.expect, "/proves/expect");
        const json* other = member(*object, "expect");
        if (other != nullptr) events_of(member(*other, "events"), "/proves/expect/events");
    }

    const json& document_;
    const Scenario& scenario_;
    Topology topology_;
    std::vector<Finding>& findings_;
    std::set<std::string> topics_;
    std::set<std::string> named_;
    std::set<std::string> pools_;
    std::set<std::string> jobs_;
    WorkflowChecker workflows_;
};

}  // namespace

void cross_check(const json& document, const Scenario& scenario, std::vector<Finding>& findings) {
    CrossChecker(document, scenario, findings).run();
}

}  // namespace lockstep::sim::detail
