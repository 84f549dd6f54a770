#include "engine/wire/job_hash.h"

#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/sha256.h"
#include "engine/wire/text.h"

namespace lockstep::engine::wire {
namespace {

bool belongs_to_the_approval(const std::string& label) {
    return label == kMessageIdLabel || ascii_lower(label).starts_with("approval_");
}

}  // namespace

std::string job_hash(const cap::JobRequest& request) {
    cap::JobRequest bare = request;
    auto& labels = *bare.mutable_labels();
    for (const auto& [label, value] : request.labels()) {
        if (belongs_to_the_approval(label)) labels.erase(label);
    }
    bare.mutable_env()->erase("CORDUM_EFFECTIVE_CONFIG");
    bare.DiscardUnknownFields();
    return sha256_hex(serialise(bare));
}

}  // namespace lockstep::engine::wire
