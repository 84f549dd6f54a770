// The settings that the configuration service holds, as they are documented (settings.md 1 to 5). Read here once more, so that what schedulers make of a document
// is held against the document and not against their own reading of it.
#pragma once

#include <optional>
#include <string_view>

#include "engine/config/overlay.h"
#include "sim/model/time_limits.h"

namespace lockstep::sim {

struct DocumentedSettings : engine::Overlay {
    std::optional<TimeLimits> limits;  // in the place of `timeouts`, which stays empty
};

/// The parts of `cfg:system:default` that can be used, without fingerprints and mistakes; nothing: the document is no JSON object, or
/// its `data` is none.
[[nodiscard]] std::optional<DocumentedSettings> read_settings(std::string_view document);

}  // namespace lockstep::sim
