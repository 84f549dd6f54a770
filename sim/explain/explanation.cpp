#include "sim/explain/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

namespace lockstep::sim {

namespace {

using fakes::EventKind;
using fakes::EventOutcome;
using fakes::When;

bool is_lock(EventKind kind) { return kind >= EventKind::lock_acquired && kind <= EventKind::lock_expired; }

/// The durable's name says no more than the subject.
bool names_a_consumer(EventKind kind) {
    return (kind >= EventKind::ack && kind <= EventKind::in_progress) || kind == EventKind::deliver;
}

/// Of the token of a lock: enough to tell two apart.
constexpr std::size_t kTokenShown = 8;

void append(std::string& out, std::string_view label, const std::string& text) {
    if (!text.empty()) out += fmt::format(" {}{}", label, text);
}

std::string fault_text(const History& history, const HistoryEvent& event) {
    return fmt::format("{} of fault {}{}", event.from == 0 ? "begin" : history.text(event.from),
                       history.text(event.name), event.key == 0 ? "" : " (" + history.text(event.key) + ")");
}

std::string milliseconds_text(std::int64_t ns) {
    return fmt::format("{}{}.{:03}ms", ns < 0 ? "-" : "", std::abs(ns) / 1'000'000, std::abs(ns) / 1'000 % 1'000);
}

/// Everybody who had a lock, in turn.
struct Holding {
    EventIndex taken = kNoEvent;
    EventIndex granted = kNoEvent;  // the last time
    EventIndex ended = kNoEvent;
};

std::string holding_text(const History& history, const Holding& holding, bool last) {
    const HistoryEvent& taken = history.events[holding.taken];
    std::string out = fmt::format("{} by {} since {} (#{})", last && holding.ended == kNoEvent ? "held" : "was held",
                                  history.node_name(taken.node), seconds_text(taken.ns), holding.taken + 1);
    if (holding.granted != holding.taken)
        out += fmt::format(", renewed {} (#{})", seconds_text(history.events[holding.granted].ns), holding.granted + 1);
    if (holding.ended != kNoEvent) {
        const HistoryEvent& end = history.events[holding.ended];
        const char* how = end.kind == EventKind::lock_released ? "released"
                          : end.flag                           ? "lost with its data"
                                                               : "ran out";
        out += fmt::format(", {} {} (#{})", how, seconds_text(end.ns), holding.ended + 1);
    }
    return out;
}

std::vector<std::string> lock_lines(const History& history, TextId job, TextId key, EventIndex at) {
    std::map<TextId, std::vector<Holding>> locks;
    for (EventIndex i = 0; i <= at && i < history.events.size(); ++i) {
        const HistoryEvent& event = history.events[i];
        const bool concerned = (job != 0 && event.job == job) || (key != 0 && event.key == key);
        if (!is_lock(event.kind) || !concerned) continue;
        auto& holdings = locks[event.key];
        if (event.kind == EventKind::lock_acquired)
            holdings.push_back({i, i, kNoEvent});
        else if (!holdings.empty())
            (event.kind == EventKind::lock_renewed ? holdings.back().granted : holdings.back().ended) = i;
    }
    constexpr std::size_t kHoldingsMax = 4;
    std::vector<std::string> lines;
    for (const auto& [lock, holdings] : locks) {
        lines.push_back(fmt::format("lock {}:{}", history.text(lock), holdings.empty() ? " never taken" : ""));
        const std::size_t from = holdings.size() > kHoldingsMax ? holdings.size() - kHoldingsMax : 0;
        for (std::size_t i = from; i < holdings.size(); ++i)
            lines.push_back("  " + holding_text(history, holdings[i], i + 1 == holdings.size()));
    }
    return lines;
}

std::vector<std::string> fault_lines(const History& history, EventIndex at) {
    std::map<std::pair<TextId, std::int16_t>, std::vector<EventIndex>> in_force;
    std::vector<std::string> lines;
    for (EventIndex i = 0; i <= at && i < history.events.size(); ++i) {
        const HistoryEvent& event = history.events[i];
        if (event.kind != EventKind::fault) continue;
        auto& begun = in_force[{event.key != 0 ? event.key : event.name, event.node}];
        if (history.text(event.from) == "end") {
            if (!begun.empty()) begun.pop_back();
        } else {
            begun.push_back(i);
        }
    }
    for (const auto& [fault, begun] : in_force) {
        for (const EventIndex i : begun) {
            const HistoryEvent& event = history.events[i];
            lines.push_back(fmt::format("fault {}{}, begun {} (#{})", history.text(event.name),
                                        event.node < 0 ? "" : " of " + history.node_name(event.node),
                                        seconds_text(event.ns), i + 1));
        }
    }
    constexpr std::size_t kFaultsMax = 6;
    if (lines.size() > kFaultsMax) lines.erase(lines.begin(), lines.end() - kFaultsMax);
    return lines;
}

std::string clock_line(const History& history, const std::set<std::int16_t>& nodes, std::int64_t ns) {
    std::map<std::int16_t, std::int64_t> offsets;
    for (const ClockSample& sample : history.clocks) {
        if (sample.ns <= ns && nodes.contains(sample.node)) offsets[sample.node] = sample.offset_ns;
    }
    std::string out;
    for (const auto& [node, offset] : offsets) {
        if (offset == 0) continue;
        out += fmt::format("{}{} {}{}", out.empty() ? "clocks against true time: " : ", ", history.node_name(node),
                           offset > 0 ? "+" : "", milliseconds_text(offset));
    }
    return out;
}

}  // namespace

std::string seconds_text(std::int64_t ns) {
    return fmt::format("{}.{:06}s", ns / 1'000'000'000, ns / 1'000 % 1'000'000);
}

std::string describe(const History& history, EventIndex index, TextId known_job) {
    const HistoryEvent& event = history.events[index];
    const auto text = [&history](TextId id) -> const std::string& { return history.text(id); };
    if (event.kind == EventKind::fault) return fault_text(history, event);
    std::string out(fakes::to_string(event.kind));
    if (event.when != When::applied) append(out, "", std::string(fakes::to_string(event.when)));
    append(out, "", event.script != 0 ? text(event.script) : text(event.command));
    append(out, "", text(event.subject));
    if (is_lock(event.kind))
        append(out, "", text(event.name).substr(0, kTokenShown));
    else if (!names_a_consumer(event.kind) && event.name != event.subject)
        append(out, "", text(event.name));
    if (event.from != 0 || event.to != 0)
        out += fmt::format(" {}{}", event.from == 0 ? "" : text(event.from) + " -> ", text(event.to));
    if (event.job != known_job) append(out, "job ", text(event.job));
    if (!text(event.key).ends_with(text(event.job)) || is_lock(event.kind)) append(out, "key ", text(event.key));
    append(out, "id ", text(event.message_id));
    if (event.sequence != 0) out += fmt::format(" at {} of {}", event.sequence, text(event.stream));
    if (event.kind == EventKind::deliver) out += fmt::format(", delivery {}", event.number);
    if (event.kind == EventKind::nak) out += fmt::format(", again in {}", milliseconds_text(event.number));
    if (event.kind == EventKind::job_started && event.number > 1) out += fmt::format(", time {} on it", event.number);
    if (event.outcome == EventOutcome::not_applied) out += " NOT APPLIED";
    if (event.outcome == EventOutcome::unknown) out += " UNKNOWN";
    append(out, "= ", text(event.reply));
    return out;
}

void complete(reports::Fact& fact, const History& history) {
    if (fact.event == 0 || fact.event > history.events.size()) return;
    const auto index = static_cast<EventIndex>(fact.event - 1);
    const HistoryEvent& event = history.events[index];
    fact.at_ns = event.ns;
    fact.node = history.node_name(event.node);
    fact.what = describe(history, index);
}

std::vector<std::string> circumstances(const History& history, std::string_view job, EventIndex at) {
    if (at >= history.events.size()) return {};
    const TextId of_job = history.texts.find(job);
    std::vector<std::string> lines = lock_lines(history, of_job, history.events[at].key, at);
    std::set<std::int16_t> nodes{history.events[at].node, static_cast<std::int16_t>(Topology::kRedis.value)};
    for (EventIndex i = 0; i <= at; ++i) {
        const HistoryEvent& event = history.events[i];
        if (of_job != 0 && event.job == of_job && event.kind == EventKind::lock_acquired) nodes.insert(event.node);
    }
    if (auto clocks = clock_line(history, nodes, history.events[at].ns); !clocks.empty())
        lines.push_back(std::move(clocks));
    const auto faults = fault_lines(history, at);
    lines.insert(lines.end(), faults.begin(), faults.end());
    return lines;
}

JobStory::JobStory(const History& history, const Causality& causality, const StoryChoice& choice)
    : history_(history), causality_(causality), chosen_(history.events.size()) {
    for (const std::string& name : history.nodes) name_width_ = std::max(name_width_, name.size());
    choose(choice);
    for (EventIndex i = 0; i < chosen_.size(); ++i) {
        if (chosen_[i]) events_.push_back(i);
    }
}

void JobStory::choose(const StoryChoice& choice) {
    const auto& events = history_.events;
    const TextId job = history_.texts.find(choice.job);
    job_ = job;
    if (!choice.job.empty() && job == 0) return;
    std::vector<EventIndex> roots = choice.roots;
    if (roots.empty()) {
        for (EventIndex i = 0; i < events.size(); ++i) {
            if (job != 0 && events[i].job == job) roots.push_back(i);
        }
    }
    const auto ancestors = causality_.ancestors(roots);
    // Backwards, so that what a chosen event came of is chosen with it: the answer that set off its step, for one.
    std::vector<bool> wanted(events.size());
    for (const EventIndex root : roots) wanted[root] = true;
    for (auto at = ancestors.rbegin(); at != ancestors.rend(); ++at) {
        const HistoryEvent& event = events[*at];
        const bool own = job == 0 || choice.other_jobs || event.job == job;
        const bool other = !own && event.job != 0;
        if (event.kind == EventKind::heartbeat || event.kind == EventKind::timer) continue;
        if (!own && (other || !wanted[*at]) && !is_life(event.kind)) continue;
        if (event.kind == EventKind::node_up && event.ns == 0) continue;  // so begins everything
        chosen_[*at] = true;
        for (const Cause cause : {Cause::message, Cause::trigger}) {
            const EventIndex parent = causality_.parent(*at, cause);
            if (parent != kNoEvent) wanted[parent] = true;
        }
    }
    const auto first = std::ranges::find_if(ancestors, [this](EventIndex event) { return chosen_[event]; });
    if (first == ancestors.end()) return;
    // What befell nodes meanwhile, and the rare branches that steps of the story took, have no descendants of their own.
    for (EventIndex i = *first; i <= ancestors.back(); ++i) {
        const bool of_step = events[i].kind == EventKind::reached && i > 0 && chosen_[i - 1] &&
                             events[i - 1].node == events[i].node && events[i - 1].ns == events[i].ns;
        const bool life = is_life(events[i].kind) && events[i].ns > 0;
        if (life || of_step) chosen_[i] = true;
    }
}

/// The call after it is the same with the text of the script: how clients of Redis get theirs across.
bool JobStory::is_script_sent_anew(EventIndex call) const {
    const EventIndex answer = causality_.call(call).answered;
    return answer != kNoEvent && history_.text(history_.events[answer].reply).starts_with("-NOSCRIPT");
}

/// An effect and an answer are told with the call that they belong to.
bool JobStory::has_line(EventIndex event) const {
    const HistoryEvent& what = history_.events[event];
    if (is_call(what.kind) && what.when == When::before) return !is_script_sent_anew(event);
    if (!is_call(what.kind)) return true;
    EventIndex call = causality_.parent(event, Cause::message);
    if (call != kNoEvent && history_.events[call].when == When::applied) call = causality_.parent(call, Cause::message);
    return call == kNoEvent || !chosen_[call];
}

std::string JobStory::fate(EventIndex call) const {
    const CallEnds ends = causality_.call(call);
    const auto& events = history_.events;
    const std::string effect = ends.applied == kNoEvent ? std::string{} : fmt::format("#{}", ends.applied + 1);
    if (ends.answered == kNoEvent)
        return effect.empty() ? "  NO ANSWER" : fmt::format("  took effect {}, NOT ANSWERED", effect);
    const HistoryEvent& answer = events[ends.answered];
    const std::string after = milliseconds_text(answer.ns - events[call].ns);
    if (answer.outcome == EventOutcome::not_applied) return fmt::format("  NOT APPLIED after {}", after);
    if (answer.outcome == EventOutcome::unknown)
        return effect.empty() ? fmt::format("  UNKNOWN after {}", after)
                              : fmt::format("  UNKNOWN after {}, though it took effect {}", after, effect);
    std::string said = history_.text(answer.reply);
    if (said.empty()) said = history_.text(answer.to);
    return fmt::format("  {}{}", said.empty() ? "" : "= " + said + ", ", after);
}

std::string JobStory::line(EventIndex event, bool with_place) const {
    const HistoryEvent& what = history_.events[event];
    std::string out = fmt::format("#{:<6} {:>14}  ", event + 1, seconds_text(what.ns));
    if (with_place) out += fmt::format("{:<{}}  ", history_.node_name(History::place_of(what)), name_width_);
    std::string text = describe(history_, event, job_);
    if (is_call(what.kind) && what.when == When::before) {
        const std::string before = fmt::format("{} before", fakes::to_string(what.kind));
        if (text.starts_with(before)) text = std::string(fakes::to_string(what.kind)) + text.substr(before.size());
        text += fate(event);
    }
    out += text;
    const EventIndex from = causality_.parent(event, Cause::message);
    if (from != kNoEvent && History::place_of(history_.events[from]) != History::place_of(what))
        out += fmt::format("  <- #{} {}", from + 1, history_.node_name(History::place_of(history_.events[from])));
    return out;
}

std::vector<std::string> JobStory::by_time() const {
    std::vector<std::string> lines;
    for (const EventIndex event : events_) {
        if (has_line(event)) lines.push_back(line(event, true));
    }
    return lines;
}

std::vector<std::string> JobStory::by_node() const {
    std::map<std::int16_t, std::vector<std::string>> lanes;
    for (const EventIndex event : events_) {
        if (has_line(event)) lanes[History::place_of(history_.events[event])].push_back(line(event, false));
    }
    std::vector<std::string> lines;
    for (auto& [node, own] : lanes) {
        lines.push_back(node < 0 ? "the world" : history_.node_name(node));
        for (std::string& each : own) lines.push_back("  " + std::move(each));
    }
    return lines;
}

StoryChoice story_of(const reports::Violation& violation, const History& history) {
    StoryChoice choice{violation.job, {}, false};
    const auto root = [&](const reports::Fact& fact) {
        if (fact.event > 0 && fact.event <= history.events.size())
            choice.roots.push_back(static_cast<EventIndex>(fact.event - 1));
    };
    if (violation.earlier) root(*violation.earlier);
    if (!violation.at_rest) root(violation.fact);
    const TextId job = violation.at_rest ? history.texts.find(violation.job) : 0;
    for (EventIndex i = 0; job != 0 && i < history.events.size(); ++i) {
        if (history.events[i].job == job) choice.roots.push_back(i);
    }
    if (choice.roots.empty()) root(violation.fact);
    return choice;
}

namespace {

/// A rule that watches the keyspace objects while a command is being executed, between two events. Then the event that broke
/// the rule is the first one after it, of the same instant, that is about the job.
void aim_at_the_job(reports::Violation& violation, const History& history) {
    const TextId job = history.texts.find(violation.job);
    const std::uint64_t number = violation.fact.event;
    if (violation.at_rest || job == 0 || number == 0 || number > history.events.size()) return;
    const auto is_it = [&](std::uint64_t event) { return history.events[event - 1].job == job; };
    const std::int64_t at = violation.fact.at_ns;
    if (is_it(number)) return;
    for (std::uint64_t next = number + 1; next <= history.events.size() && history.events[next - 1].ns <= at; ++next)
        if (is_it(next)) {
            violation.fact.event = next;
            return;
        }
}

/// What state the job was left in, and which sweeps passed it by.
std::vector<std::string> sweeps_past(std::string_view name, const History& history) {
    const TextId job = history.texts.find(name);
    std::string_view state;
    std::uint64_t since = 0;
    for (std::size_t i = 0; job != 0 && i < history.events.size(); ++i) {
        const HistoryEvent& event = history.events[i];
        if (event.kind != EventKind::state || event.job != job) continue;
        if (history.text(event.to) != state) since = i + 1;
        state = history.text(event.to);
    }
    return sweep_lines(history.sweeps, history.nodes, name, state, since);
}

}  // namespace

void explain_violation(reports::Violation& violation, const History& history, const Causality& causality) {
    aim_at_the_job(violation, history);
    complete(violation.fact, history);
    if (violation.earlier) complete(*violation.earlier, history);
    if (violation.at_rest) violation.fact.what = violation.detail;
    const std::uint64_t last = std::min<std::uint64_t>(violation.fact.event, history.events.size());
    if (last > 0) violation.circumstances = circumstances(history, violation.job, static_cast<EventIndex>(last - 1));
    if (violation.at_rest) {
        const auto sweeps = sweeps_past(violation.job, history);
        violation.circumstances.insert(violation.circumstances.end(), sweeps.begin(), sweeps.end());
    }
    violation.story = JobStory(history, causality, story_of(violation, history)).by_time();
}

}  // namespace lockstep::sim
