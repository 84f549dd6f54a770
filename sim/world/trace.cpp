#include "sim/world/trace.h"

#include <xxhash.h>

#include <type_traits>

namespace lockstep::sim {

namespace {

template <class Integer>
void put(std::string& out, Integer value) {
    auto bits = static_cast<std::make_unsigned_t<Integer>>(value);
    char bytes[sizeof bits];
    for (char& byte : bytes) {
        byte = static_cast<char>(bits & 0xffU);
        if constexpr (sizeof bits > 1) bits >>= 8U;
    }
    out.append(bytes, sizeof bytes);
}

void put(std::string& out, std::string_view text) {
    put(out, static_cast<std::uint32_t>(text.size()));
    out.append(text);
}

}  // namespace

void encode_event(const fakes::Event& event, Time now, std::string& out) {
    put(out, now.time_since_epoch().count());
    put(out, event.node.value);
    put(out, event.peer.value);
    put(out, static_cast<std::uint8_t>(event.kind));
    put(out, static_cast<std::uint8_t>(event.when));
    put(out, static_cast<std::uint8_t>(event.outcome));
    put(out, static_cast<std::uint8_t>(event.flag));
    put(out, event.sequence);
    put(out, event.number);
    put(out, event.subject);
    put(out, event.job);
    put(out, event.command);
    put(out, event.script);
    put(out, event.key);
    put(out, event.name);
    put(out, event.from);
    put(out, event.to);
    put(out, event.stream);
    put(out, event.message_id);
    put(out, event.payload);
}

struct SimTrace::Hash {
    Hash() : state(XXH3_createState()) { XXH3_64bits_reset(state); }
    ~Hash() { XXH3_freeState(state); }
    Hash(const Hash&) = delete;
    Hash& operator=(const Hash&) = delete;

    XXH3_state_t* state;
};

SimTrace::SimTrace(const EventQueue& queue, const Nodes& nodes)
    : queue_(queue), nodes_(nodes), hash_(std::make_unique<Hash>()) {}

SimTrace::~SimTrace() = default;

void SimTrace::add_observer(EventObserver& observer, fakes::EventKinds wanted) {
    for (std::size_t kind = 0; kind < observers_.size(); ++kind)
        if (wanted.contains(static_cast<fakes::EventKind>(kind))) observers_[kind].push_back(&observer);
}

bool SimTrace::emit(const fakes::Event& told) {
    fakes::Event event = told;
    event.job_number = job_numbers_.number_of(event.job);
    told_at_ = queue_.now();
    if (in_digest(event.kind)) add_to_digest(event);
    for (EventObserver* observer : observers_[static_cast<std::size_t>(event.kind)])
        observer->on_event(event, queue_.now());
    if (last_observer_ != nullptr) last_observer_->on_event(event, queue_.now());
    return nodes_.alive(event.node);
}

void SimTrace::add_to_digest(const fakes::Event& event) {
    buffer_.clear();
    encode_event(event, queue_.now(), buffer_);
    XXH3_64bits_update(hash_->state, buffer_.data(), buffer_.size());
    ++events_;
    if (digest_observer_ != nullptr) digest_observer_->on_digested(events_, buffer_, event, queue_.now());
    if (checkpoint_every_ != 0 && events_ % checkpoint_every_ == 0) checkpoints_.push_back({events_, digest()});
}

std::uint64_t SimTrace::digest() const { return XXH3_64bits_digest(hash_->state); }

}  // namespace lockstep::sim
