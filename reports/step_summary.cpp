#include "reports/step_summary.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "reports/markdown.h"
#include "reports/text.h"

namespace lockstep::reports {

namespace {

/// Of one text in a cell. Why 200: twenty rows of three such texts, each character as long as `&amp;`, are 60 kB.
constexpr std::size_t kSummaryTextMax = 200;

/// Cut between two characters.
std::string shortened(std::string_view text, std::size_t bytes_max = kSummaryTextMax) {
    const std::string whole = printable(text);
    if (whole.size() <= bytes_max) return whole;
    std::size_t end = bytes_max;
    while (end > 0 && (static_cast<unsigned char>(whole[end]) & 0xC0U) == 0x80U) --end;
    return whole.substr(0, end) + "...";
}

std::string cell(std::string_view text) { return plain_markdown(shortened(text)); }

}  // namespace

std::string step_summary_markdown(const StepSummary& summary) {
    std::string out =
        fmt::format("### {}\n\n{}\n\n", cell(summary.title), plain_markdown(shortened(summary.sentence, 2000)));
    if (!summary.problems.empty()) {
        out += "| where | what | in which way |\n| --- | --- | --- |\n";
        const std::size_t shown = std::min(summary.problems.size(), kSummaryRowsMax);
        for (std::size_t i = 0; i < shown; ++i) {
            const Annotation& problem = summary.problems[i];
            out += fmt::format("| {} | {} | {} |\n", cell(problem.file), cell(problem.title), cell(problem.detail));
        }
        if (summary.problems.size() > shown)
            out += fmt::format("\n... and {} more.\n", summary.problems.size() - shown);
        out += '\n';
    }
    if (!summary.again.empty()) out += "Again:\n\n" + code_block(shortened(summary.again, 4000)) + "\n";
    return out + fmt::format("lockstep {}\n\n", plain_markdown(summary.build));
}

tl::expected<void, std::string> append_to_file(const std::filesystem::path& path, std::string_view text) {
    const auto failed = [&path](int error) {
        return tl::make_unexpected(
            fmt::format("cannot append to {}: {}", path.string(), std::generic_category().message(error)));
    };
    const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) return failed(errno);
    int error = 0;
    while (!text.empty() && error == 0) {
        const ssize_t written = ::write(file, text.data(), text.size());
        if (written >= 0)
            text.remove_prefix(static_cast<std::size_t>(written));
        else if (errno != EINTR)
            error = errno;
    }
    ::close(file);
    if (error != 0) return failed(error);
    return {};
}

}  // namespace lockstep::reports
