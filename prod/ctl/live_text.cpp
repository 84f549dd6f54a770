#include "prod/ctl/live_text.h"

#include <fmt/core.h>
#include <sys/ioctl.h>

#include <algorithm>

#include "reports/usage/standard_streams.h"

namespace lockstep::prod {

namespace {

/// Of a terminal that does not say.
constexpr std::size_t kUsualLines = 24;
constexpr std::size_t kUsualColumns = 80;

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

std::string_view first_columns(std::string_view line, std::size_t columns) {
    std::size_t seen = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (!continues_character(line[i]) && ++seen > columns) return line.substr(0, i);
    }
    return line;
}

}  // namespace

std::string cut_to(std::string_view text, std::size_t lines, std::size_t columns) {
    std::string out;
    for (; !text.empty() && lines > 0; --lines) {
        const std::size_t end = text.find('\n');
        out += first_columns(text.substr(0, end), columns);
        out += '\n';
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    return out;
}

void LiveText::take_off() {
    if (lines_ > 0) fmt::print(out_, "\x1b[{}A\x1b[J", lines_);
    lines_ = 0;
}

bool LiveText::draw(const std::string& text) {
    if (!terminal_) {
        if (text != last_) fmt::print(out_, "{}", text);
        last_ = text;
        return std::fflush(out_) == 0 && !usage::output_lost();
    }
    winsize size{};
    const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 && size.ws_col > 0;
    const std::string shown =
        cut_to(text, known ? size.ws_row - 1U : kUsualLines - 1, known ? size.ws_col : kUsualColumns);
    take_off();
    fmt::print(out_, "{}", shown);
    lines_ = static_cast<std::size_t>(std::ranges::count(shown, '\n'));
    return std::fflush(out_) == 0 && !usage::output_lost();
}

void LiveText::note(std::string_view line) {
    take_off();
    fmt::print(out_, "{}\n", line);
}

}  // namespace lockstep::prod
