// What a process of ours does beside Redis and NATS.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace lockstep::prod {

/// A client of the servers (worker, operator command) has neither role, and the rules about their settings are not its own.
struct Roles {
    bool scheduler = false;
    bool workflow = false;

    friend bool operator==(const Roles&, const Roles&) = default;
};

inline constexpr Roles kClientRole{};
inline constexpr Roles kSchedulerRole{.scheduler = true};

/// `scheduler`, `workflow`, or both with a comma between them. The error says what was expected.
[[nodiscard]] tl::expected<Roles, std::string> parse_roles(std::string_view text);
/// As `parse_roles` takes it. REQUIRES: one of them at least.
[[nodiscard]] std::string_view to_string(const Roles& roles);

}  // namespace lockstep::prod
