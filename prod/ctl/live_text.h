// Text that is shown again and again. On a terminal the new one takes the place of the old; in a file or a pipe it is written below,
// where it differs from what stands there last.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace lockstep::prod {

/// `text` as so many lines of so many columns: what does not fit is cut off, since a terminal that breaks or scrolls lines could not
/// take them off again. A character of several bytes counts as one column and stays whole.
[[nodiscard]] std::string cut_to(std::string_view text, std::size_t lines, std::size_t columns);

class LiveText {
public:
    /// `out` outlives it.
    LiveText(std::FILE* out, bool terminal) : out_(out), terminal_(terminal) {}

    [[nodiscard]] bool on_terminal() const { return terminal_; }
    /// False: nobody reads it any more.
    bool draw(const std::string& text);
    /// Stays where it is, above what is drawn next.
    void note(std::string_view line);

private:
    void take_off();

    std::FILE* out_;
    bool terminal_;
    std::string last_;
    std::size_t lines_ = 0;  // that stand on the terminal
};

}  // namespace lockstep::prod
