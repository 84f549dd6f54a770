// A kernel and its client, simulated and real: the same step is made to both, and both tell what could be observed.
#pragma once

#include <memory>
#include <optional>

#include "engine/wire/messages.h"
#include "fakes/kernel/client.h"
#include "prod/kernel/test_weather.h"

namespace lockstep::prod {

/// How large a message gRPC servers take when nobody says otherwise.
inline constexpr std::size_t kMessageBytesMax = std::size_t{4} << 20U;

/// A request whose encoding has as many bytes as the weather asks for.
[[nodiscard]] cap::PolicyCheckRequest check_request(const Step& step);
[[nodiscard]] cap_output::OutputCheckRequest output_request(const Step& step);

class KernelSide {
public:
    virtual ~KernelSide() = default;
    virtual Observed observe(const Step& step) = 0;
};

/// In virtual time.
[[nodiscard]] std::unique_ptr<KernelSide> simulated_side(fakes::KernelClientConfig config = {});
/// The binding of the daemon, and gRPC's own server with a handler that does as the weather says.
[[nodiscard]] std::unique_ptr<KernelSide> real_side();

}  // namespace lockstep::prod
