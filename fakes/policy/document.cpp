#include "fakes/policy/document.h"

#include <fmt/core.h>

#include "engine/wire/sha256.h"

namespace lockstep::fakes::policy {

bool McpLists::empty() const {
    for (const Lists* lists : {&servers, &tools, &resources, &actions}) {
        if (!lists->allow.empty() || !lists->deny.empty()) return false;
    }
    return true;
}

bool Document::input_active() const { return !input_rules.empty() && input_policy.enabled.value_or(true); }

bool Document::output_active() const {
    const bool switched_off = output_policy.enabled == false && !output_policy.fail_mode.empty();
    return !output_rules.empty() && !switched_off;
}

std::string snapshot_id(const Document& document, std::string_view text) {
    const std::string hash = engine::wire::sha256_hex(text);
    return document.version.empty() ? hash : fmt::format("{}:{}", document.version, hash);
}

}  // namespace lockstep::fakes::policy
