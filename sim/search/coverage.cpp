#include "sim/search/coverage.h"

#include <fmt/format.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "engine/config/tunables.h"
#include "engine/ports/rare_branches.h"
#include "engine/store/job_state.h"
#include "engine/wire/json.h"
#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "engine/wire/policy_marks.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/topology.h"
#include "sim/search/explore.h"

namespace lockstep::sim {

namespace {

using nlohmann::json;
using Items = std::set<CoverageItem>;

constexpr std::string_view kNobody = "(none)";
constexpr std::array<std::string_view, 3> kCallOutcomes{"applied", "not applied", "unknown"};

// Names as a document has them; `*` is any topic, pool or workflow. `word=` at the end: the value matters.
constexpr auto kDocumentKeys = std::to_array<std::string_view>({
    "pools/topics/*",
    "pools/pools/*/requires",
    "pools/pools/*/status=active",
    "pools/pools/*/status=draining",
    "pools/pools/*/status=inactive",
    "pools/pools/*/description",
    "pools/pools/*/drain_started_at",
    "pools/pools/*/drain_timeout_seconds",
    "timeouts/topics/*/timeout_seconds",
    "timeouts/topics/*/dispatch_timeout_seconds",
    "timeouts/topics/*/max_retries",
    "timeouts/workflows/*/child_timeout_seconds",
    "timeouts/workflows/*/total_timeout_seconds",
    "timeouts/workflows/*/max_retries",
    "timeouts/reconciler/dispatch_timeout_seconds",
    "timeouts/reconciler/running_timeout_seconds",
    "timeouts/reconciler/scan_interval_seconds",
    "scheduler/input_fail_mode",
    "scheduler/output_fail_mode",
    "scheduler/output_policy_enabled",
    "layers/org:*",
    "layers/team:*",
    "layers/workflow:*",
    "layers/step:*",
});

// What else of a request changes where it goes or what it may (wire.md 7 and 8; settings.md 2).
constexpr auto kLabels = std::to_array<std::string_view>(
    {"preferred_worker_id", "preferred_pool", "placement.*", "constraint.*", "node.*", "run_id", "approval_granted"});
constexpr auto kVariables = std::to_array<std::string_view>({"tenant_id", "team_id", "step_id"});

// Fields ----------------------------------------------------------------------------------------------------------------

std::string name_of(const google::protobuf::FieldDescriptor& field) {
    std::string name = field.name();
    if (name.ends_with('_')) name.pop_back();
    return name;
}

bool is_part(const google::protobuf::FieldDescriptor& field) {
    return field.cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE && !field.is_map() &&
           !field.is_repeated();
}

void add_all_fields(const google::protobuf::Descriptor& message, const std::string& above, const char* group,
                    Items& out) {
    for (int i = 0; i < message.field_count(); ++i) {
        const auto& field = *message.field(i);
        if (is_part(field))
            add_all_fields(*field.message_type(), above + name_of(field) + ".", group, out);
        else
            out.insert({group, above + name_of(field)});
    }
}

void add_fields(const google::protobuf::Message& message, const std::string& above, const char* group, Items& out) {
    std::vector<const google::protobuf::FieldDescriptor*> set;
    message.GetReflection()->ListFields(message, &set);
    for (const auto* field : set) {
        if (is_part(*field))
            add_fields(message.GetReflection()->GetMessage(message, field), above + name_of(*field) + ".", group, out);
        else
            out.insert({group, above + name_of(*field)});
    }
}

bool stands_for(std::string_view name, std::string_view word) {
    if (name.ends_with(".*")) return word.starts_with(name.substr(0, name.size() - 1));
    return name == word;
}

void add_request(const cap::JobRequest& request, Items& out) {
    add_fields(request, "", coverage::kField, out);
    for (const std::string_view label : kLabels)
        for (const auto& entry : request.labels())
            if (stands_for(label, entry.first)) out.insert({coverage::kMark, fmt::format("label {}", label)});
    for (const char* label : engine::wire::kPolicyLabels)
        if (request.labels().contains(label)) out.insert({coverage::kMark, fmt::format("label {}", label)});
    for (const std::string_view name : kVariables)
        if (request.env().contains(std::string(name))) out.insert({coverage::kMark, fmt::format("variable {}", name)});
    for (const char* name : engine::wire::kPolicyVariables)
        if (request.env().contains(name)) out.insert({coverage::kMark, fmt::format("variable {}", name)});
}

void add_lines(const Scenario& scenario, Items& out) {
    for (const Load& line : scenario.load) {
        if (line.kind == Load::Kind::submit) {
            auto request = engine::wire::from_json<cap::JobRequest>(line.job_json);
            if (!request) continue;  // the loader has refused such a file
            request->set_job_id("given or generated");
            request->set_topic(line.topic);
            add_request(*request, out);
        } else if (line.kind == Load::Kind::forge) {
            const auto packet = engine::wire::from_json<cap::BusPacket>(line.packet_json);
            if (packet && packet->has_job_request()) add_request(packet->job_request(), out);
        }
    }
}

// Settings --------------------------------------------------------------------------------------------------------------

void add_tunables(const Scenario& scenario, Items& out) {
    const engine::Tunables defaults;
    for (const engine::TunableInfo& info : engine::tunable_table())
        if (engine::tunable_text(scenario.cluster.config, info) != engine::tunable_text(defaults, info))
            out.insert({coverage::kTunable, std::string(info.name)});
}

/// Whether the document has what the rest of a pattern names.
bool has(const json& document, std::string_view pattern) {
    if (!document.is_object()) return false;
    const std::size_t slash = pattern.find('/');
    std::string_view key = pattern.substr(0, slash);
    const auto fits = [&](const json& value, std::string_view wanted) {
        if (slash != std::string_view::npos) return has(value, pattern.substr(slash + 1));
        return wanted.empty() || (value.is_string() && value.get_ref<const std::string&>() == wanted);
    };
    const std::size_t equals = key.find('=');
    const std::string_view wanted = equals == std::string_view::npos ? "" : key.substr(equals + 1);
    key = key.substr(0, equals);
    if (!key.ends_with('*')) return document.contains(key) && fits(document[std::string(key)], wanted);
    for (const auto& [name, value] : document.items())
        if (name.starts_with(key.substr(0, key.size() - 1)) && fits(value, wanted)) return true;
    return false;
}

void add_document(std::string_view part, const std::string& text, Items& out) {
    if (text.empty()) return;
    const json document = engine::wire::read_json(text);
    for (const std::string_view key : kDocumentKeys) {
        const std::size_t slash = key.find('/');
        if (key.substr(0, slash) == part && has(document, key.substr(slash + 1)))
            out.insert({coverage::kDocument, std::string(key)});
    }
}

void add_documents(const Scenario& scenario, Items& out) {
    add_document("pools", scenario.cluster.documents.pools, out);
    add_document("timeouts", scenario.cluster.documents.timeouts, out);
    for (const Fault& fault : scenario.faults) {
        const auto* update = std::get_if<faults::ConfigUpdate>(&fault.what);
        if (update == nullptr) continue;
        add_document("pools", update->pools, out);
        add_document("timeouts", update->timeouts, out);
        add_document("scheduler", update->settings, out);
        add_document("layers", update->layers, out);
    }
    const json policy = engine::wire::read_json(scenario.cluster.documents.policy);
    if (!policy.contains("rules")) return;
    for (const json& rule : policy["rules"]) {
        const json::json_pointer at("/constraints/budgets");
        if (!rule.contains(at)) continue;
        for (const auto& limit : rule[at].items()) out.insert({coverage::kBudget, limit.key()});
    }
}

// What happened ---------------------------------------------------------------------------------------------------------

bool has_answer(fakes::EventKind kind) {
    using enum fakes::EventKind;
    return kind == publish || kind == core_publish || kind == redis || kind == kernel_check || kind == output_check;
}
bool is_verdict(fakes::EventKind kind) {
    using enum fakes::EventKind;
    return kind == ack || kind == nak || kind == term || kind == in_progress;
}

std::string_view word_of(fakes::EventOutcome outcome) {
    switch (outcome) {
        case fakes::EventOutcome::applied: return kCallOutcomes[0];
        case fakes::EventOutcome::not_applied: return kCallOutcomes[1];
        case fakes::EventOutcome::unknown: return kCallOutcomes[2];
        case fakes::EventOutcome::none: break;
    }
    return {};
}

std::string subject_of(std::string_view subject) {
    if (subject.starts_with("worker.")) return "worker.*.jobs";
    return subject.starts_with("job.") ? "job.*" : std::string(subject);
}

std::string call_of(const History& history, const HistoryEvent& event) {
    std::string name(fakes::to_string(event.kind));
    if (event.kind == fakes::EventKind::redis) {
        const std::string& script = history.text(event.script);
        return name + " " + (script.empty() ? history.text(event.command) : script);
    }
    if (event.kind == fakes::EventKind::publish || event.kind == fakes::EventKind::core_publish)
        return name + " " + subject_of(history.text(event.subject));
    return name;
}

std::string outcome_of(std::string_view call, std::string_view outcome) { return fmt::format("{}: {}", call, outcome); }

std::string change(std::string_view from, std::string_view to) {
    return fmt::format("{} -> {}", from.empty() ? kNobody : from, to);
}

void add_events(const History& history, Items& out) {
    // What the commands of people ask of workflows is a script of the engine's, too; a gateway's own are named after it.
    const auto by_engine = [&history](const HistoryEvent& event) {
        const std::string node = history.node_name(event.node);
        if (node.starts_with("scheduler-") || node.starts_with("workflow-")) return true;
        const std::string& script = history.text(event.script);
        return (node == "gateway" || node == "operator") && !script.empty() && !script.starts_with("gateway_");
    };
    for (const HistoryEvent& event : history.events) {
        if (event.kind == fakes::EventKind::state) {
            out.insert({coverage::kState, change(history.text(event.from), history.text(event.to))});
        } else if (is_verdict(event.kind)) {
            if (event.when == fakes::When::applied && by_engine(event))
                out.insert({coverage::kCall, outcome_of(call_of(history, event), kCallOutcomes[0])});
        } else if (has_answer(event.kind) && event.when == fakes::When::answered && by_engine(event)) {
            const std::string_view outcome = word_of(event.outcome);
            if (!outcome.empty()) out.insert({coverage::kCall, outcome_of(call_of(history, event), outcome)});
        }
    }
}

}  // namespace

const std::vector<std::string>& coverage_groups() {
    static const std::vector<std::string> kGroups{coverage::kTunable, coverage::kDocument, coverage::kField,
                                                  coverage::kMark,    coverage::kBudget,   coverage::kCall,
                                                  coverage::kState,   coverage::kBranch};
    return kGroups;
}

std::set<CoverageItem> documented_items() {
    using engine::JobState;
    Items out;
    for (const engine::TunableInfo& info : engine::tunable_table())
        out.insert({coverage::kTunable, std::string(info.name)});
    for (const std::string_view key : kDocumentKeys) out.insert({coverage::kDocument, std::string(key)});
    add_all_fields(*cap::JobRequest::descriptor(), "", coverage::kField, out);
    add_all_fields(*cap::BudgetConstraints::descriptor(), "", coverage::kBudget, out);
    for (const std::string_view label : kLabels) out.insert({coverage::kMark, fmt::format("label {}", label)});
    for (const char* label : engine::wire::kPolicyLabels) out.insert({coverage::kMark, fmt::format("label {}", label)});
    for (const std::string_view name : kVariables) out.insert({coverage::kMark, fmt::format("variable {}", name)});
    for (const char* name : engine::wire::kPolicyVariables)
        out.insert({coverage::kMark, fmt::format("variable {}", name)});
    for (const std::string& script : redis_scripts())
        if (!script.starts_with("gateway_"))
            for (const std::string_view outcome : kCallOutcomes)
                out.insert({coverage::kCall, outcome_of("redis " + script, outcome)});
    for (int to = 0; to < engine::kJobStateCount; ++to) {
        const auto target = static_cast<JobState>(to);
        if (transition_allowed(std::nullopt, target)) out.insert({coverage::kState, change("", to_string(target))});
        for (int from = 0; from < engine::kJobStateCount; ++from) {
            const auto source = static_cast<JobState>(from);
            const bool by_request = target == JobState::cancelled && !is_terminal(source);
            if (transition_allowed(source, target) || by_request)
                out.insert({coverage::kState, change(to_string(source), to_string(target))});
        }
    }
    for (const std::string_view branch : engine::kRareBranches) out.insert({coverage::kBranch, std::string(branch)});
    return out;
}

std::set<CoverageItem> with_calls(std::set<CoverageItem> documented, const std::set<CoverageItem>& reached) {
    for (const CoverageItem& item : reached) {
        documented.insert(item);
        if (item.group != coverage::kCall) continue;
        const std::string call = item.name.substr(0, item.name.rfind(": "));
        const bool verdict = call == "ack" || call == "nak" || call == "term" || call == "in_progress";
        if (verdict) continue;  // nobody waits for its answer
        for (const std::string_view outcome : kCallOutcomes)
            documented.insert({coverage::kCall, outcome_of(call, outcome)});
    }
    return documented;
}

std::set<CoverageItem> reached_by(const Scenario& scenario, const RunResult& result) {
    Items out;
    add_tunables(scenario, out);
    add_documents(scenario, out);
    add_lines(scenario, out);
    add_events(*result.history, out);
    for (const auto& [branch, count] : result.reached)
        if (count > 0) out.insert({coverage::kBranch, branch});
    return out;
}

Coverage measure_coverage(const Runner& runner, const CoverageOptions& options) {
    Coverage out;
    std::mutex mutex;  // guards `out`
    const Runner noting = [&](const Scenario& scenario, std::uint64_t seed, const RunOptions& asked) {
        RunOptions run = asked;
        run.history = true;
        RunResult result = runner(scenario, seed, run);
        if (!result.history || result.interrupted) return result;
        const auto reached = reached_by(scenario, result);
        result.history.reset();
        const std::lock_guard lock(mutex);
        for (const CoverageItem& item : reached) ++out.counts[item];
        ++out.draws;
        if (!result.passed) out.failed.insert(seed);
        if (options.on_progress) options.on_progress(out.draws);
        return result;
    };
    ExploreOptions explored;
    explored.draw.data_loss = options.data_loss;
    explored.first = options.first;
    explored.seeds = options.seeds;
    explored.keep_going = true;
    explored.threads = options.threads;
    explored.stop = options.stop;
    const ExploreOutcome outcome = explore(noting, explored);
    out.interrupted = outcome.interrupted;
    return out;
}

}  // namespace lockstep::sim
