#include "reports/jobs_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "reports/fold_scale.h"
#include "reports/markup.h"
#include "reports/page_text.h"
#include "reports/wait_causes.h"

namespace lockstep::reports {

namespace {

using Job = Timeline::Job;
using Stretch = Timeline::Stretch;

/// Less is not worth a word beside the bar.
constexpr std::int64_t kWorthTelling = 1000;
/// Of the width of the chart: what is narrower is no pixel wide.
constexpr double kWorthDrawing = 0.05;

std::string_view style_of_state(std::string_view state) {
    constexpr std::pair<std::string_view, std::string_view> kStyles[] = {{"SUCCEEDED", "succeeded"},
                                                                         {"FAILED", "failed"},
                                                                         {"CANCELLED", "cancelled"},
                                                                         {"TIMEOUT", "timed_out"},
                                                                         {"DENIED", "denied"},
                                                                         {"OUTPUT_QUARANTINED", "denied"},
                                                                         {"RUNNING", "running"},
                                                                         {"DISPATCHED", "running"},
                                                                         {"PENDING", "waiting"},
                                                                         {"SCHEDULED", "waiting"},
                                                                         {"APPROVAL_REQUIRED", "waiting"}};
    for (const auto& [name, style] : kStyles)
        if (name == state) return style;
    return "odd";
}

double width_of(const Stretch& stretch, const FoldScale& scale) {
    return scale.percent(stretch.to_us) - scale.percent(stretch.from_us);
}

std::string bar_of(const Job& job, const FoldScale& scale) {
    std::string out;
    double widest = 0;
    for (const Stretch& stretch : job.stretches) widest = std::max(widest, width_of(stretch, scale));
    for (const Stretch& stretch : job.stretches) {
        const double width = width_of(stretch, scale);
        if (width < std::min(kWorthDrawing, widest)) continue;
        out += fmt::format("<i class=\"{}\" style=\"left:{:.2f}%;width:{:.2f}%\" title=\"{}{}: {} from {}\"></i>",
                           style_of_stretch(stretch.what), scale.percent(stretch.from_us), width,
                           is_wait(stretch.what) ? "waits for " : "", escaped(label_of_stretch(stretch.what)),
                           length_of(stretch.to_us - stretch.from_us), seconds_of(stretch.from_us));
    }
    return out;
}

/// "a worker (no_workers) 3.200s, its turn 0.012s", the longest first.
std::string waits_of(const Job& job) {
    std::map<std::string, std::int64_t> sums;
    for (const Stretch& stretch : job.stretches)
        if (is_wait(stretch.what)) sums[label_of_stretch(stretch.what)] += stretch.to_us - stretch.from_us;
    std::vector<std::pair<std::int64_t, std::string>> order;
    for (const auto& [label, sum] : sums)
        if (sum >= kWorthTelling) order.emplace_back(-sum, label);
    std::ranges::sort(order);
    std::string out;
    for (const auto& [negative, label] : order)
        out += fmt::format("{}{} {}", out.empty() ? "" : ", ", label, length_of(-negative));
    return out;
}

std::string row_of(const Job& job, const FoldScale& scale) {
    return fmt::format(
        "<tr id=\"{}\" data-job=\"{}\"><th scope=\"row\"><a href=\"{}\">{}</a></th><td class=\"{}\"><i></i>{}</td>"
        "<td>{}</td><td>{}</td><td>{}</td><td class=\"chart\"><div>{}</div></td><td>{}</td></tr>\n",
        escaped(job_anchor(job.id)), escaped(job.id), job_reference(job.id), escaped(job.id), style_of_state(job.state),
        escaped(job.state.empty() ? "none recorded" : job.state), job.attempts, seconds_of(job.from_us),
        length_of(job.to_us - job.from_us), bar_of(job, scale), escaped(waits_of(job)));
}

std::string legend() {
    std::string out = "<p class=\"legend\">waits for";
    for (const WaitKind& kind : wait_kinds()) {
        if (kind.style == "at-sent") out += "; is";
        out += fmt::format(" <span><i class=\"{}\"></i>{}</span>", kind.style, kind.label);
    }
    return out + "</p>\n";
}

std::string folds_line(const FoldScale& scale) {
    if (scale.folds().empty()) return {};
    std::string out = "<p class=\"folds\">Folded, as nothing happens: ";
    for (std::size_t i = 0; i < scale.folds().size(); ++i) {
        const Timeline::Fold& fold = scale.folds()[i];
        out += fmt::format("{}{} from {}", i == 0 ? "" : ", ", length_of(fold.to_us - fold.from_us),
                           seconds_of(fold.from_us));
    }
    return out + "</p>\n";
}

std::pair<std::int64_t, std::int64_t> span_of(const std::vector<Job>& jobs) {
    std::pair span{jobs.front().from_us, jobs.front().to_us};
    for (const Job& job : jobs) span = {std::min(span.first, job.from_us), std::max(span.second, job.to_us)};
    return span;
}

/// The rows that there is room for, in the order of the jobs.
std::vector<std::string> chosen_rows(const Timeline& timeline, const FoldScale& scale) {
    const std::string concerned = timeline.job < timeline.texts.size() ? timeline.texts[timeline.job] : std::string{};
    std::vector<std::tuple<int, std::int64_t, std::size_t>> order;
    for (std::size_t i = 0; i < timeline.jobs.size(); ++i) {
        const Job& job = timeline.jobs[i];
        const int rank = job.id == concerned ? 0 : job.state == "SUCCEEDED" ? 2 : 1;
        order.emplace_back(rank, job.from_us - job.to_us, i);
    }
    std::ranges::sort(order);
    std::map<std::size_t, std::string> rows;
    std::size_t bytes = 0;
    for (const auto& [rank, length, place] : order) {
        std::string row = row_of(timeline.jobs[place], scale);
        bytes += row.size();
        if (bytes > timeline.table_bytes_max) break;
        rows.emplace(place, std::move(row));
    }
    std::vector<std::string> out;
    for (auto& [place, row] : rows) out.push_back(std::move(row));
    return out;
}

}  // namespace

std::string jobs_table(const Timeline& timeline) {
    if (timeline.jobs.empty()) return {};
    const auto [from, to] = span_of(timeline.jobs);
    const FoldScale scale(timeline.folds, from, to);
    const std::vector<std::string> rows = chosen_rows(timeline, scale);
    const std::string background = scale.background();
    std::string out = fmt::format("<details id=\"job-bars\" class=\"bars\" open=\"\"><summary>Jobs: {}</summary>\n{}{}",
                                  timeline.jobs.size(), legend(), folds_line(scale));
    if (rows.size() < timeline.jobs.size())
        out += fmt::format(
            "<p class=\"left-out\">{} of {} jobs are listed: {}those that did not succeed, then those that took "
            "longest. "
            "`lockstep explain FILE --job ID` tells of any.</p>\n",
            rows.size(), timeline.jobs.size(), timeline.job != 0 ? "the one of the violation, " : "");
    out += fmt::format(
        "<div><table{}>\n<thead><tr><th>job</th><th>state</th><th>tries</th><th>from</th><th>took</th>"
        "<th class=\"chart\">{} to {}</th><th>waited for</th></tr></thead>\n<tbody>\n",
        background.empty() ? "" : fmt::format(" style=\"--folds:{}\"", background), seconds_of(from), seconds_of(to));
    for (const std::string& row : rows) out += row;
    return out + "</tbody></table></div></details>\n";
}

}  // namespace lockstep::reports
