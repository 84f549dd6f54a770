#include "sim/page/run_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/explain/explanation.h"
#include "sim/page/timeline_runs.h"
#include "sim/scenario/catalogue.h"

namespace lockstep::sim {

namespace {

using fakes::EventKind;
using fakes::When;
using reports::Timeline;

constexpr std::int64_t kNsPerUs = 1000;

Timeline::Family family_of(const HistoryEvent& event) {
    using Family = Timeline::Family;
    switch (event.kind) {
        case EventKind::lock_acquired:
        case EventKind::lock_renewed:
        case EventKind::lock_released:
        case EventKind::lock_expired: return Family::lock;
        case EventKind::state: return Family::state;
        case EventKind::node_up:
        case EventKind::node_down:
        case EventKind::paused:
        case EventKind::resumed:
        case EventKind::connection_broken:
        case EventKind::slow_consumer: return Family::life;
        case EventKind::fault: return Family::fault;
        case EventKind::heartbeat:
        case EventKind::reached:
        case EventKind::timer:
        case EventKind::metric:
        case EventKind::log: return Family::other;
        case EventKind::publish:
        case EventKind::core_publish:
        case EventKind::ack:
        case EventKind::nak:
        case EventKind::term:
        case EventKind::in_progress:
        case EventKind::redis:
        case EventKind::kernel_check:
        case EventKind::output_check:
            if (event.when == When::before) return Family::call;
            return event.when == When::applied ? Family::effect : Family::answer;
        case EventKind::stored:
        case EventKind::deliver:
        case EventKind::core_deliver:
        case EventKind::job_started:
        case EventKind::job_finished:
        case EventKind::result:
        case EventKind::submit:
        case EventKind::cancel:
        case EventKind::approve:
        case EventKind::max_deliveries: return Family::message;
    }
    return Family::other;
}

/// Faults that do at one instant what they do; nothing ends when they are over.
bool is_instant(std::string_view kind) {
    // A node that goes down has a bar of its own, and a clock that is wrong stays so.
    return end_of_fault(kind) == FaultEnd::at_once || kind == "crash" || kind == "stop" || kind.starts_with("clock_");
}

/// Submitters, bus, schedulers, stores, workers from top to bottom: most messages then go one lane or two.
std::vector<std::int16_t> lane_order(const History& history) {
    std::vector<std::int16_t> order;
    const auto add = [&order](NodeId node) { order.push_back(static_cast<std::int16_t>(node.value)); };
    for (const NodeId node : {Topology::kGateway, Topology::kOperator, Topology::kNats}) add(node);
    std::vector<std::int16_t> workers;
    for (std::size_t i = 5; i < history.nodes.size(); ++i) {
        const bool replica = history.nodes[i].starts_with("scheduler-") || history.nodes[i].starts_with("workflow-");
        (replica ? order : workers).push_back(static_cast<std::int16_t>(i));
    }
    for (const NodeId node : {Topology::kRedis, Topology::kKernel}) add(node);
    order.insert(order.end(), workers.begin(), workers.end());
    return order;
}

/// Collects what has a beginning and an end.
class Bars {
public:
    Bars(const History& history, Timeline& out, const std::vector<std::uint32_t>& lanes, Texts& texts)
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
        bar.from_us = event.ns / kNsPerUs;
        bar.what = texts_.add(history_.text(what));
        bar.job = texts_.add(history_.text(event.job));
        open_.emplace(key, bar);
    }

