#include "sim/oracles/policy_before_dispatch.h"

#include <fmt/core.h>

#include "engine/wire/messages.h"
#include "sim/model/job_keys.h"

namespace lockstep::sim {

void PolicyBeforeDispatch::on_event(const fakes::Event& event, Time now) {
    word_.on_event(event, present(), now);
    approvals_.on_event(event);
    if (event.kind == fakes::EventKind::fault && event.name == "corrupt") garbled_ = true;
    if (!is_worker_subject(event.subject) || event.packet == nullptr) return;
    if (event.kind == fakes::EventKind::publish && event.when == fakes::When::before) on_sending(event);
    if (event.kind == fakes::EventKind::core_deliver) on_arrival(event);
}

void PolicyBeforeDispatch::on_sending(const fakes::Event& event) {
    Sending& sending = sent_[std::string(event.job)] = {};
    if (approvals_.find(event.job) != nullptr) return;
    const PolicyWord::Word word = word_.on_sending(event.node, event.job, event.packet->job_request());
    if (word.leave != Leave::none) return;
    sending.fault = word.other_content ? "policy has allowed it with other content"
                    : word.earlier_lock
                        ? "its sender has heard an allow for it, and has taken its lock again since without asking"
                    : word.heard != 0 ? "its sender has heard no allow for it, but another answer"
                                      : "its sender has heard no allow for it";
    sending.earlier = word.heard;
}

void PolicyBeforeDispatch::on_arrival(const fakes::Event& event) {
    exercise();
    const auto sent = sent_.find(event.job);
    if (sent == sent_.end()) {
        if (!garbled_)
            violated(event.node, event.job,
                     fmt::format("it arrived on {}, and no scheduler has sent it", event.subject));
    } else if (!sent->second.fault.empty()) {
        violated(event.node, event.job, fmt::format("it arrived on {}, and {}", event.subject, sent->second.fault),
                 sent->second.earlier);
    }
}

void PolicyBeforeDispatch::string_set(fakes::NodeId client, std::string_view key, const std::string*,
                                      std::string_view after, std::int64_t, std::int64_t) {
    word_.string_set(key, after);
    approvals_.string_set(client, key, after, present());
}

void PolicyBeforeDispatch::hash_set(fakes::NodeId client, std::string_view key, std::string_view field,
                                    const std::string*, std::string_view) {
    approvals_.hash_set(client, key, field, present());
}

void PolicyBeforeDispatch::zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double*,
                                    double) {
    word_.zset_set(client, key, member);
}

void PolicyBeforeDispatch::restored(const fakes::redis::Keyspace&) { word_.restored(); }

}  // namespace lockstep::sim
