// The reference safety kernel: both gRPC services of the protocol and the standard health service, deciding by a policy
// that can be replaced while it serves.
#pragma once

#include <memory>
#include <string>

#include "fakes/policy/document.h"

namespace lockstep::prod {

/// A policy as read from a file.
struct LoadedPolicy {
    fakes::policy::Document document;
    std::string snapshot;  // its name in decisions
};

class KernelServer {
public:
    /// Starts to serve on `address` (host:port; port 0 takes a free one). Throws std::runtime_error when it cannot listen.
    KernelServer(const std::string& address, LoadedPolicy policy);
    ~KernelServer();
    KernelServer(const KernelServer&) = delete;
    KernelServer& operator=(const KernelServer&) = delete;

    [[nodiscard]] int port() const;
    /// From any thread. Requests under way finish with the policy that they began with.
    void replace(LoadedPolicy policy);
    /// Refuses new calls, gives running ones a second, and ends.
    void stop();

private:
    class Services;
    std::unique_ptr<Services> services_;
};

}  // namespace lockstep::prod
