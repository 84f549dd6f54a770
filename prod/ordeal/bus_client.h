// The ordeal's own conversation with NATS, by nats.c and nothing of the engine's: what it is told here is the measure of
// what the programs under test have done.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "prod/ordeal/ledger.h"

namespace lockstep::prod::ordeal {

class BusClient {
public:
    /// Connects now, and again for as long as it takes whenever the connection is lost. One address, or several with commas between
    /// them. Throws std::runtime_error.
    explicit BusClient(const std::string& urls);
    BusClient(const BusClient&) = delete;
    BusClient& operator=(const BusClient&) = delete;
    ~BusClient();

    struct Acknowledgement {
        std::uint64_t sequence = 0;
        bool duplicate = false;
    };
    /// To a stream. Nothing without an acknowledgement in time: it may have been stored all the same.
    std::optional<Acknowledgement> publish(const std::string& subject, std::string_view payload,
                                           const std::string& message_id, std::chrono::milliseconds patience);
    /// At most once; lost without a word when nobody is there.
    void say(const std::string& subject, std::string_view payload);

    using Listener = std::function<void(std::string_view subject, std::string_view payload)>;
    /// Everything on the subject from now on but what is said while the connection is lost. On a thread of nats.c.
    void listen(const std::string& subject, Listener listener);

    struct Stored {
        std::string subject;
        std::string payload;
        std::uint64_t sequence = 0;
        Moment stored;
    };
    /// Hands over all that the stream holds on the subject, in its order. Throws std::runtime_error when that fails.
    void read(const std::string& stream, const std::string& subject, const std::function<void(const Stored&)>& taken);
    /// Nothing when it cannot be learnt.
    std::optional<Consumer> consumer(const std::string& stream, const std::string& name);
    struct Peers {
        std::string leader;  // empty: there is none
        int current = 0;     // how many others have all that it has
    };
    /// Of the servers that keep a stream. Nothing when it cannot be learnt.
    std::optional<Peers> peers(const std::string& stream);

private:
    struct Library;
    std::unique_ptr<Library> library_;
};

}  // namespace lockstep::prod::ordeal
