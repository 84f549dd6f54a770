#include "reports/runs_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/markup.h"

namespace lockstep::reports {

namespace {

using Run = Timeline::Run;
using Step = Timeline::Step;
using Phase = Timeline::Phase;

std::string in_seconds(std::int64_t us) { return fmt::format("{:.3f}s", static_cast<double>(us) / 1e6); }

/// As the style knows it; a status of somebody else's has none.
std::string_view class_of(std::string_view state) {
    for (const std::string_view known : {"pending", "running", "waiting", "succeeded", "failed", "denied", "cancelled",
                                         "timed_out", "skipped", "pause"})
        if (state == known) return known;
    return "odd";
}

class Table {
public:
    explicit Table(const Timeline& timeline) : timeline_(timeline) {
        if (timeline.runs.empty()) return;
        from_ = timeline.runs.front().from_us;
        for (const Run& run : timeline.runs) {
            from_ = std::min(from_, run.from_us);
            to_ = std::max(to_, run.to_us);
        }
        to_ = std::max(to_, from_ + 1);
    }

    std::string write() {
        if (timeline_.runs.empty()) return {};
        out_ += fmt::format(
            "<details id=\"runs\" class=\"bars\" open=\"\"><summary>Workflow runs: "
            "{}</summary>\n<div><table>\n<thead><tr><th>run and "
            "steps</th><th>state</th><th>tries</th><th>from</th><th>took</th><th class=\"chart\">{} to {}</th>"
            "<th>jobs</th></tr></thead>\n",
            timeline_.runs.size(), in_seconds(from_), in_seconds(to_));
        for (const Run& run : timeline_.runs) row(run);
        return std::move(out_) + "</table></div></details>\n";
    }

private:
    void row(const Run& run) {
        out_ += fmt::format("<tbody><tr class=\"run\"><th scope=\"row\">{} <span>{}</span></th>", escaped(run.id),
                            escaped(run.workflow));
        state(run.state);
        out_ += "<td></td>";
        span(run.from_us, run.to_us);
        out_ += "<td class=\"chart\"><div>";
        bar({run.state, run.from_us, run.to_us}, "whole");
        out_ += "</div></td><td></td></tr>\n";
        for (const Step& step : run.steps) row(step);
        out_ += "</tbody>\n";
    }

    void row(const Step& step) {
        const bool is_one_of_many = step.key.ends_with(']');
        out_ +=
            fmt::format("<tr><th scope=\"row\"{}>{}</th>", is_one_of_many ? " class=\"child\"" : "", escaped(step.key));
        state(step.state);
        out_ += step.attempts > 0 ? fmt::format("<td>{}</td>", step.attempts) : "<td></td>";
        if (step.phases.empty())
            out_ += "<td></td><td></td>";
        else
            span(step.phases.front().from_us, step.phases.back().to_us);
        out_ += "<td class=\"chart\"><div>";
        for (const Phase& phase : step.phases) bar(phase, "");
        out_ += "</div></td><td>";
        for (const std::string& job : step.jobs) out_ += fmt::format("<a data-job=\"{0}\">{0}</a> ", escaped(job));
        out_ += "</td></tr>\n";
    }

    void state(const std::string& text) {
        out_ += fmt::format("<td class=\"{}\"><i></i>{}</td>", class_of(text), escaped(text));
    }
    void span(std::int64_t from, std::int64_t to) {
        out_ += fmt::format("<td>{}</td><td>{}</td>", in_seconds(from), in_seconds(to - from));
    }
    void bar(const Phase& phase, std::string_view more) {
        const auto percent = [this](std::int64_t us) {
            return 100.0 * static_cast<double>(us) / static_cast<double>(to_ - from_);
        };
        out_ += fmt::format("<i class=\"{} {}\" style=\"left:{:.2f}%;width:{:.2f}%\" title=\"{}: {} to {}\"></i>",
                            class_of(phase.state), more, percent(phase.from_us - from_),
                            percent(phase.to_us - phase.from_us), escaped(phase.state), in_seconds(phase.from_us),
                            in_seconds(phase.to_us));
    }

    const Timeline& timeline_;
    std::int64_t from_ = 0;
    std::int64_t to_ = 0;
    std::string out_;
};

}  // namespace

std::string runs_table(const Timeline& timeline) { return Table(timeline).write(); }

}  // namespace lockstep::reports