    void end(const Key& key, std::int64_t ns) {
        const auto found = open_.find(key);
        if (found == open_.end()) return;
        found->second.to_us = ns / kNsPerUs;
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

/// Chooses the events of a page.
class Thinning {
public:
    Thinning(const History& history, const Causality& causality, const Violation* violation, std::size_t most)
        : history_(history), causality_(causality), kept_(history.events.size()), left_(most) {
        const std::size_t all = history.events.size();
        if (all <= most) {
            kept_.assign(all, true);
            return;
        }
        keep_lives();
        if (violation != nullptr) keep_violation(*violation);
        const std::size_t at =
            violation != nullptr && violation->fact.event > 0 ? std::min<std::size_t>(violation->fact.event, all) : all;
        keep_before(at, left_ / 2);
        keep_jobs();
        say();
    }

    [[nodiscard]] const std::vector<bool>& kept() const { return kept_; }
    [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

private:
    void keep(EventIndex event) {
        if (kept_[event] || left_ == 0) return;
        kept_[event] = true;
        --left_;
    }
    void keep_lives() {
        for (EventIndex i = 0; i < kept_.size(); ++i) {
            const auto family = family_of(history_.events[i]);
            if (family == Timeline::Family::life || family == Timeline::Family::fault) keep(i);
        }
    }
    void keep_violation(const Violation& violation) {
        const JobStory story(history_, causality_, story_of(violation, history_));
        for (const EventIndex event : story.events()) keep(event);
        const TextId job = history_.texts.find(violation.job);
        for (EventIndex i = 0; job != 0 && i < kept_.size(); ++i) {
            if (history_.events[i].job == job) keep(i);
        }
        job_ = violation.job;
    }
    void keep_before(std::size_t end, std::size_t count) {
        for (std::size_t n = 0; n < count && end > 0; ++n) {
            keep(static_cast<EventIndex>(--end));
            ++before_;
        }
    }
    void keep_jobs() {
        std::map<TextId, std::size_t> sizes;
        std::size_t all = 0;
        for (EventIndex i = 0; i < kept_.size(); ++i) {
            if (kept_[i] || history_.events[i].job == 0) continue;
            ++sizes[history_.events[i].job];
            ++all;
        }
        if (all == 0) return;
        every_ = std::max<std::size_t>(1, (all + left_) / std::max<std::size_t>(left_, 1));
        std::map<TextId, bool> chosen;
        std::size_t n = 0;
        for (const auto& [job, size] : sizes) chosen[job] = n++ % every_ == 0;
        for (EventIndex i = 0; i < kept_.size(); ++i) {
            const TextId job = history_.events[i].job;
            if (job != 0 && !kept_[i] && chosen[job]) keep(i);
        }
    }
    void say() {
        const auto shown = std::ranges::count(kept_, true);
        notes_.push_back(
            fmt::format("This page holds {} of the {} events of the run: starts, crashes and faults{}, the {} events "
                        "{}, and of the "
                        "other jobs one in {}. Causes that are not on it end an arrow early. `lockstep explain --job "
                        "ID` tells of any job.",
                        shown, history_.events.size(), job_.empty() ? "" : ", all about job " + job_, before_,
                        job_.empty() ? "at the end" : "before the violation", every_));
    }

    const History& history_;
    const Causality& causality_;
    std::vector<bool> kept_;
    std::size_t left_;
    std::size_t before_ = 0;
    std::size_t every_ = 1;
    std::string job_;
    std::vector<std::string> notes_;
};

class TimelineBuilder {
public:
    TimelineBuilder(const RunResult& result, const Causality& causality, Timeline& out)
        : result_(result), history_(*result.history), causality_(causality), out_(out) {}

    void build(const Thinning& thinning) {
        out_.title = result_.name;
        out_.subtitle = fmt::format("seed {}, {} events, digest {}", result_.seed, result_.events,
                                    reports::digest_text(result_.digest));
        out_.passed = result_.passed;
        out_.events_total = history_.events.size();
        out_.notes = thinning.notes();
        add_lanes();
        add_events(thinning.kept());
        add_bars();
        add_clocks();
        add_runs(history_.workflow_runs, out_);
        if (!result_.violations.empty()) point_to(result_.violations.front());
        for (TextId id = 0; id < texts_.size(); ++id) out_.texts.push_back(texts_[id]);
    }

private:
    /// Of the nodes whose clock is ever wrong, every sample: one that is right says when it went wrong.
    void add_clocks() {
        std::vector<bool> wrong(history_.nodes.size());
        for (const ClockSample& sample : history_.clocks) {
            if (sample.offset_ns / kNsPerUs != 0) wrong[static_cast<std::size_t>(sample.node)] = true;
        }
        for (const ClockSample& sample : history_.clocks) {
            const auto node = static_cast<std::size_t>(sample.node);
            if (wrong[node]) out_.clocks.push_back({lanes_[node], sample.ns / kNsPerUs, sample.offset_ns / kNsPerUs});
        }
    }

    void add_lanes() {
        lanes_.resize(history_.nodes.size());
        for (const std::int16_t node : lane_order(history_)) {
            lanes_[static_cast<std::size_t>(node)] = static_cast<std::uint32_t>(out_.lanes.size());
            out_.lanes.push_back(history_.node_name(node));
        }
        const bool world = std::ranges::any_of(history_.events, [](const auto& e) { return History::place_of(e) < 0; });
        if (world) out_.lanes.emplace_back("the world");
    }

    [[nodiscard]] std::uint32_t lane_of(const HistoryEvent& event) const {
        const std::int16_t place = History::place_of(event);
        return place < 0 ? static_cast<std::uint32_t>(out_.lanes.size() - 1) : lanes_[static_cast<std::size_t>(place)];
    }

    /// The words without the name of the job, so that those of all jobs are the same text.
    std::uint32_t what_of(EventIndex index) {
        const HistoryEvent& event = history_.events[index];
        std::string text = describe(history_, index, event.job);
        std::ranges::replace_if(text, [](char c) { return c >= 0 && c < ' '; }, ' ');
        const std::string& job = history_.text(event.job);
        for (std::size_t at = text.find(job); !job.empty() && at != std::string::npos; at = text.find(job, at + 1))
            text.replace(at, job.size(), 1, Timeline::kJobMark);
        return texts_.add(text);
    }

    void add_events(const std::vector<bool>& kept) {
        positions_.assign(kept.size(), Timeline::kNone);
        const auto position = [this](EventIndex event) {
            return event == kNoEvent ? Timeline::kNone : positions_[event];
        };
        for (EventIndex i = 0; i < kept.size(); ++i) {
            if (!kept[i]) continue;
            positions_[i] = static_cast<std::uint32_t>(out_.events.size());
            const HistoryEvent& event = history_.events[i];
            out_.events.push_back({.number = std::uint64_t{i} + 1,
                                   .us = event.ns / kNsPerUs,
                                   .lane = lane_of(event),
                                   .family = family_of(event),
                                   .what = what_of(i),
                                   .job = texts_.add(history_.text(event.job)),
                                   .thread = position(causality_.parent(i, Cause::thread)),
                                   .message = position(causality_.parent(i, Cause::message)),
                                   .trigger = position(causality_.parent(i, Cause::trigger)),
                                   .life = position(causality_.parent(i, Cause::life))});
        }
        out_.end_us = history_.events.empty() ? 0 : history_.events.back().ns / kNsPerUs;
    }

    void add_bars() {
        Bars bars(history_, out_, lanes_, texts_);
        for (const HistoryEvent& event : history_.events) bars.add(event);
        bars.finish(out_.end_us);
        // Each bar of a job that is not on the page would only hide others.
        if (out_.events.size() == history_.events.size()) return;
        std::vector<bool> shown(texts_.size());
        for (const Timeline::Event& event : out_.events) shown[event.job] = true;
        std::erase_if(out_.bars, [&shown](const Timeline::Bar& bar) { return bar.job != 0 && !shown[bar.job]; });
    }

    void point_to(const Violation& violation) {
        const auto position = [this](const reports::Fact& fact) {
            return fact.event == 0 || fact.event > positions_.size() ? Timeline::kNone : positions_[fact.event - 1];
        };
        out_.fact = position(violation.fact);
        if (violation.earlier) out_.earlier = position(*violation.earlier);
        out_.job = texts_.add(violation.job);
    }

    const RunResult& result_;
    const History& history_;
    const Causality& causality_;
    Timeline& out_;
    Texts texts_;
    std::vector<std::uint32_t> lanes_;  // by node
    std::vector<std::uint32_t> positions_;
};

}  // namespace

reports::Timeline timeline_of(const RunResult& result, const Causality& causality, std::size_t events_max) {
    const Violation* violation = result.violations.empty() ? nullptr : &result.violations.front();
    Timeline timeline;
    TimelineBuilder(result, causality, timeline).build(Thinning(*result.history, causality, violation, events_max));
    return timeline;
}

std::string run_page(const RunResult& result, std::vector<std::string> verdict, std::string replay,
                     std::size_t bytes_max) {
    const Causality causality(*result.history);
    std::size_t most = result.history->events.size();
    while (true) {
        reports::Timeline timeline = timeline_of(result, causality, most);
        timeline.verdict = verdict;
        timeline.replay = replay;
        std::string page = reports::timeline_page(timeline);
        constexpr std::size_t kFewest = 1000;
        if (page.size() <= bytes_max || most <= kFewest) return page;
        // Somewhat less than what fits by proportion, so that the second attempt is the last.
        const double share = 0.9 * static_cast<double>(bytes_max) / static_cast<double>(page.size());
        most = std::max(kFewest, static_cast<std::size_t>(share * static_cast<double>(most)));
    }
}

}  // namespace lockstep::sim
