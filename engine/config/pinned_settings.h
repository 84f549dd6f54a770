// Which switchable settings were given explicitly at start, by environment variable or tunable: neither the configuration service
// nor a file changes those (C-19, D-27).
#pragma once

namespace lockstep::engine {

struct PinnedSettings {
    bool input_fail_mode = false;
    bool output_fail_mode = false;
    // Of the reconciler block of a timeouts document. Its topics and workflows say more than it does, and stay in force.
    bool dispatch_timeout = false;
    bool running_timeout = false;
    bool reconciler_interval = false;
    bool replayer_interval = false;
};

}  // namespace lockstep::engine
