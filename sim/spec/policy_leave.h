// What lets a replica send a job (wire.md 8, steps 8 and 9; engine/delivery-semantics.md, "To a submitter").
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/config/tunables.h"
#include "sim/model/model.h"

namespace lockstep::sim::spec {

/// By the settings that any replica has, or had at some time in the run.
[[nodiscard]] inline bool may_fail_open(const Model& model, const engine::Tunables& tunables) {
    return tunables.policy_check_fail_mode == "open" || model.fail_mode_opened();
}

/// Whether a scheduler writes this label where nobody answered (wire.md 7.1).
[[nodiscard]] inline bool is_of_the_fail_mode(std::string_view label, std::string_view value) {
    return (label == "safety_bypassed" && value == "true") ||
           (label == "safety_bypass_reason" && value.starts_with("safety kernel"));
}

enum class Leave : std::uint8_t { none, allowed, failed_open };

/// An allow for exactly this request, or a question without an answer where the fail mode is, or was at some time in the run, open. The label
/// of a fail-open alone is none: a submitter may have written it.
[[nodiscard]] inline Leave leave_of(const Sent& sent, const Model& model, const engine::Tunables& tunables) {
    if (sent.word.allows) return Leave::allowed;
    return sent.word.unanswered && sent.says_bypassed && may_fail_open(model, tunables) ? Leave::failed_open
                                                                                        : Leave::none;
}

/// Policy last asked for a human, or the request only says that one has approved it. Where policy did not answer, the fail mode decides, unless
/// Redis has the question.
[[nodiscard]] inline bool needs_approval(const Sent& sent, const Model& model, const engine::Tunables& tunables) {
    switch (leave_of(sent, model, tunables)) {
        case Leave::allowed: return false;
        case Leave::failed_open: return sent.job->human.is_question_recorded();
        case Leave::none: break;
    }
    return sent.says_approved || sent.job->human.asked() != 0;
}

}  // namespace lockstep::sim::spec
