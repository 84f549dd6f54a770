#include "sim/oracles/result_kept.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "sim/model/job_keys.h"

namespace lockstep::sim {

void ResultKept::on_event(const fakes::Event& event, Time) {
    const bool on_its_way = event.kind == fakes::EventKind::core_publish || event.kind == fakes::EventKind::deliver;
    if (!on_its_way || event.subject != engine::wire::kSubjectResult || event.packet == nullptr) return;
    if (!event.packet->has_job_result()) return;
    const auto& result = event.packet->job_result();
    if (result.status() != cap::JOB_STATUS_SUCCEEDED) return;
    given_[result.job_id()].emplace(result.result_ptr(), present());
}

void ResultKept::at_rest(const RestView& view) {
    for (const auto& [job, given] : given_) {
        const auto pointer = std::ranges::find_if(given, [](const auto& one) { return !one.first.empty(); });
        if (pointer == given.end() || lost_.any_of(job) || job_state(view.redis, job) != "SUCCEEDED") continue;
        exercise();
        const std::string kept = hash_field(view.redis, fmt::format("job:meta:{}", job), "result_ptr").value_or("");
        // Also none, where one of the successes that somebody reported gave none.
        const bool theirs = std::ranges::any_of(given, [&kept](const auto& one) {
            return kept == one.first || (!one.first.empty() && kept.starts_with(one.first + ":redacted:"));
        });
        if (!theirs)
            violated({}, job,
                     fmt::format("it is SUCCEEDED and its worker gave {}, but its result pointer is \"{}\"",
                                 pointer->first, kept),
                     pointer->second);
        const auto* mirror = view.redis.find(fmt::format("job:result_ptr:{}", job));
        const auto* text = mirror == nullptr ? nullptr : std::get_if<std::string>(&mirror->value);
        if (text != nullptr && *text != kept)
            violated({}, job, fmt::format("its hash points to \"{}\", and job:result_ptr to \"{}\"", kept, *text));
    }
}

}  // namespace lockstep::sim
