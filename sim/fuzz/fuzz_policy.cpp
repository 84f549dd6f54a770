#include <nlohmann/json.hpp>

#include "engine/testing/fuzz_target.h"
#include "engine/wire/json_text.h"
#include "fakes/policy/glob.h"
#include "fakes/policy/parse.h"
#include "fakes/policy/pattern.h"
#include "sim/fuzz/targets.h"

namespace lockstep::fuzz {

namespace policies = fakes::policy;

void policy(std::string_view input) {
    const auto tree = engine::wire::parse_bounded(input);
    if (tree.is_discarded()) return;
    const auto document = policies::parse_document(tree);
    if (!document) {
        FUZZ_MUST(!document.error().empty());
        return;
    }
    (void)policies::snapshot_id(*document, input);
    (void)policies::with_output_policy(*document, tree);
}

void pattern(std::string_view input) {
    const auto line = input.find('\n');
    const std::string_view text = input.substr(0, line);
    const std::string_view content = line == std::string_view::npos ? std::string_view() : input.substr(line + 1);
    (void)policies::glob_matches(text, content);
    FUZZ_MUST(!text.empty() || content.empty() || !policies::glob_matches(text, content));

    const auto compiled = policies::Pattern::compile(text);
    if (!compiled) {
        FUZZ_MUST(!compiled.error().empty());
        return;
    }
    std::size_t from = 0;
    std::uint64_t budget = policies::Pattern::kBudget;
    const auto spans = compiled->find_all(content, budget);
    FUZZ_MUST(spans.has_value() == (budget > 0));
    if (!spans) return;
    for (const auto& span : *spans) {
        FUZZ_MUST(span.length > 0);
        FUZZ_MUST(span.offset >= from);
        FUZZ_MUST(span.offset + span.length <= content.size());
        from = span.offset + span.length;
    }
}

}  // namespace lockstep::fuzz
