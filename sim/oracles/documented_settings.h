// The settings that the configuration service holds, as they are documented (settings.md 1 to 5; C-24 and D-10;
// engine/config/timeouts.h names the two spellings of our own). Read here once more, so that what schedulers make of a document
// is held against the document and not against their own reading of it.
#pragma once

#include <optional>
#include <string_view>

#include "engine/config/overlay.h"
#include "engine/config/timeouts.h"

namespace lockstep::sim {

/// The parts of `cfg:system:default` that can be used, without fingerprints and mistakes; nothing: the document is no JSON object, or
/// its `data` is none.
[[nodiscard]] std::optional<engine::Overlay> read_settings(std::string_view document);

/// A timeouts document, in JSON; nothing: something in it is not as documented, and nothing of it counts.
[[nodiscard]] std::optional<engine::Timeouts> read_limits(std::string_view document);

/// What a reconciler block that is there means: 300, 900 and 30 s wherever it says nothing or zero.
[[nodiscard]] engine::ReconcilerTimeouts limits_meant_by(const engine::ReconcilerTimeouts& block);

}  // namespace lockstep::sim
