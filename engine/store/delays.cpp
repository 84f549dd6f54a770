#include "engine/store/delays.h"

#include <algorithm>

namespace lockstep::engine {

Duration longest_delay(const Tunables& tunables) {
    return std::max({tunables.backoff_max, tunables.safety_throttle_delay, tunables.safety_unavailable_delay,
                     tunables.retry_delay_no_workers, kInputRetryDelay});
}

}  // namespace lockstep::engine
