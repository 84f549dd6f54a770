// Everything that happens passes here: into the digest, to the trace file, to the rules, and last to the fault plan,
// which may act on it. Told at once and on the teller's stack; the views in an event die with the call.
//
// The digest is XXH3-64 over `encode_event` of every event in order, logs and metrics excepted. Two runs are the same
// run when their digests are.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fakes/world.h"
#include "sim/world/name_numbers.h"
#include "sim/world/node.h"

namespace lockstep::sim {

/// Names an event of the run: its number in the order of the digest, from 1; 0 names none.
using EventNumber = std::uint64_t;

class EventObserver {
public:
    virtual ~EventObserver() = default;
    virtual void on_event(const fakes::Event& event, Time now) = 0;
};

/// Hears of every event of the digest as it enters it, before anybody can react to it: in exactly the order of the digest.
class DigestObserver {
public:
    virtual ~DigestObserver() = default;
    /// `number` counts from 1; `bytes` is the canonical encoding.
    virtual void on_digested(std::uint64_t number, std::string_view bytes, const fakes::Event& event, Time now) = 0;
};

/// Appends the canonical encoding: fixed-width little-endian numbers, and texts with their length in front. The decoded
/// packet is left out: the payload says the same.
void encode_event(const fakes::Event& event, Time now, std::string& out);

[[nodiscard]] constexpr bool in_digest(fakes::EventKind kind) {
    return kind != fakes::EventKind::metric && kind != fakes::EventKind::log;
}

class SimTrace final : public fakes::Trace {
public:
    SimTrace(const EventQueue& queue, const Nodes& nodes);
    ~SimTrace() override;
    SimTrace(const SimTrace&) = delete;
    SimTrace& operator=(const SimTrace&) = delete;

    bool emit(const fakes::Event& told) override;

    /// Observers are told of the events of the kinds that they want, in the order in which they were added. They must outlive
    /// the run.
    void add_observer(EventObserver& observer, fakes::EventKinds wanted = fakes::EventKinds::all());
    /// The one who hears last of every event, and may change the world.
    void set_last_observer(EventObserver& observer) { last_observer_ = &observer; }
    /// At most one; it must outlive the run.
    void set_digest_observer(DigestObserver& observer) { digest_observer_ = &observer; }

    /// Events in the digest so far.
    [[nodiscard]] std::uint64_t events() const { return events_; }
    [[nodiscard]] std::uint64_t digest() const;

    /// When the event was told that was told last.
    [[nodiscard]] const Time& told_at() const { return told_at_; }
    /// The numbers of the jobs in events.
    [[nodiscard]] NameNumbers& job_numbers() { return job_numbers_; }

private:
    struct Hash;

    void add_to_digest(const fakes::Event& event);

    const EventQueue& queue_;
    const Nodes& nodes_;
    std::unique_ptr<Hash> hash_;
    std::string buffer_;
    std::uint64_t events_ = 0;
    Time told_at_{};
    NameNumbers job_numbers_;
    std::array<std::vector<EventObserver*>, fakes::kEventKinds> observers_;  // by kind
    EventObserver* last_observer_ = nullptr;
    DigestObserver* digest_observer_ = nullptr;
};

}  // namespace lockstep::sim
