#include "sim/explain/history.h"

#include <algorithm>
#include <utility>

#include "fakes/printable.h"
#include "sim/faults/trigger_matcher.h"

namespace lockstep::sim {

namespace {

constexpr std::size_t kReplyMax = 60;

bool happens_at_server(const HistoryEvent& event) {
    using fakes::EventKind;
    switch (event.kind) {
        case EventKind::stored: return true;
        case EventKind::publish:
        case EventKind::core_publish:
        case EventKind::ack:
        case EventKind::nak:
        case EventKind::term:
        case EventKind::in_progress:
        case EventKind::redis:
        case EventKind::kernel_check:
        case EventKind::output_check: return event.when == fakes::When::applied;
        default: return false;
    }
}

bool happens_in_redis(fakes::EventKind kind) {
    using fakes::EventKind;
    return kind == EventKind::state || kind == EventKind::lock_acquired || kind == EventKind::lock_renewed ||
           kind == EventKind::lock_released || kind == EventKind::lock_expired;
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find("\r\n")); }

bool for_people(std::string_view text) { return text.size() <= kReplyMax && fakes::is_printable(text); }

}  // namespace

TextId Texts::add(std::string_view text) {
    if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
    const auto id = static_cast<TextId>(texts_.size());
    texts_.emplace_back(text);
    ids_.emplace(text, id);
    return id;
}

TextId Texts::find(std::string_view text) const {
    const auto found = ids_.find(text);
    return found == ids_.end() ? 0 : found->second;
}

std::string History::node_name(std::int16_t node) const {
    return node < 0 ? std::string{} : nodes.at(static_cast<std::size_t>(node));
}

std::int16_t History::place_of(const HistoryEvent& event) {
    if (happens_in_redis(event.kind)) return static_cast<std::int16_t>(Topology::kRedis.value);
    return happens_at_server(event) && event.peer >= 0 ? event.peer : event.node;
}

std::string_view short_reply(std::string_view payload) {
    // Of an array, its first element says what became of a script.
    if (payload.starts_with('*') || payload.starts_with('$')) {
        const std::size_t mark = payload.find("\r\n");
        if (mark == std::string_view::npos) return {};
        const bool array = payload.front() == '*';
        std::string_view rest = payload.substr(mark + 2);
        if (payload.starts_with("$-1") || payload.starts_with("*0")) return array ? "(empty)" : "(nil)";
        if (!array) return for_people(first_line(rest)) ? first_line(rest) : std::string_view{};
        return short_reply(rest);
    }
    if (payload.empty()) return {};
    std::string_view line = first_line(payload);
    if (line.front() == '+' || line.front() == ':') line.remove_prefix(1);
    return for_people(line) ? line : line.substr(0, line.front() == '-' ? kReplyMax : 0);
}

std::int16_t server_of_fault(std::string_view kind) {
    const auto id = [](NodeId node) { return static_cast<std::int16_t>(node.value); };
    if (kind.starts_with("redis.")) return id(Topology::kRedis);
    if (kind.starts_with("nats.")) return id(Topology::kNats);
    return kind.starts_with("kernel.") || kind.starts_with("output_policy.") ? id(Topology::kKernel) : std::int16_t{-1};
}

HistoryRecorder::HistoryRecorder(const Topology& topology, const Nodes& nodes) : nodes_(nodes) {
    for (const Topology::Entry& node : topology.nodes()) history_.nodes.push_back(node.name);
}

void HistoryRecorder::on_event(const fakes::Event& event, Time now) {
    if (!in_digest(event.kind)) return;
    // A fault may change a clock just after it has been told: a look before, and one after.
    const bool fault = event.kind == fakes::EventKind::fault;
    if (std::exchange(sample_due_, fault) || fault) sample_clocks(now);
    Texts& texts = history_.texts;
    HistoryEvent out;
    out.ns = now.time_since_epoch().count();
    out.kind = event.kind;
    out.when = event.when;
    out.outcome = event.outcome;
    out.flag = event.flag;
    out.node = static_cast<std::int16_t>(event.node.value);
    out.peer = static_cast<std::int16_t>(event.peer.value);
    out.job = texts.add(job_of(event));
    out.subject = texts.add(event.subject);
    out.command = texts.add(event.command);
    out.script = texts.add(event.script);
    out.key = texts.add(event.key);
    out.name = texts.add(event.name);
    out.from = texts.add(event.from);
    out.to = texts.add(event.to);
    out.stream = texts.add(event.stream);
    out.message_id = texts.add(event.message_id);
    if (event.kind == fakes::EventKind::redis && event.when != fakes::When::before)
        out.reply = texts.add(short_reply(event.payload));
    out.sequence = event.sequence;
    out.number = event.number;
    history_.events.push_back(out);
}

void HistoryRecorder::sample_clocks(Time now) {
    for (std::size_t i = 0; i < history_.nodes.size(); ++i) {
        const Node& node = nodes_[NodeId{static_cast<std::int32_t>(i)}];
        const auto ahead = node.clock.wall(now) - (kWallAtStart + now.time_since_epoch());
        history_.clocks.push_back({now.time_since_epoch().count(), static_cast<std::int16_t>(i), ahead.count()});
    }
}

History HistoryRecorder::take(Time now) {
    sample_clocks(now);
    return std::exchange(history_, {});
}

}  // namespace lockstep::sim
