#include "sim/search/enumerate.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>

#include "fakes/rng.h"
#include "sim/run/side_by_side.h"
#include "sim/scenario/catalogue.h"

namespace lockstep::sim {

namespace {

using enum fakes::EventKind;

/// Only what happens in the very instant of the call: the network takes longer than this.
constexpr const char* kThisCall = "1us";
/// A call that is judged at the server's side, after its way there.
constexpr const char* kUntilItArrives = "20ms";
constexpr const char* kDownFor = "20s";
constexpr const char* kRestartsWithin = "1s";
/// Longer than a run has between two calls: what a power cut is to take away has not been synced.
constexpr const char* kSyncedAfter = "2m";
constexpr Duration kIdleTime = std::chrono::seconds{150};

struct Planned {
    std::size_t site = 0;
    CallFate fate{};
    int nth = 1;
};
using Plan = std::vector<Planned>;  // one or two faults of one run

bool on_bus(const CallSite& site) { return site.event == publish || site.event == core_publish; }
bool is_check(const CallSite& site) { return site.event == kernel_check || site.event == output_check; }
bool is_verdict(const CallSite& site) {
    return site.event == ack || site.event == nak || site.event == term || site.event == in_progress;
}

std::string_view event_name(const CallSite& site) {
    const auto info = std::ranges::find(event_table(), site.event, &EventInfo::kind);
    return info == event_table().end() ? "?" : info->name;
}

Document place_of(const CallSite& site, const char* when, int nth) {
    Document on = {{"event", std::string(event_name(site))}, {"when", when}, {"node", "schedulers"}};
    if (!site.script.empty()) on["script"] = site.script;
    if (!site.command.empty()) on["command"] = site.command;
    if (!site.subject.empty()) on["subject"] = site.subject;
    if (nth != 1) on["nth"] = nth;
    return on;
}

/// The first few, then evenly up to the last.
std::vector<int> occurrences(int count, int wanted) {
    std::set<int> out;
    const int first = std::min({count, wanted, std::max(1, (wanted + 1) / 2)});
    for (int n = 1; n <= first; ++n) out.insert(n);
    const int rest = std::min(count, wanted) - first;
    for (int i = 1; i <= rest; ++i)
        out.insert(first + static_cast<int>(static_cast<std::int64_t>(count - first) * i / rest));
    return {out.begin(), out.end()};
}

/// When the last line of load has been told.
Duration end_of_load(const Scenario& scenario) {
    Duration end{};
    for (const Load& line : scenario.load) {
        const double seconds = line.per_second > 0 ? line.count / line.per_second : 0;
        end = std::max(end, line.at + Duration(std::chrono::seconds{static_cast<std::int64_t>(seconds) + 1}));
    }
    return end;
}

/// One job more, long after the others: until then the loops of the schedulers tick, and their calls count, too.
void add_straggler(Document& document, const Scenario& scenario) {
    const auto submits = [](const Document& line) {
        return !line.contains("cancel") && !line.contains("approve") && !line.contains("workflow");
    };
    if (!document.contains("load")) return;
    const auto first = std::ranges::find_if(document["load"], submits);
    if (first == document["load"].end()) return;
    Document line = *first;
    line.erase("count");
    line.erase("rate");
    if (line.contains("job")) line["job"].erase("job_id");
    line["at"] = engine::format_duration(end_of_load(scenario) + kIdleTime);
    document["load"].push_back(std::move(line));
}

/// What is lost in a fault may take several timeouts to be missed; a run that is quiet ends at once in any case.
Document without_faults(Document document) {
    document["duration"] = "3h";
    for (const char* key : {"faults", "chaos", "tags", "description", "proves"}) document.erase(key);
    document["expect"] = {{"invariants", "all"}};
    if (!document["cluster"].contains("nats")) document["cluster"]["nats"] = {{"sync_interval", kSyncedAfter}};
    return document;
}

class Enumeration {
public:
    Enumeration(const Document& scenario, const Runner& runner, const EnumerateOptions& options)
        : base_(without_faults(scenario)), runner_(runner), options_(options) {}

