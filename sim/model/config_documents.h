// Documents of the configuration service in Redis (cfg:*), and since when each had which text.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/redis/keyspace.h"
#include "sim/model/names.h"

namespace lockstep::sim {

class ConfigDocuments {
public:
    void set(std::string_view key, std::string_view text, Since now);
    void removed(std::string_view key, Since now) { set(key, "", now); }
    void restored(const fakes::redis::Keyspace& keys, Since now);

    /// A document limits the topics of a tenant, or did.
    [[nodiscard]] bool limit_topics() const { return limit_topics_; }
    /// Those that a reader may go by which has read it since then: an empty one where there was none. Where one cannot be read, any that
    /// could be read before. Valid until the next change.
    [[nodiscard]] std::vector<std::string_view> texts_since(std::string_view key, Time since) const;

    struct Version {
        std::string text;                               // empty: there is no document
        std::shared_ptr<const nlohmann::json> content;  // its settings; null: there is none, or it cannot be read
        Time from{};
        EventNumber event = 0;
        [[nodiscard]] bool is_readable() const { return text.empty() || content != nullptr; }
    };
    /// The latest version last; none: there never was one.
    [[nodiscard]] std::span<const Version> versions_of(std::string_view key) const {
        const auto found = documents_.find(key);
        return found == documents_.end() ? std::span<const Version>{} : found->second;
    }
    /// When any of them was last written, removed or restored.
    [[nodiscard]] EventNumber changed() const { return changed_; }

private:
    std::map<std::string, std::vector<Version>, std::less<>> documents_;  // by key, the latest version last
    bool limit_topics_ = false;
    EventNumber changed_ = 0;
};

}  // namespace lockstep::sim
