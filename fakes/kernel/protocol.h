// What travels between a kernel's client and the simulated kernel: unary calls, as gRPC has them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tl/expected.hpp>

#include "engine/ports/kernel.h"

namespace lockstep::fakes {

/// The service under which the kernel listens on its node.
inline constexpr const char* kKernelService = "kernel";

/// gRPC status codes that a client meets.
inline constexpr int kStatusDeadlineExceeded = 4;
inline constexpr int kStatusResourceExhausted = 8;
inline constexpr int kStatusUnimplemented = 12;
inline constexpr int kStatusInternal = 13;
inline constexpr int kStatusUnavailable = 14;
/// Those that come about without a handler's doing.
inline constexpr std::array kStatusesOfTheTransport{kStatusDeadlineExceeded, kStatusResourceExhausted,
                                                    kStatusUnimplemented, kStatusUnavailable};

/// A gRPC server takes no message longer than this unless told otherwise. The daemon's client does not limit answers.
inline constexpr std::size_t kRequestBytesMax = std::size_t{4} << 20U;

enum class KernelMethod : std::uint8_t {
    check,           // SafetyKernel.Check
    check_output,    // OutputPolicyService.CheckOutput
    list_snapshots,  // SafetyKernel.ListSnapshots
};

/// Serialised messages: the encoding is part of what is simulated.
struct KernelCall {
    std::uint64_t id = 0;  // the client's own number
    KernelMethod method{};
    std::string job;  // for events
    std::string request;
};
using KernelAnswer = tl::expected<std::string, engine::RpcFailure>;

}  // namespace lockstep::fakes
