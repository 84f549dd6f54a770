// What the log of a process is told by its configuration.
#pragma once

#include <string>

namespace lockstep::prod {

struct LogSettings {
    std::string level = "info";
    bool json = false;
};

}  // namespace lockstep::prod
