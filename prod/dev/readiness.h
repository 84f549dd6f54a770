// Whether a replica takes jobs.
#pragma once

namespace lockstep::prod {

/// What GET /readyz on this port of loopback says. False also where nobody answers. Blocks for as long as the answer takes.
[[nodiscard]] bool says_ready(int port);

}  // namespace lockstep::prod
