// What happens to calls of the safety kernel in the comparison of the simulated kernel with real gRPC.
#pragma once

#include <array>
#include <ostream>
#include <string>

namespace lockstep::prod {

enum class Weather {
    answers,
    largest_request,    // as many bytes as a message may have
    too_large_request,  // one more
    large_answer,       // more bytes than a message may have
    slow,               // the handler runs after the deadline
    no_answer,          // the handler is not run at all
    status,             // the handler refuses with a status of its own
    no_such_service,
    breaks_before,  // the connection breaks while the handler has not run; it runs later
    breaks_after,   // the connection breaks before the handler's answer has left
    crashes,        // the kernel dies with the call in its hands
    refused,        // nobody listens; then somebody does again, and is found
    silent,         // the connection is made and nothing comes over it; the deadline is short
    silent_long,    // the same, and the deadline is longer than a client tries to connect: 3 s
    deadline_passed,
};

inline constexpr std::array kWeathers{
    Weather::answers,
    Weather::largest_request,
    Weather::too_large_request,
    Weather::large_answer,
    Weather::slow,
    Weather::no_answer,
    Weather::status,
    Weather::no_such_service,
    Weather::breaks_before,
    Weather::breaks_after,
    Weather::crashes,
    Weather::refused,
    Weather::silent,
    Weather::silent_long,
    Weather::deadline_passed,
};

inline const char* to_string(Weather weather) {
    switch (weather) {
        case Weather::answers: return "answers";
        case Weather::largest_request: return "largest request";
        case Weather::too_large_request: return "too large request";
        case Weather::large_answer: return "large answer";
        case Weather::slow: return "runs after the deadline";
        case Weather::no_answer: return "no answer";
        case Weather::status: return "status of the handler";
        case Weather::no_such_service: return "no such service";
        case Weather::breaks_before: return "connection breaks before it runs";
        case Weather::breaks_after: return "connection breaks after it ran";
        case Weather::crashes: return "kernel crashes";
        case Weather::refused: return "connection refused";
        case Weather::silent: return "silent connection";
        case Weather::silent_long: return "silent connection, long deadline";
        case Weather::deadline_passed: return "deadline has passed";
    }
    return "";
}

struct Step {
    Weather weather{};
    bool output = false;    // CheckOutput instead of Check
    bool refusing = false;  // the rules deny or quarantine
    int status = 0;         // of Weather::status
};

/// What the caller and a look at the kernel can tell.
struct Observed {
    std::string answer;      // the decision, or `status <code>`
    int ran = 0;             // how often the handler had run by then
    int ran_in_the_end = 0;  // and later
    friend bool operator==(const Observed&, const Observed&) = default;
};

inline std::ostream& operator<<(std::ostream& out, const Step& step) {
    return out << to_string(step.weather) << (step.output ? " (output" : " (check")
               << (step.refusing ? ", refusing" : "")
               << (step.status != 0 ? ", status " + std::to_string(step.status) : "") << ")";
}

inline std::ostream& operator<<(std::ostream& out, const Observed& observed) {
    return out << observed.answer << ", ran " << observed.ran << " and in the end " << observed.ran_in_the_end;
}

}  // namespace lockstep::prod
