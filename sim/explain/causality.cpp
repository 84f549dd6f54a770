#include "sim/explain/causality.h"

#include <algorithm>
#include <compare>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

namespace lockstep::sim {

namespace {

using fakes::EventKind;
using fakes::When;

/// Events that set off a step of their node.
bool is_input(const HistoryEvent& event) {
    if (is_call(event.kind)) return event.when == When::answered;
    return event.kind == EventKind::deliver || event.kind == EventKind::core_deliver ||
           event.kind == EventKind::timer || event.kind == EventKind::node_up || event.kind == EventKind::resumed;
}

/// Facts that a server tells while it carries out a call, just before it says that the call took effect.
bool is_effect(EventKind kind) {
    return kind == EventKind::state || kind == EventKind::stored || kind == EventKind::lock_acquired ||
           kind == EventKind::lock_renewed || kind == EventKind::lock_released;
}

/// What a call says of itself at each of its three places.
struct CallKey {
    EventKind kind;
    std::int16_t node;
    TextId command;
    TextId key;
    TextId job;
    TextId subject;
    TextId message_id;
    friend auto operator<=>(const CallKey&, const CallKey&) = default;
};

CallKey call_key(const HistoryEvent& event) {
    return {event.kind, event.node, event.command, event.key, event.job, event.subject, event.message_id};
}

/// A thread of events at one place.
using Matter = std::tuple<std::int16_t, TextId, TextId>;

Matter matter_of(const HistoryEvent& event) {
    const std::int16_t place = History::place_of(event);
    if (event.job != 0) return {place, event.job, 0};
    const TextId what = event.key != 0 ? event.key : event.subject != 0 ? event.subject : event.name;
    return {place, 0, what};
}

}  // namespace

class CausalityBuilder {
public:
    explicit CausalityBuilder(const History& history)
        : events_(history.events), lives_(history.nodes.size() + 1, kNoEvent), inputs_(lives_), epochs_(lives_.size()) {
        for (const HistoryEvent& event : events_) {
            if (event.kind == EventKind::fault) faults_.push_back(server_of_fault(history.text(event.name)));
        }
    }

    void build(Causality& out) {
        Parents none;
        none.fill(kNoEvent);
        out.parents_.assign(events_.size(), none);
        out.calls_.assign(events_.size(), {});
        out_ = &out;
        for (EventIndex i = 0; i < events_.size(); ++i) add(i);
    }

private:
    struct OpenCall {
        EventIndex before = kNoEvent;
        std::uint32_t epoch = 0;
        bool applied = false;
        bool answered = false;
    };

    void add(EventIndex i);
    void add_call(EventIndex i);
    void add_delivery(EventIndex i);
    void add_life(EventIndex i);
    void settle_effects(EventIndex applied, EventIndex before);
    OpenCall* open_call(EventIndex i, bool OpenCall::* done);

    void set(EventIndex child, Cause cause, EventIndex parent) {
        if (parent != kNoEvent && parent < child) out_->parents_[child][static_cast<std::size_t>(cause)] = parent;
    }
    [[nodiscard]] static std::size_t slot(std::int16_t node) { return static_cast<std::size_t>(node + 1); }

