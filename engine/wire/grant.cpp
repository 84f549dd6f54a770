#include "engine/wire/grant.h"

#include "engine/wire/messages.h"
#include "engine/wire/text.h"

namespace lockstep::engine::wire {

bool carries_grant(const cap::JobRequest& request) {
    const auto label = request.labels().find("approval_granted");
    return label != request.labels().end() && ascii_lower(label->second) == "true";
}

}  // namespace lockstep::engine::wire
