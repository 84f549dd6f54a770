// What a version of the programs has left in Redis and in JetStream, kept as text, so that a later version can be given it.
//
// Neither a dump of Redis nor a folder of JetStream would keep: keys and messages of a week ago have expired in them. So times to live
// are kept as what was left of them, and every time in a key's content moves on by as long as it was kept. A message comes back
// as of now, and a durable at its acknowledgement floor: what lay above it is handed out again, as after a crash.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <string>

namespace lockstep::prod::testing {

using UnixTime = std::chrono::sys_time<std::chrono::milliseconds>;

/// Everything in the Redis (database 0) and the JetStream on these ports of the loopback interface. Throws std::runtime_error where a
/// server does not answer, or a stream has gaps: its sequence numbers could not be given again.
[[nodiscard]] nlohmann::json written_data(int redis_port, int nats_port, UnixTime now);

/// Into empty servers. Throws std::runtime_error where one refuses.
void put_back(const nlohmann::json& written, int redis_port, int nats_port, UnixTime now);

/// Numbers in the text that are a time within a month of `from`, in seconds, milli-, micro- or nanoseconds since 1970, moved on to be
/// as far from `to`.
[[nodiscard]] std::string moved_on(const std::string& text, UnixTime from, UnixTime to);

}  // namespace lockstep::prod::testing
