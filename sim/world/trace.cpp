#include "sim/world/trace.h"

#include <xxhash.h>

#include <bit>
#include <cstring>

namespace lockstep::sim {

namespace {

/// Writes one after the other into space that is large enough.
class EventWriter {
public:
    explicit EventWriter(char* at) : at_(at) {}

    template <class Integer>
    void put(Integer value) {
        static_assert(std::endian::native == std::endian::little);
        std::memcpy(at_, &value, sizeof value);
        at_ += sizeof value;
    }

    void put(std::string_view text) {
        put(static_cast<std::uint32_t>(text.size()));
        if (!text.empty()) std::memcpy(at_, text.data(), text.size());
        at_ += text.size();
    }

private:
    char* at_;
};

}  // namespace

void encode_event(const fakes::Event& event, Time now, std::string& out) {
    const std::string_view texts[] = {event.subject, event.job,        event.command, event.script,
                                      event.key,     event.name,       event.from,    event.to,
                                      event.stream,  event.message_id, event.payload};
    const auto at = now.time_since_epoch().count();
    const std::uint8_t kinds[] = {static_cast<std::uint8_t>(event.kind), static_cast<std::uint8_t>(event.when),
                                  static_cast<std::uint8_t>(event.outcome), static_cast<std::uint8_t>(event.flag)};
    std::size_t size = sizeof at + sizeof event.node.value + sizeof event.peer.value + sizeof kinds +
                       sizeof event.sequence + sizeof event.number;
    for (const std::string_view text : texts) size += sizeof(std::uint32_t) + text.size();
    const std::size_t before = out.size();
    out.resize(before + size);
    EventWriter writer(out.data() + before);
    writer.put(at);
    writer.put(event.node.value);
    writer.put(event.peer.value);
    for (const std::uint8_t kind : kinds) writer.put(kind);
    writer.put(event.sequence);
    writer.put(event.number);
    for (const std::string_view text : texts) writer.put(text);
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
}

std::uint64_t SimTrace::digest() const { return XXH3_64bits_digest(hash_->state); }

}  // namespace lockstep::sim
