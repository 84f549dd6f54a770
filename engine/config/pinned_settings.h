// Which switchable settings were given explicitly at start, by environment variable or tunable: the configuration service
// does not change those (C-19).
#pragma once

namespace lockstep::engine {

struct PinnedSettings {
    bool input_fail_mode = false;
    bool output_fail_mode = false;
};

}  // namespace lockstep::engine