    EnumerateOutcome run() {
        if (!fault_free_run()) return std::move(out_);
        make_plan();
        side_by_side(options_.threads, [this] { work(); });
        out_.interrupted = stopped();
        return std::move(out_);
    }

private:
    bool fault_free_run() {
        auto scenario = parse_document(base_, "scenario");
        if (scenario) {
            add_straggler(base_, *scenario);
            scenario = parse_document(base_, "scenario");
        }
        if (!scenario) {
            out_.error = to_string(scenario.error().front());
            return false;
        }
        late_by_ = scenario->cluster.config.job_lock_ttl * 5 / 4;
        seed_ = scenario->seed;
        RunOptions options;
        options.calls = true;
        options.stop = options_.stop;
        RunResult result = runner_(*scenario, seed_, options);
        if (!result.passed) {
            out_.error = fmt::format("it does not even hold without faults: {}", signature_of(result));
            return false;
        }
        out_.sites = std::move(result.calls);
        for (const CallSite& site : out_.sites) out_.table[name_of(site)];
        return true;
    }

    void make_plan() {
        for (std::size_t i = 0; i < out_.sites.size(); ++i) {
            for (const CallFate fate : kCallFates) {
                if (!possible(out_.sites[i], fate)) continue;
                for (const int nth : occurrences(out_.sites[i].count, options_.occurrences))
                    plans_.push_back({{i, fate, nth}});
            }
        }
        const std::size_t singles = plans_.size();
        fakes::Rng rng(seed_, "pairs");
        for (std::uint64_t n = 0; n < options_.pairs && singles > 1; ++n)
            plans_.push_back({plans_[rng.below(singles)].front(), plans_[rng.below(singles)].front()});
    }

    void work() {
        for (std::size_t index = next_++; index < plans_.size() && !stopped(); index = next_++) {
            const Plan& plan = plans_[index];
            Document document = base_;
            document["faults"] = Document::array();
            for (const Planned& one : plan) {
                for (Document& fault : faults_of(out_.sites[one.site], one.fate, one.nth, late_by_))
                    document["faults"].push_back(std::move(fault));
            }
            const auto scenario = parse_document(document, "enumerated");
            RunResult result;
            RunOptions options;
            options.stop = options_.stop;
            options.explain = false;
            if (scenario)
                result = runner_(*scenario, seed_, options);
            else
                result.error = to_string(scenario.error().front());
            result.seed = seed_;
            completed(plan, std::move(document), result);
        }
    }

    void completed(const Plan& plan, Document document, const RunResult& result) {
        const std::lock_guard lock(mutex_);
        if (result.interrupted) return;
        CallCoverage& coverage = plan.size() > 1 ? out_.pairs : cell(plan.front());
        ++coverage.runs;
        coverage.effective +=
            std::ranges::all_of(result.faults, [](const FaultCount& fault) { return fault.effective > 0; }) ? 1 : 0;
        const std::string signature = signature_of(result);
        const Failure* found = nullptr;
        if (!signature.empty()) {
            ++coverage.failures;
            const auto [entry, is_new] = out_.failures.try_emplace(
                signature, failure_of(std::move(document), result, fmt::format("enumerate, {}", described(plan))));
            if (is_new) found = &entry->second;
        }
        if (options_.on_run) options_.on_run(++done_, plans_.size(), found);
    }

    CallCoverage& cell(const Planned& one) {
        return out_.table[name_of(out_.sites[one.site])][static_cast<std::size_t>(one.fate)];
    }

    [[nodiscard]] std::string described(const Plan& plan) const {
        std::string out;
        for (const Planned& one : plan)
            out += fmt::format("{}{} number {} {}", out.empty() ? "" : " and ", name_of(out_.sites[one.site]), one.nth,
                               to_string(one.fate));
        return out;
    }

    [[nodiscard]] bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }

