#include "prod/nats/nats_message.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace lockstep::prod {

namespace {

/// Of one thread.
class Spent {
public:
    Spent() = default;
    Spent(const Spent&) = delete;
    Spent& operator=(const Spent&) = delete;
    ~Spent() { empty(); }

    void add(natsMsg* message) {
        messages_[count_++] = message;
        bytes_ += natsMsg_GetDataLength(message);
        if (count_ == messages_.size() || bytes_ >= kMostBytes) empty();
    }

private:
    static constexpr std::size_t kMost = 64;
    static constexpr std::int64_t kMostBytes = 256 * 1024;

    void empty() {
        for (std::size_t i = 0; i < count_; ++i) natsMsg_Destroy(messages_[i]);
        count_ = 0;
        bytes_ = 0;
    }

    std::array<natsMsg*, kMost> messages_{};
    std::size_t count_ = 0;
    std::int64_t bytes_ = 0;
};

thread_local Spent spent;

}  // namespace

void NatsMessageFree::operator()(natsMsg* message) const { spent.add(message); }

}  // namespace lockstep::prod
