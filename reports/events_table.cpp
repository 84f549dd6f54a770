#include "reports/events_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "reports/markup.h"
#include "reports/page_text.h"

namespace lockstep::reports {

namespace {

using Event = Timeline::Event;

bool is_of_interest(const Event& event) {
    return event.job != 0 || event.family == Timeline::Family::life || event.family == Timeline::Family::fault;
}

std::string words_of(const Timeline& timeline, const Event& event) {
    std::string words;
    for (const char c : timeline.texts.at(event.what)) {
        if (c == Timeline::kJobMark)
            words += timeline.texts.at(event.job);
        else
            words += c;
    }
    return words;
}

class EventsTable {
public:
    explicit EventsTable(const Timeline& timeline) : timeline_(timeline) {
        for (const Timeline::Job& job : timeline.jobs) with_bar_.insert(job.id);
    }

    std::string write() {
        const std::vector<std::uint32_t> order = by_interest();
        std::vector<std::pair<std::uint32_t, std::string>> rows;
        std::size_t bytes = 0;
        for (const std::uint32_t index : order) {
            std::string row = row_of(timeline_.events[index]);
            bytes += row.size();
            if (bytes > timeline_.table_bytes_max) break;
            rows.emplace_back(index, std::move(row));
        }
        std::ranges::sort(rows);
        std::string out = head(rows.size());
        for (const auto& [index, row] : rows) out += row;
        return out + "</tbody></table></section>\n";
    }

private:
    /// What the verdict speaks of, its job; then other jobs, nodes and faults, and what goes on all the time: what is within the opening,
    /// and ever further from it.
    [[nodiscard]] std::vector<std::uint32_t> by_interest() const {
        std::vector<std::tuple<int, std::int64_t, std::uint32_t>> order;
        for (std::uint32_t i = 0; i < timeline_.events.size(); ++i) {
            const Event& event = timeline_.events[i];
            if (event.noise) continue;
            const bool told = i == timeline_.fact || i == timeline_.earlier;
            const bool concerned = timeline_.job != 0 && event.job == timeline_.job;
            const std::int64_t apart =
                std::max<std::int64_t>({timeline_.opens.from_us - event.us, event.us - timeline_.opens.to_us, 0});
            order.emplace_back(told ? 0 : concerned ? 1 : is_of_interest(event) ? 2 : 3, apart, i);
        }
        std::ranges::sort(order);
        std::vector<std::uint32_t> out;
        for (const auto& [rank, apart, index] : order) out.push_back(index);
        return out;
    }

    [[nodiscard]] std::string head(std::size_t shown) const {
        const auto noise = std::ranges::count(timeline_.events, true, &Event::noise);
        std::string out = fmt::format("<section id=\"events\"><h2>Events</h2>\n<p>{} of the {} events of the run",
                                      shown, timeline_.events_total);
        if (shown + static_cast<std::size_t>(noise) < timeline_.events_total)
            out += fmt::format(", around the {}; `lockstep explain FILE --job ID --by-time` tells of any job",
                               timeline_.opens.what.empty() ? "beginning" : timeline_.opens.what);
        if (noise > 0)
            out +=
                fmt::format("; {} of scripts that Redis did not know and of reports of progress are not listed", noise);
        return out +
               ".</p>\n<table>\n<thead><tr><th>event</th><th>time</th><th>at</th><th>job</th><th>what</th></tr></"
               "thead>\n"
               "<tbody>\n";
    }

    [[nodiscard]] std::string row_of(const Event& event) const {
        const std::string& job = timeline_.texts.at(event.job);
        const std::string named = with_bar_.contains(job)
                                      ? fmt::format("<a href=\"{}\">{}</a>", job_reference(job), escaped(job))
                                      : escaped(job);
        return fmt::format("<tr><td>#{}</td><td>{:.6f}s</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", event.number,
                           static_cast<double>(event.us) / 1e6, escaped(timeline_.lanes.at(event.lane)), named,
                           escaped(words_of(timeline_, event)));
    }

    const Timeline& timeline_;
    std::set<std::string_view> with_bar_;
};

}  // namespace

std::string events_table(const Timeline& timeline) {
    if (timeline.events.empty()) return {};
    return EventsTable(timeline).write();
}

}  // namespace lockstep::reports