    Document base_;
    const Runner& runner_;
    const EnumerateOptions& options_;
    std::uint64_t seed_ = 1;
    Duration late_by_{};
    std::vector<Plan> plans_;
    std::atomic<std::size_t> next_ = 0;
    std::mutex mutex_;  // guards what follows
    std::uint64_t done_ = 0;
    EnumerateOutcome out_;
};

}  // namespace

std::string_view to_string(CallFate fate) {
    switch (fate) {
        case CallFate::not_applied: return "not applied";
        case CallFate::unknown: return "unknown";
        case CallFate::lost: return "lost";
        case CallFate::crash_before: return "crash before";
        case CallFate::crash_after: return "crash after";
        case CallFate::late: return "late";
        case CallFate::restarted: return "restarted";
        case CallFate::power_cut: return "power cut";
    }
    return "?";
}

std::string name_of(const CallSite& site) {
    std::string out(event_name(site));
    for (const std::string* part : {&site.script, &site.command, &site.subject}) {
        if (!part->empty()) out += " " + *part;
    }
    return out;
}

bool possible(const CallSite& site, CallFate fate) {
    // Of the servers only NATS may be another one afterwards; a call that nobody waits for does not learn of it.
    if (fate == CallFate::restarted || fate == CallFate::power_cut) return site.event == publish;
    const bool unanswered = fate == CallFate::unknown || fate == CallFate::lost;
    if (is_check(site) && unanswered) return false;  // asking has no effect
    return !(is_verdict(site) && unanswered);        // nobody waits for an answer
}

namespace {

Document fault_of(const CallSite& site, CallFate fate, int nth, Duration late_by) {
    const bool before = fate != CallFate::crash_after && fate != CallFate::late;
    // Of a core message nobody but its sender learns when it has left.
    const char* after = site.event == core_publish ? "answered" : "applied";
    Document fault = {{"on", place_of(site, before ? "before" : after, nth)}};
    const auto finish = [&fault](std::initializer_list<std::pair<const char*, Document>> members) {
        for (const auto& [key, value] : members) fault[key] = value;
        return fault;
    };
    switch (fate) {
        case CallFate::crash_before:
        case CallFate::crash_after: return finish({{"do", "crash"}, {"target", "actor"}, {"for", kDownFor}});
        case CallFate::late:
            return finish({{"do", "pause"}, {"target", "actor"}, {"for", engine::format_duration(late_by)}});
        case CallFate::not_applied:
        case CallFate::unknown:
        case CallFate::lost:
        case CallFate::restarted:
        case CallFate::power_cut: break;
    }
    const char* outcome = fate == CallFate::not_applied ? "not_applied" : fate == CallFate::lost ? "lost" : "unknown";
    if (on_bus(site))
        return finish(
            {{"do", "nats.publish_errors"}, {"outcome", outcome}, {"subject", site.subject}, {"for", kThisCall}});
    if (is_check(site))
        return finish(
            {{"do", site.event == kernel_check ? "kernel.errors" : "output_policy.errors"}, {"for", kUntilItArrives}});
    if (is_verdict(site))
        return finish({{"do", "nats.lost_acks"}, {"subject", site.subject}, {"for", kUntilItArrives}});
    return finish({{"do", "redis.errors"}, {"outcome", outcome}, {"for", kThisCall}});
}

}  // namespace

std::vector<Document> faults_of(const CallSite& site, CallFate fate, int nth, Duration late_by) {
    std::vector<Document> faults{fault_of(site, fate, nth, late_by)};
    if (fate == CallFate::restarted || fate == CallFate::power_cut)
        faults.push_back({{"on", place_of(site, "applied", nth)},
                          {"do", fate == CallFate::restarted ? "nats.restart" : "nats.power_cut"},
                          {"for", kRestartsWithin}});
    return faults;
}

EnumerateOutcome enumerate(const Document& scenario, const Runner& runner, const EnumerateOptions& options) {
    return Enumeration(scenario, runner, options).run();
}

}  // namespace lockstep::sim
