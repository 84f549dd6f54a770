#include <nlohmann/json.hpp>

#include "engine/config/fingerprint.h"
#include "engine/config/overlay.h"
#include "engine/config/pools.h"
#include "engine/config/start_document.h"
#include "engine/config/timeouts.h"
#include "engine/fuzz/targets.h"
#include "engine/testing/fuzz_target.h"
#include "engine/wire/json_text.h"

namespace lockstep::fuzz {

namespace {

using namespace engine;

void pools(const std::string& text) {
    const auto table = parse_pools(text);
    if (!table) {
        FUZZ_MUST(!table.error().message.empty());
        return;
    }
    const auto stored = parse_pools(stored_pools(text));
    FUZZ_MUST(stored.has_value());
    FUZZ_MUST(stored->topics == table->topics);
    const auto written = start_document({}, {text, {}}, {});
    FUZZ_MUST(written.has_value());
    FUZZ_MUST(read_overlay(*written).has_value());
}

void timeouts(const std::string& text) {
    const auto times = parse_timeouts(text);
    if (!times) {
        FUZZ_MUST(!times.error().empty());
        return;
    }
    const auto stored = parse_timeouts(stored_form(*times));
    FUZZ_MUST(stored.has_value());
    Tunables tunables;
    apply_limits(*times, {}, tunables);
    FUZZ_MUST(tunables.dispatch_timeout > Duration{0});
    FUZZ_MUST(tunables.running_timeout > Duration{0});
}

}  // namespace

void settings(std::string_view input) {
    const std::string text(input);
    const auto tree = wire::parse_bounded(text);
    FUZZ_MUST(tree.is_discarded() == fingerprint_of_text(text).empty());
    pools(text);
    timeouts(text);
    (void)read_overlay(text);
    // A document that an operator has spoilt is left alone, or written so that it can be read.
    const auto next = start_document(text, {R"({"topics":{"job.a":["p"]}})", R"({"reconciler":{}})"}, {});
    if (next && !next->empty()) FUZZ_MUST(read_overlay(*next).has_value());
    (void)parse_duration(text);
}

}  // namespace lockstep::fuzz
