#include "prod/config/roles.h"

#include <fmt/core.h>

#include "engine/runtime/invariant.h"
#include "engine/wire/text.h"

namespace lockstep::prod {

tl::expected<Roles, std::string> parse_roles(std::string_view text) {
    Roles roles;
    std::string_view rest = text;
    while (true) {
        const std::size_t comma = rest.find(',');
        const std::string_view one = engine::wire::trim(rest.substr(0, comma));
        if (one == "scheduler")
            roles.scheduler = true;
        else if (one == "workflow")
            roles.workflow = true;
        else
            return tl::make_unexpected(
                fmt::format("expected scheduler, workflow, or scheduler,workflow, got \"{}\"", text));
        if (comma == std::string_view::npos) return roles;
        rest.remove_prefix(comma + 1);
    }
}

std::string_view to_string(const Roles& roles) {
    PRECONDITION(roles.scheduler || roles.workflow, "a client has no role");
    if (!roles.workflow) return "scheduler";
    return roles.scheduler ? "scheduler,workflow" : "workflow";
}

}  // namespace lockstep::prod
