#include "sim/page/run_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reports/timeline_picture.h"
#include "sim/explain/explanation.h"
#include "sim/page/event_family.h"
#include "sim/page/idle_time.h"
#include "sim/page/job_bars.h"
#include "sim/page/node_bars.h"
#include "sim/page/noise.h"
#include "sim/page/thinning.h"
#include "sim/page/timeline_runs.h"

namespace lockstep::sim {

namespace {

using reports::Timeline;

constexpr std::int64_t kNsPerUs = 1000;
/// Of a page, that each of its two tables may take.
constexpr std::size_t kTableShare = 8;

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

class TimelineBuilder {
public:
    TimelineBuilder(const RunResult& result, const Causality& causality, Timeline& out)
        : result_(result),
          history_(*result.history),
          causality_(causality),
          noise_(noise_of(history_, causality)),
          out_(out) {}

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
        add_jobs(history_, causality_, out_);
        if (!result_.violations.empty()) point_to(result_.violations.front());
        const std::vector<std::int64_t> moments = moments_of(history_, noise_);
        out_.folds = idle_gaps(moments, out_.end_us);
        choose_opening(moments, out_);
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
                                   .life = position(causality_.parent(i, Cause::life)),
                                   .noise = noise_[i]});
        }
        out_.end_us = history_.events.empty() ? 0 : history_.events.back().ns / kNsPerUs;
    }

    void add_bars() {
        add_node_bars(history_, lanes_, out_.end_us, texts_, out_);
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
        if (violation.earlier && violation.earlier->event != violation.fact.event)
            out_.earlier = position(*violation.earlier);
        // What the verdict speaks of is never hidden.
        for (const std::uint32_t told : {out_.fact, out_.earlier})
            if (told != Timeline::kNone) out_.events[told].noise = false;
        out_.job = texts_.add(violation.job);
    }

    const RunResult& result_;
    const History& history_;
    const Causality& causality_;
    const std::vector<bool> noise_;
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

std::string job_picture(const RunResult& result, const PageWords& words, const std::string& job) {
    Timeline timeline = timeline_of(result, Causality(*result.history), result.history->events.size());
    timeline.verdict = words.verdict;
    const auto text = std::ranges::find(timeline.texts, job);
    if (job.empty() || text == timeline.texts.end()) return {};
    return reports::timeline_picture(timeline, static_cast<std::uint32_t>(text - timeline.texts.begin()));
}

std::string run_page(const RunResult& result, const PageWords& words, std::size_t bytes_max) {
    const Causality causality(*result.history);
    std::size_t most = result.history->events.size();
    while (true) {
        Timeline timeline = timeline_of(result, causality, most);
        timeline.verdict = words.verdict;
        timeline.replay = words.replay;
        timeline.program = words.program;
        timeline.table_bytes_max = std::min(timeline.table_bytes_max, bytes_max / kTableShare);
        std::string page = reports::timeline_page(timeline);
        constexpr std::size_t kFewest = 1000;
        if (page.size() <= bytes_max || most <= kFewest) return page;
        // Somewhat less than what fits by proportion, so that the second attempt is mostly the last.
        const double share = 0.9 * static_cast<double>(bytes_max) / static_cast<double>(page.size());
        most = std::max(kFewest, static_cast<std::size_t>(share * static_cast<double>(most)));
    }
}

}  // namespace lockstep::sim
