#include "fakes/nats/subject.h"

namespace lockstep::fakes {

namespace {

/// Takes the first token off `rest`; false when there is none left.
bool take_token(std::string_view& rest, bool& more, std::string_view& token) {
    if (!more) return false;
    const auto dot = rest.find('.');
    more = dot != std::string_view::npos;
    token = rest.substr(0, dot);
    rest = more ? rest.substr(dot + 1) : std::string_view{};
    return true;
}

}  // namespace

bool subject_matches(std::string_view pattern, std::string_view subject) {
    bool more_pattern = true;
    bool more_subject = true;
    std::string_view wanted;
    std::string_view token;
    while (take_token(pattern, more_pattern, wanted)) {
        if (!take_token(subject, more_subject, token)) return false;
        if (wanted == ">" && !more_pattern) return true;
        if (wanted != "*" && wanted != token) return false;
    }
    return !more_subject;
}

bool has_wildcard(std::string_view pattern) {
    bool more = true;
    std::string_view token;
    while (take_token(pattern, more, token)) {
        if (token == "*" || (token == ">" && !more)) return true;
    }
    return false;
}

}  // namespace lockstep::fakes
