// What is fuzzed of the daemon and its tools: files of operators, and what servers say.
#pragma once

#include <string_view>

namespace lockstep::fuzz {

/// pools.yaml, timeouts.yaml and safety.yaml.
void yaml(std::string_view input);
/// Environment variables, a line each.
void environment(std::string_view input);
/// Answers of the JetStream API, and the reply subjects of deliveries.
void jetstream(std::string_view input);
/// A NATS server's side of a connection.
void nats(std::string_view input);
/// A Redis server's side of a connection.
void redis(std::string_view input);

}  // namespace lockstep::fuzz
