#include "sim/page/node_bars.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "sim/scenario/catalogue.h"

namespace lockstep::sim {

namespace {

using fakes::EventKind;
using fakes::When;
using reports::Timeline;

constexpr std::int64_t kNsPerMicro = 1000;

/// Faults that do at one instant what they do; nothing ends when they are over.
bool is_instant(std::string_view kind) {
    // A node that goes down has a bar of its own, and a clock that is wrong stays so.
    return end_of_fault(kind) == FaultEnd::at_once || kind == "crash" || kind == "stop" || kind.starts_with("clock_");
}

class NodeBars {
public:
    NodeBars(const History& history, Timeline& out, const std::vector<std::uint32_t>& lanes, Texts& texts)
        : history_(history), out_(out), lanes_(lanes), texts_(texts) {}

    void add(const HistoryEvent& event) {
        switch (event.kind) {
            case EventKind::lock_acquired:
                begin(lock(event), Timeline::Span::lock, event.node, event, event.key);
                break;
            case EventKind::lock_released:
            case EventKind::lock_expired: end(lock(event), event.ns); break;
            case EventKind::deliver:
                begin(handed(event), Timeline::Span::ack_wait, event.node, event, event.subject);
                break;
            case EventKind::ack:
            case EventKind::nak:
            case EventKind::term:
                if (event.when == When::before) end(handed(event), event.ns);
                break;
            case EventKind::node_down:
                lose_hands(event);
                end(of_node(Timeline::Span::paused, event), event.ns);
                begin(of_node(Timeline::Span::down, event), Timeline::Span::down, event.node, event, 0);
                break;
            case EventKind::node_up: end(of_node(Timeline::Span::down, event), event.ns); break;
            case EventKind::paused:
                begin(of_node(Timeline::Span::paused, event), Timeline::Span::paused, event.node, event, 0);
                break;
            case EventKind::resumed: end(of_node(Timeline::Span::paused, event), event.ns); break;
            case EventKind::fault: add_fault(event); break;
            default: break;
        }
    }

    void finish(std::int64_t now) {
        for (auto& [key, bar] : open_) {
            bar.to_us = now;
            out_.bars.push_back(bar);
        }
        std::ranges::sort(out_.bars, {}, [](const Timeline::Bar& bar) {
            return std::tuple(bar.from_us, bar.lane, bar.span, bar.to_us, bar.what, bar.job);
        });
    }

private:
    /// The last one tells the consumers of one message apart.
    using Key = std::tuple<Timeline::Span, std::int16_t, TextId, std::uint64_t, TextId>;

    static Key lock(const HistoryEvent& event) { return {Timeline::Span::lock, 0, event.key, 0, 0}; }
    static Key handed(const HistoryEvent& event) {
        return {Timeline::Span::ack_wait, 0, event.stream, event.sequence, event.name};
    }
    static Key of_node(Timeline::Span span, const HistoryEvent& event) { return {span, event.node, 0, 0, 0}; }

    void begin(const Key& key, Timeline::Span span, std::int16_t node, const HistoryEvent& event, TextId what) {
        end(key, event.ns);
        Timeline::Bar bar;
        bar.span = span;
        bar.lane = node < 0 ? Timeline::kNone : lanes_[static_cast<std::size_t>(node)];
        bar.from_us = event.ns / kNsPerMicro;
        bar.what = texts_.add(history_.text(what));
        bar.job = texts_.add(history_.text(event.job));
        open_.emplace(key, bar);
    }

    void end(const Key& key, std::int64_t ns) {
        const auto found = open_.find(key);
        if (found == open_.end()) return;
        found->second.to_us = ns / kNsPerMicro;
        out_.bars.push_back(found->second);
        open_.erase(found);
    }

    void add_fault(const HistoryEvent& event) {
        const std::string& kind = history_.text(event.name);
        const std::int16_t node = event.node >= 0 ? event.node : server_of_fault(kind);
        const Key key{Timeline::Span::fault, event.node, event.key != 0 ? event.key : event.name, 0, 0};
        if (history_.text(event.from) == "end") {
            end(key, event.ns);
            return;
        }
        begin(key, Timeline::Span::fault, node, event, event.name);
        if (is_instant(kind)) end(key, event.ns);
    }

    /// A replica that is gone answers for nothing any more; the message is given to another when its ack wait is over.
    void lose_hands(const HistoryEvent& event) {
        std::vector<Key> lost;
        for (const auto& [key, bar] : open_) {
            if (bar.span == Timeline::Span::ack_wait && bar.lane == lanes_[static_cast<std::size_t>(event.node)])
                lost.push_back(key);
        }
        for (const Key& key : lost) end(key, event.ns);
    }

    const History& history_;
    Timeline& out_;
    const std::vector<std::uint32_t>& lanes_;
    Texts& texts_;
    std::map<Key, Timeline::Bar> open_;
};

}  // namespace

void add_node_bars(const History& history, const std::vector<std::uint32_t>& lanes, std::int64_t now_us, Texts& texts,
                   Timeline& out) {
    NodeBars bars(history, out, lanes, texts);
    for (const HistoryEvent& event : history.events) bars.add(event);
    bars.finish(now_us);
}

}  // namespace lockstep::sim
