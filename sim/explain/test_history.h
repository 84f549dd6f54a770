// A history written by hand: a few lines of a test say what happened, in order.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "sim/explain/causality.h"

namespace lockstep::sim {

/// Nodes are redis 0, nats 1, kernel 2, gateway 3, operator 4, scheduler-0 5, scheduler-1 6, w 7. Time goes on by one millisecond
/// per event unless `same_instant` is set.
class TestHistory {
public:
    static constexpr std::int16_t kRedis = 0;
    static constexpr std::int16_t kNats = 1;
    static constexpr std::int16_t kGateway = 3;
    static constexpr std::int16_t kFirst = 5;
    static constexpr std::int16_t kSecond = 6;
    static constexpr std::int16_t kWorker = 7;

    struct What {
        fakes::EventKind kind{};
        fakes::When when = fakes::When::applied;
        std::int16_t node = kFirst;
        std::int16_t peer = -1;
        std::string_view job;
        std::string_view subject;
        std::string_view script;
        std::string_view key;
        std::string_view name;
        std::string_view from;
        std::string_view to;
        std::string_view message_id;
        fakes::EventOutcome outcome = fakes::EventOutcome::none;
        std::uint64_t sequence = 0;
        std::int64_t number = 0;
        bool same_instant = false;
    };

    TestHistory() {
        history.nodes = {"redis", "nats", "kernel", "gateway", "operator", "scheduler-0", "scheduler-1", "w"};
    }

    EventIndex add(const What& what) {
        Texts& texts = history.texts;
        if (!what.same_instant) now_ += 1'000'000;
        HistoryEvent event;
        event.ns = now_;
        event.kind = what.kind;
        event.when = what.when;
        event.outcome = what.outcome;
        event.node = what.node;
        event.peer = what.peer;
        event.job = texts.add(what.job);
        event.subject = texts.add(what.subject);
        event.script = texts.add(what.script);
        event.key = texts.add(what.key);
        event.name = texts.add(what.name);
        event.from = texts.add(what.from);
        event.to = texts.add(what.to);
        event.message_id = texts.add(what.message_id);
        event.stream = texts.add(what.sequence == 0 ? "" : "CORDUM_SYS");
        event.sequence = what.sequence;
        event.number = what.number;
        history.events.push_back(event);
        return static_cast<EventIndex>(history.events.size() - 1);
    }

    /// One place of a script call of a scheduler.
    EventIndex script(std::string_view name, fakes::When when, std::string_view job, std::int16_t node = kFirst,
                      bool same_instant = false, fakes::EventOutcome outcome = fakes::EventOutcome::applied) {
        const std::string key = "cordum:scheduler:job:" + std::string(job);
        return add({.kind = fakes::EventKind::redis,
                    .when = when,
                    .node = node,
                    .peer = kRedis,
                    .job = job,
                    .script = name,
                    .key = key,
                    .outcome = when == fakes::When::answered ? outcome : fakes::EventOutcome::none,
                    .same_instant = same_instant});
    }

    History history;

private:
    std::int64_t now_ = 0;
};

}  // namespace lockstep::sim
