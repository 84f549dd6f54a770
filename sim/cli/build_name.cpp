#include "sim/cli/build_name.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "engine/wire/json_text.h"
#include "sim/cli/version.h"

namespace lockstep::sim::cli {

usage::Build build_of(const Environment& environment) { return {kVersion, environment.commit, environment.dirty}; }

std::string build_name(const Environment& environment) { return build_of(environment).name(); }

std::string heading_of_trace(const std::string& name, std::uint64_t seed, const std::string& build,
                             const std::string& replay) {
    const nlohmann::json heading{{"name", name}, {"seed", seed}, {"build", build}, {"replay", replay}};
    return engine::wire::json_text(heading);
}

void note_other_build(const std::string& what, const std::string& recorded_by, const Environment& environment) {
    const std::string here = build_name(environment);
    if (recorded_by.empty()) return;
    if (recorded_by != here)
        environment.err << fmt::format(
            "lockstep: note: {} is of the build {}, this is {}: the same seed may give another history here\n", what,
            recorded_by, here);
    else if (environment.dirty)
        environment.err << fmt::format(
            "lockstep: note: {} is of a build {} with changes that no commit has; if they are not those of this build, "
            "the same seed "
            "may give another history here\n",
            what, recorded_by);
}

}  // namespace lockstep::sim::cli
