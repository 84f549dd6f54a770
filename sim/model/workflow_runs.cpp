#include "sim/model/workflow_runs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <variant>

#include "sim/model/job_keys.h"
#include "sim/model/run_document.h"

namespace lockstep::sim {

using nlohmann::json;

namespace {

constexpr std::string_view kOpenJobs = "lockstep:wf:open:", kDue = "lockstep:wf:due:", kAsked = "lockstep:wf:asked";

}  // namespace

WorkflowRun* WorkflowRuns::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
}

bool WorkflowRuns::has_begun_another(std::string_view run) const {
    const std::string prefix = std::string(run) + ".";
    const auto next = by_name_.upper_bound(prefix);
    return next != by_name_.end() && next->first.starts_with(prefix);
}

JsonDocument WorkflowRuns::definition_of(const WorkflowRun& run) const {
    if (const auto own = of_runs_.find(run.name); own != of_runs_.end()) return own->second;
    const auto found = of_workflows_.find(run.document ? member_text(*run.document, "workflow_id") : "");
    return found == of_workflows_.end() ? nullptr : found->second;
}

WorkflowRun& WorkflowRuns::run(std::string_view name) {
    if (WorkflowRun* known = find(name)) return *known;
    WorkflowRun& made = runs_.emplace_back(WorkflowRun{.name = std::string(name)});
    by_name_.emplace(made.name, &made);
    return made;
}

void WorkflowRuns::note_mark(std::string_view key, std::string_view mark) {
    constexpr std::string_view kInHand = "lockstep:wf:in_hand:";
    WorkflowRun* run = key.starts_with(kInHand) ? find(key.substr(kInHand.size())) : nullptr;
    if (run != nullptr) run->handling.mark(mark);
}

WorkflowRun* WorkflowRuns::run_behind(std::string_view prefix, std::string_view key) const {
    return key.starts_with(prefix) ? find(key.substr(prefix.size())) : nullptr;
}

void WorkflowRuns::note_job(std::string_view key, std::string_view job, std::optional<std::string_view> step) {
    WorkflowRun* run = run_behind(kOpenJobs, key);
    if (run == nullptr) return;
    if (step)
        run->kept.open.insert_or_assign(std::string(job), *step);
    else if (const auto known = run->kept.open.find(job); known != run->kept.open.end())
        run->kept.open.erase(known);
}

void WorkflowRuns::note_member(std::string_view key, std::string_view member, std::optional<double> score) {
    if (key == kAsked) {
        if (WorkflowRun* run = find(member)) run->kept.is_asked = score.has_value();
        return;
    }
    WorkflowRun* run = run_behind(kDue, key);
    if (run == nullptr) return;
    if (score)
        run->kept.due.insert_or_assign(std::string(member), static_cast<std::int64_t>(*score));
    else if (const auto known = run->kept.due.find(member); known != run->kept.due.end())
        run->kept.due.erase(known);
}

void WorkflowRuns::key_removed(std::string_view key, fakes::redis::Removal why) {
    note_mark(key, {});
    const auto given = why == fakes::redis::Removal::deleted ? results_.end() : results_.find(key);
    if (given != results_.end()) given->second.clear();
    for (const std::string_view prefix : {kOpenJobs, kDue}) {
        WorkflowRun* run = run_behind(prefix, key);
        if (run == nullptr) continue;
        if (why != fakes::redis::Removal::deleted) run->kept.is_known = false;
        if (prefix == kOpenJobs)
            run->kept.open.clear();
        else
            run->kept.due.clear();
    }
    if (WorkflowRun* run = find(run_of_document_key(key))) run->document.reset();
}

bool WorkflowRuns::note_definition(std::string_view key, std::string_view value) {
    constexpr std::string_view kOfWorkflow = "wf:def:";
    constexpr std::string_view kOfRun = "lockstep:wf:def:";
    const bool of_workflow = key.starts_with(kOfWorkflow);
    if (!of_workflow && !key.starts_with(kOfRun)) return false;
    key.remove_prefix((of_workflow ? kOfWorkflow : kOfRun).size());
    (of_workflow ? of_workflows_ : of_runs_).insert_or_assign(std::string(key), parse_document(value));
    return true;
}

void WorkflowRuns::note_result(std::string_view key, std::string_view text) {
    constexpr std::string_view kResults = "res:";
    constexpr std::size_t kBytesMax = 4096, kTextsMax = 8;
    if (!key.starts_with(kResults) || run_of_job(key.substr(kResults.size())).empty()) return;
    const auto [place, is_new] = results_.try_emplace(std::string(key));
    std::vector<std::string>& texts = place->second;
    const bool is_kept = (is_new || !texts.empty()) && texts.size() < kTextsMax && text.size() <= kBytesMax;
    if (!is_kept)
        texts.clear();
    else if (std::ranges::find(texts, text) == texts.end())
        texts.emplace_back(text);
}

const std::vector<std::string>* WorkflowRuns::results_at(std::string_view key) const {
    const auto found = results_.find(key);
    return found == results_.end() || found->second.empty() ? nullptr : &found->second;
}

void WorkflowRuns::lose_some(EventNumber present) {
    for (WorkflowRun& run : runs_) run.lost = present;
}

void WorkflowRuns::restored(const fakes::redis::Keyspace& now, EventNumber present) {
    lose_some(present);
    for (auto& [key, texts] : results_) texts.clear();
    for (WorkflowRun& run : runs_) {
        run.restored = present;
        run.kept.is_known = false;
        const auto* kept = now.find("wf:run:" + run.name);
        const auto* text = kept == nullptr ? nullptr : std::get_if<std::string>(&kept->value);
        run.document = text == nullptr ? nullptr : parse_document(*text);
        if (const auto* outbox = container_at<fakes::redis::Hash>(now, "lockstep:wf:outbox:" + run.name))
            for (const auto& [what, packet] : *outbox) note_outbox(packet);
    }
}

void WorkflowRuns::cut_off(EventNumber present) {
    for (WorkflowRun& run : runs_) run.cut_off = present;
}

}  // namespace lockstep::sim
