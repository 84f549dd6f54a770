#include "engine/wire/packet_kinds.h"

#include "engine/wire/subjects.h"

namespace lockstep::engine::wire {

bool counts_on(cap::BusPacket::PayloadCase kind, std::string_view subject) {
    switch (kind) {
        case cap::BusPacket::kJobRequest: return subject == kSubjectSubmit;
        case cap::BusPacket::kJobResult: return subject == kSubjectResult;
        case cap::BusPacket::kJobCancel: return subject == kSubjectCancel;
        case cap::BusPacket::kHeartbeat: return subject == kSubjectHeartbeat;
        case cap::BusPacket::kHandshake: return subject == kSubjectHandshake;
        default: return false;
    }
}

}  // namespace lockstep::engine::wire
