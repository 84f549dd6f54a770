#include "reports/timeline_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "reports/markup.h"

namespace lockstep::reports {

namespace {

// All in pixels.
constexpr int kLabels = 96;     // what the names of the lanes take, on the left
constexpr int kTop = 62;        // above the first lane
constexpr int kLane = 40;       // from one lane to the next
constexpr int kMargin = 24;     // left of the first event, and right of the last
constexpr int kStep = 7;        // between two events of one moment
constexpr int kLetter = 7;      // what a letter takes at most, on the average
constexpr int kTimeApart = 74;  // between two times at the axis

constexpr const char* kStyle =
    "text{font:11px system-ui,sans-serif;fill:#1b2027}.dim{fill:#69717d}.head{font-weight:700;font-size:13px}"
    ".bad{fill:#c62828}.lane{stroke:#d9dde3}.lock{fill:#f0b14a}.ack_wait{fill:#79c9b8}.fault{fill:#c62828;fill-opacity:"
    ".22}"
    ".down{fill:#1b2027;fill-opacity:.3}.paused{fill:#2f6fd0;fill-opacity:.25}.arrow{stroke:#69717d;stroke-width:1.2}"
    ".call{fill:#7a8594}.effect{fill:#2f6fd0}.answer{fill:#9aa4b1}.message{fill:#0d8a72}.lockdot{fill:#b26a00}"
    ".state{fill:#7b3fc4}.life{fill:#1b2027}.faultdot{fill:#c62828}.other{fill:#a3abb6}"
    ".fact{fill:none;stroke:#c62828;stroke-width:2}.apart{stroke:#c62828;stroke-dasharray:4 3;fill:none}";

const char* class_of(Timeline::Family family) {
    using Family = Timeline::Family;
    switch (family) {
        case Family::call: return "call";
        case Family::effect: return "effect";
        case Family::answer: return "answer";
        case Family::message: return "message";
        case Family::lock: return "lockdot";
        case Family::state: return "state";
        case Family::life: return "life";
        case Family::fault: return "faultdot";
        case Family::other: return "other";
    }
    return "other";
}

struct SpanLook {
    const char* name;  // of its class
    const char* words;
};
SpanLook look_of(Timeline::Span span) {
    switch (span) {
        case Timeline::Span::lock: return {"lock", "has the lock"};
        case Timeline::Span::ack_wait: return {"ack_wait", "has the message"};
        case Timeline::Span::fault: return {"fault", "fault"};
        case Timeline::Span::down: return {"down", "down"};
        case Timeline::Span::paused: return {"paused", "paused"};
    }
    return {"fault", ""};
}

std::string seconds(std::int64_t us) { return fmt::format("{}.{:03}s", us / 1'000'000, us / 1000 % 1000); }

/// Wider for longer, in whole pixels: four more for each doubling of the milliseconds.
int pause_width(std::int64_t us) {
    return kStep +
           4 * static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(us, 0) / 1000)));
}

class PictureWriter {
public:
    PictureWriter(const Timeline& timeline, std::uint32_t job) : timeline_(timeline), job_(job) {
        choose();
        place();
    }

    std::string write() {
        for (const Timeline::Bar& bar : timeline_.bars) draw(bar);
        for (const std::uint32_t event : shown_) draw_arrow(event);
        for (const std::uint32_t event : shown_) draw(event);
        point_out();
        axis();
        const int height = kTop + static_cast<int>(lanes_) * kLane + 34;
        std::string out = fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
            "role=\"img\">\n"
            "<title>{2}</title>\n<style>{3}</style>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
            width_, height, escaped(timeline_.title), kStyle);
        out += text(8, 20, "head", fmt::format("{}: job {}", timeline_.title, timeline_.texts[job_]));
        out += text(8, 38, timeline_.verdict.empty() ? "dim" : "bad",
                    timeline_.verdict.empty() ? timeline_.subtitle : timeline_.verdict.front());
        for (std::size_t lane = 0; lane < row_.size(); ++lane) {
            if (!row_[lane]) continue;
            const int y = y_of(static_cast<std::uint32_t>(lane));
            out += text(8, y + 4, "", timeline_.lanes[lane]);
            out += fmt::format("<path class=\"lane\" d=\"M{} {}H{}\"/>\n", kLabels, y, width_ - 8);
        }
        return out + body_ + "</svg>\n";
    }

