#include "prod/ctl/run_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "engine/runs/run_document.h"
#include "engine/wire/rfc3339.h"
#include "prod/ctl/run_outline.h"
#include "prod/ctl/text.h"

namespace lockstep::prod {

namespace {

using engine::StepStatus;
using nlohmann::json;

class Drawing {
public:
    Drawing(const json& run, engine::WallTime now, RunStyle style)
        : run_(run), now_(now), style_(style), began_(engine::RunDocument(run).started_at().value_or(now)) {}

    std::string draw(const std::vector<OutlinedStep>& steps) {
        head();
        std::size_t width = 0;
        for (const OutlinedStep& one : steps) width = std::max(width, one.key.size() + 2 * one.depth());
        for (const OutlinedStep& one : steps) step(one, width - one.key.size() - 2 * one.depth());
        return std::move(out_);
    }

private:
    void head() {
        const engine::RunDocument run(run_);
        const std::string status = text_at(run_, "status");
        out_ += fmt::format("{}  {}  {}", printable(text_at(run_, "id")), printable(text_at(run_, "workflow_id")),
                            coloured(status));
        const auto ended = engine::wire::parse_rfc3339(text_at(run_, "completed_at"));
        if (const auto began = run.started_at(); began && ended)
            out_ += fmt::format("  took {}", length(*ended - *began));
        else if (began)
            out_ += fmt::format("  for {} so far", length(now_ - *began));
        out_ += '\n';
        line("created", text_at(run_, "created_at"));
        line("began", text_at(run_, "started_at"));
        line("ended", text_at(run_, "completed_at"));
        line("by", text_at(run_, "triggered_by"));
        line("rerun of", text_at(run_, "rerun_of"));
        line("part of", text_at(run_, "metadata.parent_run_id"));
        if (engine::at_path(run_, "dry_run") == true) line("dry run", "yes");
        line("error", text_at(run_, "error.message"));
    }
    void line(std::string_view label, const std::string& value) {
        if (!value.empty()) out_ += fmt::format("  {:<10}{}\n", label, printable(value));
    }

    [[nodiscard]] std::string lead(const OutlinedStep& step) const {
        if (style_ != RunStyle::terminal) return std::string(2 * step.last.size(), ' ');
        std::string text;
        for (std::size_t i = 0; i < step.depth(); ++i) text += step.last[i] ? "   " : "│  ";
        return text + (step.last.back() ? "└─ " : "├─ ");
    }

    void step(const OutlinedStep& one, std::size_t padding) {
        json object = one.record;
        const engine::StepRun record(object, one.key);
        const std::string status(engine::to_string(record.status()));
        std::string text = fmt::format("{}{}{}  {}{}", lead(one), printable(one.key), std::string(padding, ' '),
                                       coloured(status), std::string(9 - std::min<std::size_t>(9, status.size()), ' '));
        for (const std::string& part : details(record, one.after)) text += "  " + part;
        text.erase(text.find_last_not_of(' ') + 1);
        out_ += text + '\n';
    }

    [[nodiscard]] std::vector<std::string> details(const engine::StepRun& record,
                                                   const std::vector<std::string>& after) const {
        std::vector<std::string> parts;
        const auto add = [&](std::string part) { parts.push_back(std::move(part)); };
        const auto began = record.started_at();
        const json& completed = record.member("completed_at");
        const auto ended =
            completed.is_string() ? engine::wire::parse_rfc3339(completed.get_ref<const std::string&>()) : std::nullopt;
        if (began) add(fmt::format("+{}", length(*began - began_)));
        if (began && ended) add(fmt::format("took {}", length(*ended - *began)));
        if (began && !ended && engine::is_open(record.status()))
            add(fmt::format("for {} so far", length(now_ - *began)));
        if (record.attempts() > 1) add(fmt::format("try {}", record.attempts()));
        if (const auto due = record.next_attempt_at())
            add(*due > now_ ? fmt::format("due in {}", length(*due - now_)) : std::string("due now"));
        if (record.status() == StepStatus::waiting) add("waits for an approval");
        if (record.status() == StepStatus::pending && !began && !after.empty())
            add(printable(fmt::format("after {}", fmt::join(after, ", "))));
        if (!record.skip_reason().empty()) add(printable(record.skip_reason()));
        const json& error = record.member("error");
        if (const std::string message = text_at(error, "message"); !message.empty()) add(printable(message));
        return parts;
    }

    [[nodiscard]] std::string coloured(std::string_view status) const {
        if (style_ != RunStyle::terminal) return printable(status);
        const char* colour = "0";
        if (status == "succeeded") colour = "32";
        if (status == "running") colour = "36";
        if (status == "waiting") colour = "33";
        if (status == "pending" || status == "skipped") colour = "2";
        if (status == "failed" || status == "denied" || status == "timed_out" || status == "cancelled") colour = "31";
        return fmt::format("\x1b[{}m{}\x1b[0m", colour, printable(status));
    }

    const json& run_;
    const engine::WallTime now_;
    const RunStyle style_;
    const engine::WallTime began_;
    std::string out_;
};

}  // namespace

std::string draw_run(const json& run, const json& definition, engine::WallTime now, RunStyle style) {
    return Drawing(run, now, style).draw(outline(run, definition));
}

}  // namespace lockstep::prod
