// The settings documents that each replica may be going by (settings.md 5): it goes by what it has read last, by a
// GET of its own, and keeps a part that the new document does not say soundly.
//
// It belongs to an observer of the events and of the keyspace, which passes on what it hears.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/overlay.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class SettingsInForce {
public:
    void on_event(const fakes::Event& event, Time now);
    void string_set(std::string_view key, std::string_view after);
    void key_removed(std::string_view key);
    void restored(const fakes::redis::Keyspace& now);

    /// What a part of the settings may have been for a replica from `from` to `to`, as `part(overlay)` reads it off a document:
    /// nothing keeps the one before. What was before any document that says it comes out as nothing.
    template <class Part>
    [[nodiscard]] auto possible(fakes::NodeId node, Time from, Time to, Part part) const {
        using Read = decltype(part(std::declval<const engine::Overlay&>()));
        std::vector<Read> values{Read{}};
        const auto read = read_.find(node);
        if (read == read_.end()) return values;
        for (const Version& version : read->second) {
            if (version.since > to) break;
            Read value = version.overlay ? part(*version.overlay) : Read{};
            if (!value) continue;
            if (version.since < from) values.clear();  // it is in the place of all before it
            values.push_back(std::move(value));
        }
        return values;
    }

private:
    using Document = std::shared_ptr<const engine::Overlay>;  // null: it cannot be read
    struct Version {
        Document overlay;
        Time since{};
    };

    std::string text_;
    Document parsed_;  // of text_
    std::map<fakes::NodeId, std::optional<Document>>
        under_way_;                                       // what a GET has found and its caller has not been told yet
    std::map<fakes::NodeId, std::vector<Version>> read_;  // oldest first
};

}  // namespace lockstep::sim
