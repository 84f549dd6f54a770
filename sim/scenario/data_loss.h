// Which servers may lose data that they had acknowledged. Where only the stream does, more can be promised than where Redis
// forgets (engine/delivery-semantics.md, "What holds even then").
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace lockstep::sim {

struct DataLoss {
    bool redis = false;
    bool nats = false;
    [[nodiscard]] bool any() const { return redis || nats; }
    bool operator==(const DataLoss&) const = default;
};

/// How scenario files and the command line name them.
inline constexpr std::array<std::string_view, 3> kDataLosses{"nats", "redis", "both"};

/// Nothing for another word.
[[nodiscard]] constexpr std::optional<DataLoss> data_loss_named(std::string_view word) {
    if (word == "nats") return DataLoss{.redis = false, .nats = true};
    if (word == "redis") return DataLoss{.redis = true, .nats = false};
    if (word == "both") return DataLoss{.redis = true, .nats = true};
    return std::nullopt;
}
/// REQUIRES: any.
[[nodiscard]] constexpr std::string_view name_of(const DataLoss& loss) {
    if (!loss.redis) return "nats";
    return loss.nats ? "both" : "redis";
}

}  // namespace lockstep::sim
