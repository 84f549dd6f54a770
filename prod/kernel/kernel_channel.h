// How a safety kernel is reached: the address, TLS, and what a channel of gRPC is tuned to.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "prod/tls/tls_channel.h"

namespace grpc {
class Channel;
}

namespace lockstep::prod {

struct KernelOptions {
    /// As gRPC names its targets: `host:port`, `dns:///host:port` (each address of the name is tried in turn), or several addresses,
    /// `ipv4:10.0.0.1:50051,10.0.0.2:50051`, of which the first that answers is used and another one when that has gone.
    std::string address = "localhost:50051";
    /// Nothing: plain text. Its authority is set, and no server is believed unseen; TLS 1.2 and later.
    std::optional<TlsOptions> tls{};
    /// How often the files are looked at again. What is new in them counts from the next connection on.
    std::chrono::seconds certificates_reread{30};
};

/// Connects at the first call, and again after failures.
[[nodiscard]] std::shared_ptr<grpc::Channel> kernel_channel(const KernelOptions& options);

}  // namespace lockstep::prod
