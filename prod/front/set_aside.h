// What becomes of a message that the stream at the other end will never take: a dead letter tells of it, and the front is rid of it. In
// its durable it would come again for ever, and enough of such messages would leave no room for others.
#pragma once

#include <string>
#include <string_view>

#include "engine/ports/bus.h"
#include "engine/ports/clock.h"

namespace lockstep::prod {

/// The reason code of such letters. They stand on sys.job.dlq of the front and nowhere else: the front has no store.
inline constexpr std::string_view kNotRoutable = "not_routable";

/// Publishes the letter. `towards` names the other end, such as "cell east". False: the front's stream has not acknowledged it; once more
/// writes it once. References outlive the task.
[[nodiscard]] engine::Task<bool> publish_letter(engine::Bus& front, const engine::Clock& clock,
                                                const engine::Delivery& delivery, std::string towards, std::string why);

}  // namespace lockstep::prod
