#include <sstream>

#include "engine/testing/fuzz_target.h"
#include "prod/config/pools_file.h"
#include "prod/config/settings.h"
#include "prod/config/timeouts.h"
#include "prod/config/yaml.h"
#include "prod/fuzz/targets.h"
#include "prod/kernel/policy_file.h"

namespace lockstep::fuzz {

void yaml(std::string_view input) {
    const std::string text(input);
    const auto document = prod::parse_yaml(text, "fuzz.yaml");
    if (document) FUZZ_MUST(!document->json.empty());
    // An error names the file.
    const auto answered = [](const auto& parsed) {
        return parsed.has_value() || parsed.error().find("fuzz.yaml") != std::string::npos;
    };
    FUZZ_MUST(answered(document));
    FUZZ_MUST(answered(prod::parse_pools_file(text, "fuzz.yaml")));
    FUZZ_MUST(answered(prod::parse_timeouts_file(text, "fuzz.yaml")));
    FUZZ_MUST(answered(prod::parse_policy(text, "fuzz.yaml")));
}

void environment(std::string_view input) {
    prod::Environment::Values values;
    std::istringstream lines{std::string(input)};
    for (std::string line; std::getline(lines, line);) {
        const auto equals = line.find('=');
        if (equals != std::string::npos && equals > 0) values[line.substr(0, equals)] = line.substr(equals + 1);
    }
    const auto settings = prod::read_settings(prod::Environment(std::move(values)));
    if (!settings) FUZZ_MUST(!settings.error().empty());
}

}  // namespace lockstep::fuzz
