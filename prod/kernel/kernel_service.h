// The reference safety kernel: both gRPC services of the protocol and the standard health service, deciding by a policy
// that can be replaced while it serves. No reflection: whoever may call knows the protocol, and others need not be told what there is.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "fakes/policy/document.h"
#include "prod/kernel/input_conditions.h"

namespace lockstep::prod {

/// A policy as read from a file.
struct LoadedPolicy {
    fakes::policy::Document document;
    std::string snapshot;              // its name in decisions
    InputConditions input_conditions;  // of the document's input rules; may be left empty where none has one
};

/// With what it shows who it is.
struct KernelCertificates {
    std::string certificate_file, key_file;  // PEM
    std::string client_ca_file;              // PEM of the authority of whoever may call; empty: everybody may
    std::chrono::seconds reread{30};  // how often the files are looked at again; new ones count for new connections
};

class KernelServer {
public:
    /// Starts to serve on `address` (host:port; port 0 takes a free one), in plain text unless certificates are given. Throws
    /// std::runtime_error when it cannot listen.
    KernelServer(const std::string& address, LoadedPolicy policy,
                 const std::optional<KernelCertificates>& certificates = std::nullopt);
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
