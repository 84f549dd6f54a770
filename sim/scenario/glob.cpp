#include "sim/scenario/glob.h"

namespace lockstep::sim {

bool glob_matches(std::string_view pattern, std::string_view text) {
    std::size_t p = 0;
    std::size_t t = 0;
    std::size_t star = std::string_view::npos;  // the last star seen, and where in the text its run began
    std::size_t run = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            run = t;
        } else if (p < pattern.size() && pattern[p] == text[t]) {
            ++p;
            ++t;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            t = ++run;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

bool subject_matches(std::string_view pattern, std::string_view subject) {
    if (pattern.empty() || pattern == ">") return true;
    if (!pattern.ends_with(".>")) return glob_matches(pattern, subject);
    pattern.remove_suffix(1);
    // The rest is at least one character: try every place where the front part may end.
    for (std::size_t end = 1; end < subject.size(); ++end) {
        if (subject[end - 1] == '.' && glob_matches(pattern, subject.substr(0, end))) return true;
    }
    return false;
}

}  // namespace lockstep::sim
