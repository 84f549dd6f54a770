// The policy that the simulated and the real kernel of the comparison decide by.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "fakes/policy/evaluator.h"
#include "fakes/policy/parse.h"

namespace lockstep::prod {

/// `job.no` is denied, `job.long` with a reason that is longer than a message of gRPC may be; outputs are quarantined
/// with a keyword in them.
inline fakes::policy::Evaluator test_policy() {
    auto rules = nlohmann::json::parse(R"({"default_decision": "allow",
        "rules": [{"id": "no", "match": {"topics": ["job.no"]}, "decision": "deny", "reason": "never"},
                  {"id": "long", "match": {"topics": ["job.long"]}, "decision": "deny"}],
        "output_rules": [{"id": "q", "decision": "quarantine", "match": {"keywords": ["secret"]}},
                         {"id": "l", "decision": "quarantine", "match": {"topics": ["job.long"]}}]})");
    constexpr std::size_t kMoreThanAMessage = std::size_t{5} << 20U;
    rules["rules"][1]["reason"] = std::string(kMoreThanAMessage, 'x');
    rules["output_rules"][1]["reason"] = std::string(kMoreThanAMessage, 'x');
    auto document = fakes::policy::parse_document(rules);
    if (!document) throw std::logic_error("the test's policy has mistakes");
    return fakes::policy::Evaluator(std::move(*document), "snap-1");
}

}  // namespace lockstep::prod
