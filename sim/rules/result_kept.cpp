// A SUCCEEDED job whose worker gave a result pointer has it in Redis, or the pointer to its redacted form, in its hash and beside it.
// Of a job of which Redis has lost something another run may be the one that is heard.
#include <algorithm>

#include "sim/model/job_keys.h"
#include "sim/rules/rules.h"

namespace lockstep::sim::rules {

void result_kept(Rules& rules, const engine::Tunables&) {
    rules.add([](const AtRest& rest, const Model&, Verdict& verdict) {
        const std::vector<GivenPointer>& given = rest.job->given;
        const auto pointer = std::ranges::find_if(given, [](const auto& one) { return !one.pointer.empty(); });
        const bool is_judged = pointer != given.end() && !rest.job->lost.any();
        if (!is_judged || job_state(*rest.redis, rest.job->name) != "SUCCEEDED") return;
        verdict.exercised();
        const std::string name(rest.job->name);
        const std::string kept = hash_field(*rest.redis, std::string(kJobHashPrefix) + name, "result_ptr").value_or("");
        // Also none, where one of the successes that were reported gave none.
        const bool theirs = std::ranges::any_of(given, [&kept](const auto& one) {
            return kept == one.pointer || (!one.pointer.empty() && kept.starts_with(one.pointer + ":redacted:"));
        });
        verdict.require(theirs, pointer->since,
                        "it is SUCCEEDED and its worker gave {}, but its result pointer is \"{}\"", pointer->pointer,
                        kept);
        const auto* text = container_at<std::string>(*rest.redis, "job:result_ptr:" + name);
        verdict.require(text == nullptr || *text == kept, 0, "its hash points to \"{}\", and job:result_ptr to \"{}\"",
                        kept, text == nullptr ? "" : *text);
    });
}

}  // namespace lockstep::sim::rules
