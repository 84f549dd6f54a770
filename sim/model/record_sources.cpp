#include "sim/model/record_sources.h"

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/sha256.h"
#include "engine/wire/text.h"
#include "sim/model/request_facts.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view kRedactedText = "[REDACTED]";

}  // namespace

std::string approval_hash(cap::JobRequest request, std::string_view job) {
    erase_labels(*request.mutable_labels(), is_added_on_the_way);
    request.mutable_env()->erase("CORDUM_EFFECTIVE_CONFIG");
    request.set_job_id(std::string(job));
    request.set_topic(std::string(engine::wire::trim(request.topic())));
    return engine::wire::sha256_hex(engine::wire::serialise(request));
}

std::string_view decision_of(const cap::PolicyCheckResponse& answer) {
    switch (answer.decision()) {
        case cap::DECISION_TYPE_ALLOW: return answer.approval_required() ? "REQUIRE_APPROVAL" : "ALLOW";
        case cap::DECISION_TYPE_ALLOW_WITH_CONSTRAINTS:
            return answer.approval_required() ? "REQUIRE_APPROVAL" : "ALLOW_WITH_CONSTRAINTS";
        case cap::DECISION_TYPE_REQUIRE_HUMAN: return "REQUIRE_APPROVAL";
        case cap::DECISION_TYPE_THROTTLE: return "THROTTLE";
        default: return "DENY";
    }
}

std::string redacted(std::string_view content, bool cut_off, const cap_output::OutputCheckResponse& answer) {
    std::vector<bool> found(content.size());
    bool usable = false;
    for (const auto& finding : answer.findings()) {
        const auto size = static_cast<std::int64_t>(content.size());
        if (finding.offset() < 0 || finding.length() <= 0 || finding.offset() >= size) continue;
        usable = true;
        const std::int64_t end = finding.offset() + std::min(finding.length(), size - finding.offset());
        for (std::int64_t at = finding.offset(); at < end; ++at) found[static_cast<std::size_t>(at)] = true;
    }
    if (!usable) return std::string(kRedactedText);
    std::string text;
    for (std::size_t at = 0; at < content.size(); ++at) {
        if (!found[at])
            text += content[at];
        else if (at == 0 || !found[at - 1])
            text += kRedactedText;
    }
    if (cut_off && !found.back()) text += kRedactedText;
    return text;
}

}  // namespace lockstep::sim
