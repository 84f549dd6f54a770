// What the environment says of TLS with one of the servers: PREFIX_CA, PREFIX_CERT, PREFIX_KEY, PREFIX_SERVER_NAME.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "prod/config/environment.h"
#include "prod/tls/tls_channel.h"

namespace lockstep::prod {

/// `prefix` such as `REDIS_TLS_`. Adds what is wrong with them to `mistakes`, a line each.
[[nodiscard]] TlsOptions read_tls(const Environment& environment, std::string_view prefix,
                                  std::vector<std::string>& mistakes);

/// Of settings that would have no effect, because nothing asks for TLS: a line for each that is set, which ends with `why`.
[[nodiscard]] std::vector<std::string> tls_without_effect(const Environment& environment, std::string_view prefix,
                                                          std::string_view why);

}  // namespace lockstep::prod
