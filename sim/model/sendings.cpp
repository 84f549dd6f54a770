#include "sim/model/sendings.h"

#include <algorithm>

namespace lockstep::sim {

std::vector<Sendings::Sending>::iterator Sendings::find(const fakes::Event& publish) {
    return std::ranges::find_if(sendings_, [&publish](const Sending& one) {
        return one.replica == publish.node && one.message_id == publish.message_id;
    });
}

Sendings::Unanswered Sendings::begins(const fakes::Event& publish, Time now) {
    auto sending = find(publish);
    if (sending == sendings_.end()) {
        sendings_.push_back({.replica = publish.node, .message_id = std::string(publish.message_id)});
        sending = std::prev(sendings_.end());
    }
    sending->begun = now;
    sending->refused = false;
    return sending->unanswered;
}

void Sendings::goes_on(const fakes::Event& publish, Since now) {
    const auto sending = find(publish);
    if (sending == sendings_.end()) return;
    const bool unknown = publish.outcome == fakes::EventOutcome::unknown;
    if (publish.when == fakes::When::applied)
        sending->refused = unknown;
    else if (unknown)
        sending->unanswered = {now, now.at - sending->begun, sending->refused};
    else if (sending->unanswered.since.event == 0 || publish.outcome == fakes::EventOutcome::applied)
        sendings_.erase(sending);
}

}  // namespace lockstep::sim
