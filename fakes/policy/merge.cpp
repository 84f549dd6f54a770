#include "fakes/policy/merge.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "engine/wire/sha256.h"

namespace lockstep::fakes::policy {
namespace {

template <class R>
void lay_over(std::vector<R>& base, std::vector<R> rules) {
    for (R& rule : rules) {
        const auto same =
            std::ranges::find_if(base, [&](const R& old) { return !rule.id.empty() && old.id == rule.id; });
        if (same != base.end()) {
            *same = std::move(rule);
        } else {
            base.push_back(std::move(rule));
        }
    }
}

}  // namespace

void merge(Document& base, Document fragment) {
    lay_over(base.rules, std::move(fragment.rules));
    lay_over(base.input_rules, std::move(fragment.input_rules));
    lay_over(base.output_rules, std::move(fragment.output_rules));
    for (auto& [name, tenant] : fragment.tenants) base.tenants[name] = std::move(tenant);
}

std::string merged_snapshot_id(std::string file_snapshot, const std::vector<std::string>& fragments) {
    if (fragments.empty()) return file_snapshot;
    std::string all;
    for (const std::string& fragment : fragments) {
        all += engine::wire::sha256_hex(fragment);  // of each, so that text cannot move between two unnoticed
    }
    return fmt::format("{}|cfg:{}", file_snapshot, engine::wire::sha256_hex(all));
}

}  // namespace lockstep::fakes::policy
