// The settings that the configuration service holds, as they are documented (settings.md 1 to 5). Read here once more, so that what schedulers make of a document
// is held against the document and not against their own reading of it.
#pragma once

#include <optional>
#include <string_view>

#include "engine/config/overlay.h"
#include "sim/model/settings_read.h"

namespace lockstep::sim {

/// The parts of `cfg:system:default` that can be used, but for limits (settings_text.h), without fingerprints and mistakes; nothing: the
/// document is no JSON object, or its `data` is none.
[[nodiscard]] std::optional<engine::Overlay> read_settings(std::string_view document);

/// Which of them each replica may go by. It belongs to an observer of the events and of the keyspace, which passes on what it hears.
class SettingsInForce : public SettingsRead<engine::Overlay> {
public:
    SettingsInForce() : SettingsRead(read_settings) {}
};

}  // namespace lockstep::sim
