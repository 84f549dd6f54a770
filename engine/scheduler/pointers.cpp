#include "engine/scheduler/pointers.h"

#include <algorithm>
#include <ranges>

#include "engine/wire/pointer.h"
#include "engine/wire/validation.h"

namespace lockstep::engine {

namespace {

bool has_prefix_of(std::string_view key, std::string_view prefixes) {
    return std::ranges::any_of(prefixes | std::views::split(','), [key](const auto& part) {
        const std::string_view prefix = wire::trim(std::string_view(part.begin(), part.end()));
        return !prefix.empty() && key.starts_with(prefix);
    });
}

}  // namespace

Task<Outcome<bool>> may_point(Replica& replica, std::string pointer, JobId job, std::string tenant) {
    const std::string_view key = wire::key_of_pointer(pointer);
    if (key.empty() || has_prefix_of(key, replica.tunables.pointer_prefixes)) co_return true;
    const std::string_view owner = wire::owner_of_data(key);
    if (owner.empty()) co_return false;
    if (owner == job.text()) co_return true;
    const auto owned_by = co_await replica.store.tenant_of(JobId(owner));
    if (!owned_by.applied()) co_return owned_by.failure_as<bool>();
    co_return owned_by.value().empty() || owned_by.value() == wire::tenant_or_default(tenant);
}

}  // namespace lockstep::engine
