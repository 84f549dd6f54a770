// What the comparison with a real nats-server does to both: random histories of calls, split by one restart.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <ostream>
#include <vector>

namespace lockstep::fakes {

enum class Call { publish, ack, nak, nak_later, term, in_progress, wait_short, wait_long, leave, join, look_up };

struct Step {
    Call call{};
    int which = 0;  // the delivery, counted back from the last; or the message id; or the look-up's start
};

struct History {
    int max_deliver = 0;
    int max_ack_pending = 1;
    std::uint64_t max_messages = 0;
    std::vector<Step> before_restart;
    std::vector<Step> after_restart;
};

inline std::ostream& operator<<(std::ostream& out, const Step& step) {
    static constexpr const char* kNames[] = {"publish",    "ack",       "nak",   "nak_later", "term",   "in_progress",
                                             "wait_short", "wait_long", "leave", "join",      "look_up"};
    return out << kNames[static_cast<int>(step.call)] << '(' << step.which << ')';
}

inline std::ostream& operator<<(std::ostream& out, const History& history) {
    out << "max_deliver " << history.max_deliver << ", max_ack_pending " << history.max_ack_pending << ", max_messages "
        << history.max_messages << ':';
    for (const Step& step : history.before_restart) out << ' ' << step;
    out << " restart";
    for (const Step& step : history.after_restart) out << ' ' << step;
    return out;
}

inline rc::Gen<Step> any_step() {
    const auto call = rc::gen::weightedElement<Call>({{8, Call::publish},
                                                      {5, Call::ack},
                                                      {4, Call::nak},
                                                      {4, Call::nak_later},
                                                      {2, Call::term},
                                                      {2, Call::in_progress},
                                                      {2, Call::wait_short},
                                                      {2, Call::wait_long},
                                                      {1, Call::leave},
                                                      {2, Call::join},
                                                      {1, Call::look_up}});
    return rc::gen::construct<Step>(call, rc::gen::element(0, 1, 2, 3, 4, 5));
}

inline rc::Gen<History> any_history() {
    const auto steps = [](std::size_t count) { return rc::gen::container<std::vector<Step>>(count, any_step()); };
    return rc::gen::construct<History>(rc::gen::element(0, 1, 2, 3), rc::gen::element(1, 2, 3, 100),
                                       rc::gen::element<std::uint64_t>(0, 0, 6), steps(20), steps(8));
}

}  // namespace lockstep::fakes
