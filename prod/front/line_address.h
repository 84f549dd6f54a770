// Into which line a submission goes: the one thing that the front decides.
#pragma once

#include <optional>

#include "engine/ports/bus.h"
#include "engine/ports/clock.h"
#include "prod/front/cell_map.h"
#include "prod/front/passage.h"

namespace lockstep::prod {

/// The tenant is that of the tenant rule (engine/wire/validation.h), and that of a submission without one for what cannot be decoded or
/// is no submission: a scheduler there says what becomes of it. Bytes that are no packet are compared with what the stream holds, as they may
/// have been garbled on their way (D-01); nothing: the stream does not answer. References outlive the task.
[[nodiscard]] engine::Task<std::optional<Parcel>> line_address(engine::Bus& front, const engine::Clock& clock,
                                                               const CellMap& map, const engine::Delivery& submission);

}  // namespace lockstep::prod
