#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include "engine/wire/json_text.h"
#include "reports/events_table.h"
#include "reports/jobs_table.h"
#include "reports/markup.h"
#include "reports/page/timeline_data.js.h"
#include "reports/page/timeline_folds.js.h"
#include "reports/page/timeline_jobs.js.h"
#include "reports/page/timeline_markup.html.h"
#include "reports/page/timeline_script.js.h"
#include "reports/page/timeline_style.css.h"
#include "reports/runs_table.h"
#include "reports/timeline.h"

namespace lockstep::reports {

namespace {

using nlohmann::json;

/// Beside the family of an event.
constexpr std::uint64_t kNoiseBit = 16;

/// A column of numbers, small ones in one byte.
class Column {
public:
    void add(std::uint64_t value) {
        while (value >= 0x80) {
            bytes_ += static_cast<char>((value & 0x7fU) | 0x80U);
            value >>= 7U;
        }
        bytes_ += static_cast<char>(value);
    }
    /// Smaller numbers for values that do not stray far from zero, either way.
    void add_signed(std::int64_t value) {
        add((static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63));
    }
    [[nodiscard]] const std::string& bytes() const { return bytes_; }

private:
    std::string bytes_;
};

/// What a reader of the page assumes of a cause that the data does not mention: the last event of the same lane and job, and
/// of the lives of its lane the one named last.
class Expected {
public:
    explicit Expected(std::size_t lanes) : lives_(lanes, Timeline::kNone) {}

    [[nodiscard]] std::uint32_t thread(const Timeline::Event& event) const {
        if (event.job == 0) return Timeline::kNone;
        const auto found = threads_.find(key(event));
        return found == threads_.end() ? Timeline::kNone : found->second;
    }
    [[nodiscard]] std::uint32_t life(const Timeline::Event& event) const { return lives_[event.lane]; }
    void note(const Timeline::Event& event, std::uint32_t index) {
        if (event.job != 0) threads_[key(event)] = index;
        if (event.family == Timeline::Family::life)
            lives_[event.lane] = index;
        else if (event.life != Timeline::kNone)
            lives_[event.lane] = event.life;
    }

private:
    static std::uint64_t key(const Timeline::Event& event) { return (std::uint64_t{event.lane} << 32U) | event.job; }

