// The settings documents that each replica may be going by (settings.md 5): it goes by what it has read last, by a
// GET of its own, and keeps a part that the new document does not say soundly. Who comes up again has read nothing; what was
// on its way when it went down may land later, and goes by what was read before. At its start it reads twice, and tries again from the
// beginning where the second one finds nothing: what it has read until two in a row were answered it may go by, or not.
//
// It belongs to an observer of the events and of the keyspace, which passes on what it hears.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/oracles/documented_settings.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class SettingsInForce {
public:
    static constexpr fakes::EventKinds kWanted =
        fakes::EventKinds{fakes::EventKind::node_down, fakes::EventKind::redis};
    void on_event(const fakes::Event& event, Time now);
    void string_set(std::string_view key, std::string_view after);
    void key_removed(std::string_view key);
    void restored(const fakes::redis::Keyspace& now);

    /// What a part of the settings may have been for a replica from `from` to `to`, as `part(overlay)` reads it off a document:
    /// nothing keeps the one before. What was before any document that says it comes out as nothing. Where it has gone down since
    /// `from`, what it went by until then counts as well.
    template <class Part>
    [[nodiscard]] auto possible(fakes::NodeId node, Time from, Time to, Part part) const {
        using Read = decltype(part(std::declval<const DocumentedSettings&>()));
        std::vector<Read> values;
        if (const auto former = former_.find(node); former != former_.end() && former->second.until >= from)
            collect(former->second.versions, from, to, part, values);
        const auto read = read_.find(node);
        collect(read == read_.end() ? Versions{} : read->second, from, to, part, values);
        return values;
    }

private:
    using Document = std::shared_ptr<const DocumentedSettings>;  // null: it cannot be read
    struct Version {
        Document overlay;
        Time since{};
        bool certain = true;  // it goes by it
    };
    using Versions = std::vector<Version>;  // oldest first
    /// What a replica had read before it went down.
    struct Former {
        Versions versions;
        Time until{};
    };

    /// Adds what the part may have been for who has read these.
    template <class Part, class Read>
    static void collect(const Versions& versions, Time from, Time to, Part part, std::vector<Read>& values) {
        const auto before = static_cast<std::ptrdiff_t>(values.size());
        values.emplace_back();
        for (const Version& version : versions) {
            if (version.since > to) break;
            Read value = version.overlay ? part(*version.overlay) : Read{};
            if (!value) continue;
            if (version.since < from && version.certain)
                values.erase(values.begin() + before, values.end());  // it is in the place of all before it
            values.push_back(std::move(value));
        }
    }

    std::string text_;
    Document parsed_;  // of text_
    std::map<fakes::NodeId, std::optional<Document>>
        under_way_;                           // what a GET has found and its caller has not been told yet
    std::map<fakes::NodeId, Versions> read_;  // since it came up
    /// How far a replica that has come up again is with its start.
    struct Start {
        bool over = true;
        bool answered = false;  // the last read was
    };
    std::map<fakes::NodeId, Start> starts_;
    std::map<fakes::NodeId, Former> former_;  // of those that have gone down, the last time
};

}  // namespace lockstep::sim
