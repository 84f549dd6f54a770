#include "sim/search/output_themes.h"

#include <utility>

#include "sim/search/disturbances.h"
#include "sim/search/theme_parts.h"

namespace lockstep::sim {

void troubled_outputs(Dice& dice, Document& scenario) {
    Document rules = Document::array();
    rules.push_back({{"id", "keys"},
                     {"decision", dice.word({"redact", "redact", "quarantine"})},
                     {"match", {{"scanners", {"secret"}}}}});
    rules.push_back({{"id", "people"}, {"decision", "redact"}, {"match", {{"scanners", {"pii"}}}}});
    scenario["cluster"]["output_policy"] = {
        {"enabled", true}, {"fail_mode", dice.word({"open", "closed"})}, {"rules", std::move(rules)}};
    if (dice.chance(0.5)) config(scenario)["output_content_timeout"] = dice.word({"2s", "5s"});
    for (int i = dice.between(2, 6); i > 0; --i) {
        const std::string output =
            dice.word({"write to ann@example.org", "the key is AKIAIOSFODNN7EXAMPLE",
                       "AKIAIOSFODNN7EXAMPLE@example.org, or ann@example.org", "call 555-01-2345", "nothing to see"});
        add_load(scenario, {{"at", dice.seconds(2, 30)},
                            {"count", dice.between(1, 3)},
                            {"rate", "2/s"},
                            {"job", {{"topic", "job.default"}, {"env", {{"SIM_OUTPUT", output}}}}}});
    }
    for (int i = dice.between(1, 3); i > 0; --i)
        add_fault(scenario, {{"at", dice.seconds(2, 40)},
                             {"do", "redis.errors"},
                             {"key", "res:*"},
                             {"commands", Document::array({dice.word({"GET", "GET", "SET", "GETRANGE"})})},
                             {"outcome", dice.word({"not_applied", "not_applied", "unknown"})},
                             {"rate", dice.share({0.3, 1.0})},
                             {"for", dice.word({"200ms", "2s", "10s"})}});
    if (dice.chance(0.5))
        add_fault(scenario, {{"at", dice.seconds(2, 20)},
                             {"do", "output_policy.decision"},
                             {"decision", dice.word({"redact", "redact", "quarantine", "deny", "allow"})},
                             {"rate", dice.share({0.3, 1.0})},
                             {"for", dice.word({"5s", "30s"})}});
    for (int i = dice.between(0, 2); i > 0; --i)
        add_preemption_at(dice, {{"event", "output_check"}}, 6, scenario["faults"]);
}

}  // namespace lockstep::sim
