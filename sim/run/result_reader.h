// Another service that reads the results of jobs, one replica of it: through a durable of its own, with the very guard of
// messages that schedulers have (engine/bus). It stands for whoever else reads `sys.job.result` and does the least that such a
// service can do: it keeps what it has heard, in Redis.
//
//   ResultReader reader(ports, tunables, mechanisms);
//   co_await reader.start();   // binds to the durable; from here on results are handled in the background
//   co_await reader.drain();   // as a scheduler on SIGTERM
//
// Destroying it without a drain is a crash. All replicas share the durable, and each result goes to one of them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "engine/announce/dead_letters.h"
#include "engine/bus/message_pump.h"
#include "engine/config/context.h"
#include "engine/runtime/scope.h"
#include "engine/store/dead_letter_store.h"

namespace lockstep::sim {

inline constexpr std::string_view kQueueResultReader = "result-reader";

class ResultReader final : private engine::PacketHandler {
public:
    /// The ports outlive the reader.
    ResultReader(const engine::Ports& ports, engine::Tunables tunables, const engine::Mechanisms& mechanisms);

    /// The error says why it could not bind; starting again is allowed.
    [[nodiscard]] engine::Task<tl::expected<void, std::string>> start();
    /// Takes no further result, hands back what waits, and gives handlers `shutdown_grace` to finish.
    [[nodiscard]] engine::Task<void> drain();

    /// Results that are being handled now.
    [[nodiscard]] std::size_t in_flight() const { return pump_.in_flight(); }

private:
    /// Keeps the result. One whose keeping is in doubt comes again and is kept twice: better than not at all.
    [[nodiscard]] engine::Task<engine::Disposition> handle(cap::BusPacket packet, engine::Origin origin) override;

    engine::Context context_;
    engine::StoreScripts scripts_;
    engine::DeadLetterStore letters_;
    engine::DeadLetters dead_letters_;
    engine::MessagePump pump_;
    engine::Scope background_;
    std::unique_ptr<engine::Subscription> consumer_;
};

}  // namespace lockstep::sim
