#include "sim/oracles/quarantine_final.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "sim/model/job_keys.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view kStoredAt = "redis://";
/// Of the key of an output that has been redacted (wire.md 7.2).
constexpr std::string_view kRedacted = ":redacted:";

struct Record {
    std::string decision;  // empty when there is none
    std::string redacted_ptr;
    [[nodiscard]] bool withholds() const { return decision == "QUARANTINE" || decision == "DENY"; }
};

Record parsed(const std::string& text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object()) return {};
    return {json.value("decision", ""), json.value("redacted_ptr", "")};
}

}  // namespace

void QuarantineFinal::on_event(const fakes::Event& event, Time) {
    switch (event.kind) {
        case fakes::EventKind::output_check: on_check(event); break;
        case fakes::EventKind::state:
            if (event.to == "SUCCEEDED") succeeded_.emplace(event.job);
            // Recorded; or it has succeeded once more, and its output is another one.
            if (const auto kept = kept_.find(event.job); kept != kept_.end()) kept_.erase(kept);
            break;
        case fakes::EventKind::lock_acquired: {
            const auto question = latest_.find(event.job);
            if (question != latest_.end() && !succeeded_.contains(event.job)) question->second.answer.clear();
            break;
        }
        case fakes::EventKind::node_down:
            for (auto& [job, question] : latest_) {
                if (question.asker == event.node) question.answer.clear();
            }
            std::erase_if(kept_, [&event](const auto& kept) { return kept.second.by == event.node; });
            break;
        default: break;
    }
}

void QuarantineFinal::string_set(fakes::NodeId, std::string_view key, const std::string*, std::string_view,
                                 std::int64_t, std::int64_t) {
    if (key.find(kRedacted) != std::string_view::npos) replacements_.emplace(key);
}

void QuarantineFinal::hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string*,
                               std::string_view after) {
    if (field != "result_ptr" || by_user(client) || !after.starts_with(kStoredAt)) return;
    const auto job = job_of_hash(key);
    const std::string_view named = after.substr(kStoredAt.size());
    if (job && named.find(kRedacted) != std::string_view::npos && !replacements_.contains(named))
        violated(client, *job, fmt::format("it points to {}, where no redacted output has been stored", after),
                 upcoming());
}

void QuarantineFinal::on_check(const fakes::Event& event) {
    if (event.when == fakes::When::before) {
        latest_.insert_or_assign(std::string(event.job),
                                 Question{event.node, {}, present(), succeeded_.contains(event.job)});
        return;
    }
    if (event.when != fakes::When::answered || event.outcome != fakes::EventOutcome::applied) return;
    const auto question = latest_.find(event.job);
    if (question == latest_.end() || question->second.asker != event.node) return;
    question->second.answer = event.to;
    question->second.event = present();
    if (event.to == "QUARANTINE" && question->second.after_success)
        kept_.insert_or_assign(std::string(event.job), Kept{event.node, present()});
    if (event.to == "QUARANTINE" || event.to == "REDACT") exercise();
}

void QuarantineFinal::at_rest(const RestView& view) {
    for (const auto& [job, question] : latest_) {
        const std::string key = std::string(kJobHashPrefix) + job;
        const std::string state = job_state(view.redis, job);
        const Record record = parsed(hash_field(view.redis, key, "output_safety").value_or(""));
        const std::string pointer = hash_field(view.redis, key, "result_ptr").value_or("");
        // Its verdict could not be recorded, and somebody will ask again.
        const bool open = !hash_field(view.redis, key, "ls_scan_pending").value_or("").empty();
        if (state == "SUCCEEDED" && question.answer == "QUARANTINE" && !open)
            violated({}, job, "output policy quarantined its output, and it is SUCCEEDED", question.event);
        const auto kept = kept_.find(job);
        if (state == "SUCCEEDED" && kept != kept_.end() && question.answer != "QUARANTINE" && !open)
            violated(
                {}, job,
                "output policy quarantined its output, who heard that has lived on, and it is SUCCEEDED with nobody to "
                "ask again",
                kept->second.event);
        if (state == "SUCCEEDED" && question.answer == "REDACT" && !open && record.decision != "REDACT")
            violated({}, job,
                     fmt::format("output policy wants its output redacted, and it is SUCCEEDED with the record \"{}\"",
                                 record.decision),
                     question.event);
        if (state == "SUCCEEDED" && record.withholds())
            violated({}, job, fmt::format("its record says {}, and it is SUCCEEDED", record.decision));
        if (state == "OUTPUT_QUARANTINED" && !record.withholds())
            violated({}, job, fmt::format("it is OUTPUT_QUARANTINED, and its record says \"{}\"", record.decision));
        if (state == "SUCCEEDED" && record.decision == "REDACT" &&
            (record.redacted_ptr.empty() || pointer != record.redacted_ptr))
            violated({}, job,
                     fmt::format("its output was redacted to {}, and it points to {}", record.redacted_ptr, pointer));
    }
}

}  // namespace lockstep::sim
