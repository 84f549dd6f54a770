#include "prod/ctl/run_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "engine/runs/run_document.h"
#include "engine/wire/rfc3339.h"
#include "prod/ctl/run_outline.h"
#include "prod/ctl/text.h"

namespace lockstep::prod {

namespace {

using nlohmann::json;

constexpr int kRowHeight = 24;
constexpr int kLabelWidth = 220;
constexpr int kChartWidth = 700;
constexpr int kNodeWidth = 150;
constexpr int kNodeHeight = 30;
constexpr int kColumnWidth = 200;
constexpr int kNodePitch = 46;
constexpr std::size_t kLabelLetters = 28;
constexpr std::size_t kNodeLetters = 18;

constexpr const char* kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{0}</title><style>
:root {{ color-scheme: light dark; --text: #222; --paper: #fff; --line: #ddd; --idle: #bbb }}
@media (prefers-color-scheme: dark) {{ :root {{ --text: #e3e7ed; --paper: #14171c; --line: #353c47; --idle: #8d98a7 }} }}
body {{ font: 14px sans-serif; margin: 1.5em; color: var(--text); background: var(--paper) }}
h1, td {{ overflow-wrap: anywhere }}
svg text {{ font: 12px sans-serif; fill: var(--text) }} svg .node {{ fill: #111 }} .wide {{ overflow-x: auto }}
td {{ padding-right: 1.5em; vertical-align: top }} td:first-child {{ overflow-wrap: normal }}
.pending, .skipped {{ fill: var(--idle) }} .running {{ fill: #4a90d9 }} .waiting {{ fill: #e0a030 }} .succeeded {{ fill: #4caf6e }}
.failed, .denied, .timed_out, .cancelled {{ fill: #d9534f }} .edge {{ fill: none; stroke: #888 }} .grid {{ stroke: var(--line) }}
</style></head><body><h1>{0}</h1>
)";

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : printable(text)) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            case '\'': out += "&#39;"; break;
            default: out += c;
        }
    }
    return out;
}

/// Cut where there is no room for more, and never within a character.
std::string shortened(std::string_view text, std::size_t letters) {
    if (text.size() <= letters) return std::string(text);
    std::size_t end = letters - 1;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    return std::string(text.substr(0, end)) + "…";
}

struct Span {
    engine::WallTime from, to;
};

class Page {
public:
    Page(const json& run, const std::vector<OutlinedStep>& steps, engine::WallTime now)
        : run_(run), steps_(steps), now_(now) {
        const engine::RunDocument document(run);
        from_ = document.started_at().value_or(document.created_at().value_or(now));
        to_ = engine::wire::parse_rfc3339(text_at(run, "completed_at")).value_or(now);
        for (const OutlinedStep& step : steps)
            if (const auto span = span_of(step)) to_ = std::max(to_, span->to);
        if (to_ <= from_) to_ = from_ + std::chrono::milliseconds(1);
    }

    std::string write() {
        out_ += fmt::format(kHead, escaped(text_at(run_, "id")));
        facts();
        out_ += "<h2>Steps over time</h2>\n";
        bars();
        out_ += "<h2>What waits for what</h2>\n";
        graph();
        out_ += "</body></html>\n";
        return std::move(out_);
    }

private:
    static std::string status_of(const OutlinedStep& step) {
        json record = step.record;
        return std::string(engine::to_string(engine::StepRun(record, step.key).status()));
    }
    /// Nothing for a step that has not begun.
    [[nodiscard]] std::optional<Span> span_of(const OutlinedStep& step) const {
        const auto from = engine::wire::parse_rfc3339(text_at(step.record, "started_at"));
        if (!from) return std::nullopt;
        return Span{*from, engine::wire::parse_rfc3339(text_at(step.record, "completed_at")).value_or(now_)};
    }
    [[nodiscard]] int x_of(engine::WallTime at) const {
        const double share = static_cast<double>((at - from_).count()) / static_cast<double>((to_ - from_).count());
        return kLabelWidth + static_cast<int>(std::clamp(share, 0.0, 1.0) * kChartWidth);
    }

    void facts() {
        out_ += "<table>\n";
        for (const auto& [label, member] :
             {std::pair{"workflow", "workflow_id"}, std::pair{"status", "status"}, std::pair{"created", "created_at"},
              std::pair{"began", "started_at"}, std::pair{"ended", "completed_at"}, std::pair{"by", "triggered_by"},
              std::pair{"error", "error.message"}})
            if (const std::string value = text_at(run_, member); !value.empty())
                out_ += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", label, escaped(value));
        out_ += "</table>\n";
    }

    void bars() {
        const int height = static_cast<int>(steps_.size() + 1) * kRowHeight;
        out_ += fmt::format("<div class=\"wide\"><svg width=\"{}\" height=\"{}\">\n", kLabelWidth + kChartWidth + 100,
                            height);
        constexpr int kParts = 5;
        for (int i = 0; i <= kParts; ++i) {
            const engine::Duration since = (to_ - from_) * i / kParts;
            const int x = x_of(from_ + since);
            out_ += fmt::format(
                "<line class=\"grid\" x1=\"{0}\" y1=\"16\" x2=\"{0}\" y2=\"{1}\"/><text x=\"{0}\" "
                "y=\"12\">+{2}</text>\n",
                x, height, length(since));
        }
        int y = kRowHeight;
        for (const OutlinedStep& step : steps_) {
            bar(step, y);
            y += kRowHeight;
        }
        out_ += "</svg></div>\n";
    }
    void bar(const OutlinedStep& step, int y) {
        const std::string status = status_of(step);
        out_ += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>", 12 * step.depth(), y + 15,
                            escaped(shortened(step.key, kLabelLetters - 2 * std::min<std::size_t>(step.depth(), 8))));
        const auto span = span_of(step);
        if (!span) {
            out_ += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", kLabelWidth + 4, y + 15, status);
            return;
        }
        const int x = x_of(span->from);
        const int width = std::max(2, x_of(span->to) - x);
        out_ += fmt::format(
            "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"16\" rx=\"2\"><title>{}</title></rect>", status,
            x, y + 3, width, title_of(step, status, *span));
        out_ +=
            fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", x + width + 4, y + 15, length(span->to - span->from));
    }
    [[nodiscard]] std::string title_of(const OutlinedStep& step, const std::string& status, const Span& span) const {
        std::string title =
            fmt::format("{} {}: +{}, {}", step.key, status, length(span.from - from_), length(span.to - span.from));
        if (const std::string error = text_at(step.record, "error.message"); !error.empty()) title += "; " + error;
        return escaped(title);
    }

    /// The steps of the run itself, a column for each rank; children stand in the chart of bars.
    void graph() {
        std::map<std::string, std::pair<int, int>> places;
        std::map<int, int> in_column;
        int columns = 0;
        int rows = 0;
        for (const OutlinedStep& step : steps_) {
            if (step.depth() > 0) continue;
            const int row = in_column[step.rank]++;
            places[step.key] = {step.rank * kColumnWidth + 2, row * kNodePitch + 2};
            columns = std::max(columns, step.rank + 1);
            rows = std::max(rows, row + 1);
        }
        out_ += fmt::format("<div class=\"wide\"><svg width=\"{}\" height=\"{}\">\n", columns * kColumnWidth,
                            rows * kNodePitch);
        for (const OutlinedStep& step : steps_)
            for (const std::string& before : step.after)
                if (places.contains(step.key) && places.contains(before)) edge(places[before], places[step.key]);
        for (const OutlinedStep& step : steps_) {
            const auto place = places.find(step.key);
            if (place == places.end()) continue;
            const auto [x, y] = place->second;
            const std::string status = status_of(step);
            out_ += fmt::format(
                "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\"><title>{} {}</title></rect>",
                status, x, y, kNodeWidth, kNodeHeight, escaped(step.key), status);
            out_ += fmt::format("<text class=\"node\" x=\"{}\" y=\"{}\">{}</text>\n", x + 8, y + 20,
                                escaped(shortened(step.key, kNodeLetters)));
        }
        out_ += "</svg></div>\n";
    }
    void edge(std::pair<int, int> from, std::pair<int, int> to) {
        const int x1 = from.first + kNodeWidth;
        const int y1 = from.second + kNodeHeight / 2;
        const int y2 = to.second + kNodeHeight / 2;
        const int bend = (x1 + to.first) / 2;
        out_ +=
            fmt::format("<path class=\"edge\" d=\"M{0} {1} C{2} {1} {2} {3} {4} {3}\"/>\n", x1, y1, bend, y2, to.first);
    }

    const json& run_;
    const std::vector<OutlinedStep>& steps_;
    const engine::WallTime now_;
    engine::WallTime from_{}, to_{};
    std::string out_;
};

}  // namespace

std::string run_page(const json& run, const json& definition, engine::WallTime now) {
    const std::vector<OutlinedStep> steps = outline(run, definition);
    return Page(run, steps, now).write();
}

}  // namespace lockstep::prod
