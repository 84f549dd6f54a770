#include "engine/wire/policy_marks.h"

#include <algorithm>

#include "engine/wire/messages.h"

namespace lockstep::engine::wire {

namespace {

using Map = google::protobuf::Map<std::string, std::string>;

template <class Names>
bool names_any(const Map& map, const Names& names) {
    return std::ranges::any_of(names, [&map](const char* name) { return map.contains(name); });
}

template <class Names>
void erase(Map& map, const Names& names) {
    for (const char* name : names) map.erase(name);
}

/// Of a request, or of the compensation in it.
template <class Message>
bool carries(const Message& message) {
    return names_any(message.labels(), kPolicyLabels) || names_any(message.env(), kPolicyVariables) ||
           names_any(message.meta().labels(), kPolicyLabels);
}

template <class Message>
void strip(Message& message) {
    erase(*message.mutable_labels(), kPolicyLabels);
    erase(*message.mutable_env(), kPolicyVariables);
    // Not touched without need: metadata that is not there is not the same as metadata that says nothing.
    if (message.has_meta()) erase(*message.mutable_meta()->mutable_labels(), kPolicyLabels);
}

}  // namespace

bool carries_policy_marks(const cap::JobRequest& request) {
    return carries(request) || carries(request.compensation());
}

void strip_policy_marks(cap::JobRequest& request) {
    strip(request);
    if (request.has_compensation()) strip(*request.mutable_compensation());
}

}  // namespace lockstep::engine::wire
