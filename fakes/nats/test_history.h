// What the comparison with a real nats-server does to both: random histories of calls, split by one restart.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <ostream>
#include <vector>

namespace lockstep::fakes {

enum class Call {
    publish,
    publish_nowhere,  // on a subject that no stream binds
    ack,
    nak,
    nak_later,
    term,
    in_progress,
    wait_short,
    wait_long,
    leave,
    join,
    second_member,  // joins the deliver group, or leaves it
    look_up,
    counters,
};

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
    static constexpr const char* kNames[] = {"publish", "publish_nowhere", "ack",        "nak",       "nak_later",
                                             "term",    "in_progress",     "wait_short", "wait_long", "leave",
                                             "join",    "second_member",   "look_up",    "counters"};
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
    const auto call = rc::gen::weightedElement<Call>({{16, Call::publish},
                                                      {1, Call::publish_nowhere},
                                                      {10, Call::ack},
                                                      {8, Call::nak},
                                                      {8, Call::nak_later},
                                                      {4, Call::term},
                                                      {4, Call::in_progress},
                                                      {4, Call::wait_short},
                                                      {4, Call::wait_long},
                                                      {2, Call::leave},
                                                      {4, Call::join},
                                                      {2, Call::second_member},
                                                      {3, Call::look_up},
                                                      {3, Call::counters}});
    return rc::gen::construct<Step>(call, rc::gen::element(0, 1, 2, 3, 4, 5));
}

inline rc::Gen<History> any_history() {
    const auto steps = [](std::size_t count) { return rc::gen::container<std::vector<Step>>(count, any_step()); };
    return rc::gen::construct<History>(rc::gen::element(0, 1, 2, 3), rc::gen::element(1, 2, 3, 100),
                                       rc::gen::element<std::uint64_t>(0, 0, 6), steps(22), steps(10));
}

}  // namespace lockstep::fakes