    std::unordered_map<std::uint64_t, std::uint32_t> threads_;  // never iterated
    std::vector<std::uint32_t> lives_;
};

/// 0: as expected; 1: none; else how far back, plus one.
void add_cause(Column& column, std::uint32_t cause, std::uint32_t expected, std::uint32_t index) {
    column.add(cause == expected ? 0 : cause == Timeline::kNone ? 1 : std::uint64_t{index} - cause + 1);
}

std::string events_data(const Timeline& timeline) {
    Column numbers, times, lanes, families, whats, jobs, threads, messages, triggers, lives;
    Expected expected(timeline.lanes.size());
    std::uint64_t number = 0;
    std::int64_t us = 0;
    for (std::uint32_t i = 0; i < timeline.events.size(); ++i) {
        const Timeline::Event& event = timeline.events[i];
        numbers.add(event.number - number);
        times.add(static_cast<std::uint64_t>(event.us - us));
        lanes.add(event.lane);
        families.add(static_cast<std::uint64_t>(event.family) | (event.noise ? kNoiseBit : 0U));
        whats.add(event.what);
        jobs.add(event.job);
        add_cause(threads, event.thread, expected.thread(event), i);
        add_cause(messages, event.message, Timeline::kNone, i);
        add_cause(triggers, event.trigger, Timeline::kNone, i);
        add_cause(lives, event.life, expected.life(event), i);
        expected.note(event, i);
        number = event.number;
        us = event.us;
    }
    std::string out;
    for (const Column* column :
         {&numbers, &times, &lanes, &families, &whats, &jobs, &threads, &messages, &triggers, &lives})
        out += column->bytes();
    return out;
}

std::string bars_data(const Timeline& timeline) {
    Column spans, lanes, begins, lengths, whats, jobs;
    std::int64_t before = 0;
    for (const Timeline::Bar& bar : timeline.bars) {
        spans.add(static_cast<std::uint64_t>(bar.span));
        lanes.add(bar.lane == Timeline::kNone ? 0 : std::uint64_t{bar.lane} + 1);
        begins.add_signed(bar.from_us - before);
        lengths.add(static_cast<std::uint64_t>(std::max<std::int64_t>(bar.to_us - bar.from_us, 0)));
        whats.add(bar.what);
        jobs.add(bar.job);
        before = bar.from_us;
    }
    std::string out;
    for (const Column* column : {&spans, &lanes, &begins, &lengths, &whats, &jobs}) out += column->bytes();
    return out;
}

json position(std::uint32_t index) { return index == Timeline::kNone ? json(-1) : json(index); }

std::string head_data(const Timeline& timeline) {
    json clocks = json::array();
    for (const Timeline::Clock& clock : timeline.clocks) clocks.push_back({clock.lane, clock.us, clock.ahead_us});
    json folds = json::array();
    for (const Timeline::Fold& fold : timeline.folds) folds.push_back({fold.from_us, fold.to_us});
    const json head{{"fact", position(timeline.fact)},
                    {"earlier", position(timeline.earlier)},
                    {"job", timeline.job},
                    {"total", timeline.events_total},
                    {"end", timeline.end_us},
                    {"lanes", timeline.lanes},
                    {"texts", timeline.texts},
                    {"clocks", std::move(clocks)},
                    {"folds", std::move(folds)},
                    {"opens", {timeline.opens.what, timeline.opens.from_us, timeline.opens.to_us}},
                    {"events", timeline.events.size()},
                    {"bars", timeline.bars.size()}};
    return engine::wire::json_text(head);
}

std::string deflated(const std::string& data) {
    uLongf size = compressBound(data.size());
    std::string out(size, '\0');
    const int code = compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(data.data()),
                               data.size(), Z_BEST_COMPRESSION);
    if (code != Z_OK) throw std::runtime_error("the timeline cannot be compressed");
    out.resize(size);
    return out;
}

std::string base64(const std::string& data) {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((data.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < data.size(); i += 3) {
        std::uint32_t bits = 0;
        for (std::size_t k = 0; k < 3; ++k)
            bits = (bits << 8U) | (i + k < data.size() ? static_cast<unsigned char>(data[i + k]) : 0U);
        for (std::size_t k = 0; k < 4; ++k)
            out += i + k <= data.size() ? kDigits[(bits >> (18U - 6U * k)) & 0x3fU] : '=';
    }
    return out;
}

std::string verdict_lines(const Timeline& timeline) {
    std::string out;
    for (const std::string& line : timeline.verdict)
        out += fmt::format("<div{}>{}</div>", out.empty() ? " class=\"first\"" : "", escaped(line));
    return out;
}

std::string footer(const Timeline& timeline) {
    std::string out;
    for (const std::string& note : timeline.notes) out += fmt::format("<b>{}</b> ", escaped(note));
    if (!timeline.replay.empty()) out += fmt::format("replay: <code>{}</code>", escaped(timeline.replay));
    if (!timeline.program.empty()) out += fmt::format("<span>{}</span>", escaped(timeline.program));
    return out;
}

void put(std::string& page, std::string_view place, std::string_view content) {
    const std::size_t at = page.find(place);
    if (at == std::string::npos) throw std::logic_error("the markup of the page lacks one of its places");
    page.replace(at, place.size(), content);
}

}  // namespace

std::string timeline_page(const Timeline& timeline) {
    const std::string head = head_data(timeline);
    Column size;
    size.add(head.size());
    const std::string data = size.bytes() + head + events_data(timeline) + bars_data(timeline);
    std::string page(page::kTimelineMarkup);
    put(page, "{{title}}", escaped(timeline.title));
    put(page, "{{heading}}", escaped(timeline.title));
    put(page, "{{mark}}",
        timeline.passed ? R"(<span id="mark" class="good">holds</span>)"
                        : R"(<span id="mark" class="bad">FAILS</span>)");
    put(page, "{{subtitle}}", escaped(timeline.subtitle));
    put(page, "{{verdict}}", verdict_lines(timeline));
    put(page, "{{runs}}", runs_table(timeline));
    put(page, "{{jobs}}", jobs_table(timeline));
    put(page, "{{notes}}", footer(timeline));
    put(page, "{{events}}", events_table(timeline));
    put(page, "{{style}}", page::kTimelineStyle);
    std::string script;
    for (const std::string_view part :
         {page::kTimelineData, page::kTimelineFolds, page::kTimelineJobs, page::kTimelineScript})
        script += part;
    put(page, "{{script}}", script);
    put(page, "{{data}}", base64(deflated(data)));
    return page;
}

}  // namespace lockstep::reports
