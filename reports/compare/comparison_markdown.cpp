#include "reports/compare/comparison_markdown.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "reports/compare/trend.h"
#include "reports/compare/words.h"
#include "reports/markdown.h"

namespace lockstep::reports {

namespace {

std::string settings_text(const ComparedVariant& variant) {
    std::vector<std::string> settings;
    for (const auto& [name, value] : variant.settings) settings.push_back(name + " = " + value);
    return enumerated(settings);
}

/// Lines until the room is used up; room for the closing line is always kept.
class Lines {
public:
    explicit Lines(std::size_t bytes_max) : room_(bytes_max > kClosing ? bytes_max - kClosing : 0) {}

    void add(const std::string& line) {
        if (cut_ || text_.size() + line.size() + 1 > room_) {
            cut_ = true;
            ++left_out_;
            return;
        }
        text_ += line + "\n";
    }
    [[nodiscard]] std::string text() const {
        if (!cut_) return text_;
        return text_ + fmt::format("\n{} left out to fit; the JSON and CSV files have everything.\n",
                                   counted(left_out_, "line"));
    }

private:
    static constexpr std::size_t kClosing = 120;

    std::size_t room_;
    std::string text_;
    std::size_t left_out_ = 0;
    bool cut_ = false;
};

void add_verdict(Lines& lines, const Comparison& comparison, const Analysis& analysis) {
    lines.add("## " + plain_markdown(comparison.title));
    lines.add("");
    if (!comparison.question.empty()) {
        lines.add("*" + plain_markdown(comparison.question) + "*");
        lines.add("");
    }
    if (!comparison.complete) {
        lines.add("**Interrupted: some runs are missing.**");
        lines.add("");
    }
    std::string verdict;
    for (const std::string& sentence : analysis.verdict.sentences)
        verdict += (verdict.empty() ? "" : " ") + plain_markdown(sentence);
    lines.add("**" + verdict + "**");
    if (!analysis.verdict.rule.empty()) {
        lines.add("");
        lines.add(plain_markdown(analysis.verdict.rule));
    }
    if (!analysis.verdict.apply.empty()) {
        lines.add("");
        lines.add("To apply it:");
        lines.add("");
        lines.add(code_block(fmt::format("{}", fmt::join(analysis.verdict.apply, "\n"))));
    }
    for (const std::string& one : comparison.not_shared) {
        lines.add("");
        lines.add("Not shared by the variants: " + plain_markdown(one));
    }
}

void add_repeating(Lines& lines, const Comparison& comparison, const Analysis& analysis) {
    lines.add("");
    lines.add("To repeat it:");
    lines.add("");
    lines.add(code_block(comparison.command));
    lines.add(fmt::format("lockstep {}, commit {}{}; {}, digest {}", plain_markdown(comparison.version),
                          plain_markdown(comparison.commit), comparison.dirty ? " with uncommitted changes" : "",
                          counted(comparison.runs.size(), "run"), analysis.digest));
}

void add_failures(Lines& lines, const Comparison& comparison, const Analysis& analysis) {
    for (std::size_t variant = 0; variant < comparison.variants.size(); ++variant) {
        const Standing& standing = analysis.standings[variant];
        if (standing.failed == 0) continue;
        lines.add("");
        lines.add(fmt::format("{} failed {} of {}: {}", plain_markdown(comparison.variants[variant].name),
                              standing.failed, counted(standing.runs, "run"), plain_markdown(standing.problem)));
    }
}

void add_trend(Lines& lines, const Picture& trend) {
    const auto add_row = [&lines](const std::vector<std::string>& cells) {
        std::string row = "|";
        for (const std::string& cell : cells) row += fmt::format(" {} |", plain_markdown(cell));
        lines.add(row);
    };
    lines.add("");
    lines.add("### " + plain_markdown(trend.title));
    lines.add("");
    add_row(trend.table.head);
    add_row({trend.table.head.size(), "---"});
    for (const auto& row : trend.table.rows) add_row(row);
    lines.add("");
    lines.add(plain_markdown(trend.caption));
}

void add_table(Lines& lines, const Comparison& comparison, const Analysis& analysis, std::size_t variant) {
    lines.add("");
    lines.add("### " + plain_markdown(comparison.variants[variant].name) + " against " +
              plain_markdown(comparison.variants[0].name));
    lines.add("");
    if (const std::string settings = settings_text(comparison.variants[variant]); !settings.empty()) {
        lines.add(plain_markdown(settings));
        lines.add("");
    }
    lines.add("| measure | unit | " + plain_markdown(comparison.variants[0].name) + " | " +
              plain_markdown(comparison.variants[variant].name) + " | difference | 95 % interval | |");
    lines.add("| --- | --- | ---: | ---: | ---: | --- | --- |");
    for (std::size_t i = 0; i < comparison.measures.size(); ++i) {
        const Measure& measure = comparison.measures[i];
        const Effect& effect = analysis.effects[variant][i];
        lines.add(fmt::format("| {} | {} | {} | {} | {} | {} | {} |", plain_markdown(measure.name),
                              plain_markdown(measure.unit), number_text(effect.base_mean), number_text(effect.mean),
                              plain_markdown(difference_text(effect, measure.unit)),
                              plain_markdown(interval_text(effect, measure.unit)),
                              plain_markdown(effect_words(effect, comparison.criteria.threshold))));
    }
}

}  // namespace

std::string comparison_markdown(const Comparison& comparison, const Analysis& analysis, std::size_t bytes_max) {
    Lines lines(bytes_max);
    add_verdict(lines, comparison, analysis);
    add_failures(lines, comparison, analysis);
    // Before the tables, so that no length of theirs can push it out.
    add_repeating(lines, comparison, analysis);
    for (const Picture& trend : trend_pictures(comparison, analysis)) add_trend(lines, trend);
    for (std::size_t variant = 1; variant < comparison.variants.size(); ++variant)
        add_table(lines, comparison, analysis, variant);
    return lines.text();
}

}  // namespace lockstep::reports