private:
    void choose() {
        const bool violated = timeline_.fact != Timeline::kNone && timeline_.job == job_;
        for (std::uint32_t i = 0; i < timeline_.events.size(); ++i) {
            const Timeline::Event& event = timeline_.events[i];
            const bool told = violated && (i == timeline_.fact || i == timeline_.earlier);
            if (violated && i > timeline_.fact) break;
            if (told || (event.job == job_ && job_ != 0 && !event.noise)) shown_.push_back(i);
        }
        if (shown_.size() > kPictureEventsMax)
            shown_.erase(shown_.begin(), shown_.end() - static_cast<std::ptrdiff_t>(kPictureEventsMax));
        // Faults that begin or end meanwhile have their place, too.
        if (shown_.empty()) return;
        const std::uint32_t first = shown_.front();
        const std::uint32_t last = shown_.back();
        for (std::uint32_t i = first; i < last; ++i) {
            const Timeline::Family family = timeline_.events[i].family;
            if (family == Timeline::Family::fault || family == Timeline::Family::life) shown_.push_back(i);
        }
        std::ranges::sort(shown_);
        shown_.erase(std::ranges::unique(shown_).begin(), shown_.end());
    }

    void place() {
        row_.resize(timeline_.lanes.size());
        x_.assign(timeline_.events.size(), std::nullopt);
        std::vector<bool> used(timeline_.lanes.size());
        int x = kLabels + kMargin;
        std::int64_t before = shown_.empty() ? 0 : timeline_.events[shown_.front()].us;
        for (const std::uint32_t event : shown_) {
            const std::int64_t us = timeline_.events[event].us;
            if (event != shown_.front()) x += pause_width(us - before);
            x_[event] = x;
            before = us;
            used[timeline_.events[event].lane] = true;
        }
        const std::size_t words = timeline_.verdict.empty() ? 0 : timeline_.verdict.front().size();
        width_ = std::max({x + kMargin + 60, 480, std::min(static_cast<int>(words) * kLetter + 16, 1200)});
        for (std::size_t lane = 0; lane < used.size(); ++lane)
            if (used[lane]) row_[lane] = static_cast<int>(lanes_++);
    }

    [[nodiscard]] int y_of(std::uint32_t lane) const { return kTop + row_[lane].value_or(0) * kLane + kLane / 2; }

    /// Of a moment between two events that are drawn: that of the later one; none beyond them.
    [[nodiscard]] int x_at(std::int64_t us) const {
        for (const std::uint32_t event : shown_)
            if (timeline_.events[event].us >= us) return *x_[event];
        return width_ - 8;
    }

    static std::string text(int x, int y, std::string_view kind, std::string_view words) {
        const std::string looks = kind.empty() ? "" : fmt::format(" class=\"{}\"", kind);
        return fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>\n", x, y, looks, escaped(words));
    }

    void draw(const Timeline::Bar& bar) {
        if (shown_.empty() || (bar.job != 0 && bar.job != job_)) return;
        const bool of_job = bar.span == Timeline::Span::lock || bar.span == Timeline::Span::ack_wait;
        if (of_job && bar.job != job_) return;
        if (bar.to_us < timeline_.events[shown_.front()].us || bar.from_us > timeline_.events[shown_.back()].us) return;
        if (bar.lane != Timeline::kNone && !row_[bar.lane]) return;
        const int from = x_at(bar.from_us);
        const int to = std::max(x_at(bar.to_us), from + 4);
        const SpanLook look = look_of(bar.span);
        const std::string words =
            bar.span == Timeline::Span::fault ? timeline_.texts[bar.what] : std::string(look.words);
        const bool whole = bar.lane == Timeline::kNone;
        const int y = whole ? kTop : y_of(bar.lane) + (bar.span == Timeline::Span::lock ? -16 : 4);
        const int height = whole ? static_cast<int>(lanes_) * kLane : 12;
        body_ +=
            fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>\n",
                        look.name, from, y, to - from, height, escaped(words));
        // Where the words have room; else the title says them to who asks.
        if (static_cast<int>(words.size()) * 6 < to - from)
            body_ += text(from + 4, whole ? kTop - 4 : y + 10, "", words);
    }

    void draw_arrow(std::uint32_t event) {
        const Timeline::Event& here = timeline_.events[event];
        if (here.message == Timeline::kNone || !x_[here.message]) return;
        const Timeline::Event& from = timeline_.events[here.message];
        if (from.lane == here.lane) return;
        body_ += fmt::format("<path class=\"arrow\" d=\"M{} {}L{} {}\"/>\n", *x_[here.message], y_of(from.lane),
                             *x_[event], y_of(here.lane));
    }

    [[nodiscard]] std::string words_of(const Timeline::Event& event) const {
        std::string words = timeline_.texts[event.what];
        for (std::size_t at = words.find(Timeline::kJobMark); at != std::string::npos;
             at = words.find(Timeline::kJobMark))
            words.replace(at, 1, timeline_.texts[event.job]);
        return words;
    }

    void draw(std::uint32_t index) {
        const Timeline::Event& event = timeline_.events[index];
        body_ += fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"3\"><title>#{} {} {}</title></circle>\n",
                             class_of(event.family), *x_[index], y_of(event.lane), event.number, seconds(event.us),
                             escaped(words_of(event)));
    }

    /// What contradicts each other, with a line between.
    void point_out() {
        if (timeline_.fact == Timeline::kNone || !x_[timeline_.fact]) return;
        const auto ring = [this](std::uint32_t event, std::string_view words) {
            const int y = y_of(timeline_.events[event].lane);
            body_ += fmt::format("<circle class=\"fact\" cx=\"{}\" cy=\"{}\" r=\"7\"/>\n", *x_[event], y);
            body_ += text(*x_[event] + 10, y - 8, "bad", fmt::format("#{} {}", timeline_.events[event].number, words));
        };
        if (timeline_.earlier != Timeline::kNone && x_[timeline_.earlier]) {
            body_ += fmt::format("<path class=\"apart\" d=\"M{} {}L{} {}\"/>\n", *x_[timeline_.earlier],
                                 y_of(timeline_.events[timeline_.earlier].lane), *x_[timeline_.fact],
                                 y_of(timeline_.events[timeline_.fact].lane));
            ring(timeline_.earlier, "contradicts");
        }
        ring(timeline_.fact, "here");
    }

    void axis() {
        const int y = kTop + static_cast<int>(lanes_) * kLane + 16;
        std::optional<int> last;
        for (const std::uint32_t event : shown_) {
            if (last && *x_[event] - *last < kTimeApart) continue;
            last = *x_[event];
            body_ += text(*last, y, "dim", seconds(timeline_.events[event].us));
        }
        body_ += text(8, y, "dim", "not to scale");
    }

    const Timeline& timeline_;
    const std::uint32_t job_;
    std::vector<std::uint32_t> shown_;     // positions of events, ascending
    std::vector<std::optional<int>> row_;  // by lane; none = nothing happens there
    std::vector<std::optional<int>> x_;    // by event
    std::size_t lanes_ = 0;
    int width_ = 0;
    std::string body_;
};

}  // namespace

std::string timeline_picture(const Timeline& timeline, std::uint32_t job) {
    return PictureWriter(timeline, job).write();
}

}  // namespace lockstep::reports
