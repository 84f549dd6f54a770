// Documents of the configuration service in Redis (cfg:*), and since when each had which text.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/redis/keyspace.h"
#include "sim/model/names.h"

namespace lockstep::sim {

class ConfigDocuments {
public:
    void set(std::string_view key, std::string_view text, Time now);
    void removed(std::string_view key, Time now) { set(key, "", now); }
    void restored(const fakes::redis::Keyspace& keys, Time now);

    /// A document limits the topics of a tenant, or did.
    [[nodiscard]] bool limit_topics() const { return limit_topics_; }
    /// Those that a reader may go by which has read it since then: an empty one where there was none. Where one cannot be read, any that
    /// could be read before. Valid until the next change.
    [[nodiscard]] std::vector<std::string_view> texts_since(std::string_view key, Time since) const;

private:
    struct Version {
        std::string text;
        bool is_readable = true;
        Time from{};
    };
    std::map<std::string, std::vector<Version>, std::less<>> documents_;  // by key, the latest version last
    bool limit_topics_ = false;
};

}  // namespace lockstep::sim