    const std::vector<HistoryEvent>& events_;
    Causality* out_ = nullptr;
    std::map<Matter, EventIndex> threads_;
    std::map<CallKey, std::deque<OpenCall>> open_;
    std::map<std::pair<TextId, std::uint64_t>, EventIndex> stored_;  // by stream and sequence
    /// By stream, sequence and consumer: the last delivery, or its nak.
    std::map<std::tuple<TextId, std::uint64_t, TextId>, EventIndex> delivered_;
    std::map<std::tuple<TextId, TextId, TextId>, EventIndex> sent_;  // by subject, message id and job
    std::vector<EventIndex> effects_;                                // of the call that a server carries out now
    std::vector<EventIndex> lives_;                                  // by node
    std::vector<EventIndex> inputs_;
    std::vector<std::uint32_t> epochs_;  // how often the connections of a node broke
    std::vector<std::int16_t> faults_;   // the server of each fault event, in order
    std::size_t next_fault_ = 0;
};

void CausalityBuilder::add(EventIndex i) {
    const HistoryEvent& event = events_[i];
    const std::int16_t place = History::place_of(event);
    const auto [thread, fresh] = threads_.try_emplace(matter_of(event), i);
    if (!fresh) set(i, Cause::thread, std::exchange(thread->second, i));
    set(i, Cause::life, lives_[slot(place)]);
    const EventIndex input = inputs_[slot(event.node)];
    // A step takes no time: what set it off has the same instant.
    if (place == event.node && input != kNoEvent && events_[input].ns == event.ns && !is_input(event))
        set(i, Cause::trigger, input);

    if (is_call(event.kind)) add_call(i);
    if (is_effect(event.kind)) {
        if (!effects_.empty() && events_[effects_.back()].ns != event.ns) effects_.clear();
        effects_.push_back(i);
        if (event.kind == EventKind::stored) stored_[{event.stream, event.sequence}] = i;
    }
    if (event.kind == EventKind::deliver || event.kind == EventKind::core_deliver) add_delivery(i);
    if (event.kind == EventKind::connection_broken) {
        ++epochs_[slot(event.node)];
        ++epochs_[slot(event.peer)];
    }
    if (is_life(event.kind)) add_life(i);
    if (is_input(event)) inputs_[slot(place)] = i;
}

/// The oldest of the calls that say the same and have not come to this point; sooner one of the present connection, and of
/// those one that nobody has given up: what was lost on its way is not what took effect when it was said again.
CausalityBuilder::OpenCall* CausalityBuilder::open_call(EventIndex i, bool OpenCall::* done) {
    const auto found = open_.find(call_key(events_[i]));
    if (found == open_.end()) return nullptr;
    OpenCall* best = nullptr;
    int best_fit = -1;
    for (OpenCall& call : found->second) {
        if (call.*done) continue;
        const int fit = (call.epoch == epochs_[slot(events_[i].node)] ? 2 : 0) + (call.answered ? 0 : 1);
        if (fit <= best_fit) continue;
        best = &call;
        best_fit = fit;
    }
    return best;
}

void CausalityBuilder::add_call(EventIndex i) {
    const HistoryEvent& event = events_[i];
    if (event.when == When::before) {
        auto& calls = open_[call_key(event)];
        std::erase_if(calls, [](const OpenCall& call) { return call.answered && call.applied; });
        // What was lost long ago will not come to anything any more.
        constexpr std::size_t kOpenMax = 64;
        if (calls.size() == kOpenMax) calls.pop_front();
        calls.push_back({i, epochs_[slot(event.node)], false, false});
        if (event.kind == EventKind::publish || event.kind == EventKind::core_publish)
            sent_[{event.subject, event.message_id, event.job}] = i;
        if (event.kind == EventKind::nak) delivered_[{event.stream, event.sequence, event.name}] = i;
        return;
    }
    const bool answer = event.when == When::answered;
    OpenCall* call = open_call(i, answer ? &OpenCall::answered : &OpenCall::applied);
    if (call == nullptr) return;
    CallEnds& ends = out_->calls_[call->before];
    if (answer) {
        call->answered = true;
        ends.answered = i;
        set(i, Cause::message, ends.applied != kNoEvent ? ends.applied : call->before);
        return;
    }
    call->applied = true;
    ends.applied = i;
    set(i, Cause::message, call->before);
    settle_effects(i, call->before);
}

void CausalityBuilder::settle_effects(EventIndex applied, EventIndex before) {
    for (const EventIndex effect : effects_) {
        const HistoryEvent& event = events_[effect];
        if (event.ns != events_[applied].ns || event.node != events_[applied].node) continue;
        set(effect, Cause::message, before);
        set(applied, Cause::trigger, effect);
    }
    effects_.clear();
}

void CausalityBuilder::add_delivery(EventIndex i) {
    const HistoryEvent& event = events_[i];
    if (event.kind == EventKind::core_deliver) {
        const auto sent = sent_.find({event.subject, event.message_id, event.job});
        if (sent != sent_.end()) set(i, Cause::message, sent->second);
        return;
    }
    const auto stored = stored_.find({event.stream, event.sequence});
    if (stored != stored_.end()) set(i, Cause::message, stored->second);
    const auto [before, fresh] = delivered_.try_emplace({event.stream, event.sequence, event.name}, i);
    if (!fresh) set(i, Cause::trigger, std::exchange(before->second, i));
}

void CausalityBuilder::add_life(EventIndex i) {
    const HistoryEvent& event = events_[i];
    std::int16_t node = event.node;
    if (event.kind == EventKind::fault) {
        const std::int16_t server = faults_[next_fault_++];
        if (node < 0) node = server;
    }
    // A fault placed on an event acts in the same instant, and so does what it brings about.
    if (i > 0 && events_[i - 1].ns == event.ns) set(i, Cause::trigger, i - 1);
    lives_[slot(node)] = i;
}

Causality::Causality(const History& history) { CausalityBuilder(history).build(*this); }

std::vector<EventIndex> Causality::ancestors(std::span<const EventIndex> roots) const {
    std::vector<bool> seen(parents_.size());
    std::vector<EventIndex> todo;
    const auto visit = [&](EventIndex event) {
        if (event == kNoEvent || event >= seen.size() || seen[event]) return;
        seen[event] = true;
        todo.push_back(event);
    };
    for (const EventIndex root : roots) visit(root);
    std::vector<EventIndex> out;
    while (!todo.empty()) {
        const EventIndex event = todo.back();
        todo.pop_back();
        out.push_back(event);
        for (const EventIndex parent : parents_[event]) visit(parent);
    }
    std::ranges::sort(out);
    return out;
}

}  // namespace lockstep::sim
