// Which settings documents each replica may go by (settings.md 5): it goes by what it read last, by a GET of its own, and keeps a part that
// the new document does not say as documented. After a start it has read nothing; what it had sent before it went down may arrive later,
// and goes by what was read before. At its start it reads twice, and tries again from the beginning where the second one finds nothing: it
// may or may not go by what it reads until two in a row were answered.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fakes/event.h"
#include "sim/model/job_keys.h"
#include "sim/model/settings_text.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

class SettingsRead {
public:
    using Document = std::shared_ptr<const SettingsText>;  // null: there is none that can be read

    void on_event(const fakes::Event& event, Time now) {
        if (event.kind == fakes::EventKind::node_down) {
            former_[event.node] = {std::exchange(read_[event.node], {}), now};
            under_way_.erase(event.node);
            starts_[event.node] = {.over = false};
        }
        if (event.kind != fakes::EventKind::redis || event.key != kSettingsKey || event.command != "GET") return;
        if (event.when == fakes::When::applied && !text_.empty()) under_way_[event.node] = parsed_;
        if (event.when == fakes::When::answered) answered(event, now);
    }
    void string_set(std::string_view key, std::string_view after) {
        if (key != kSettingsKey || text_ == after) return;
        text_ = after;
        auto read = read_settings_text(after);
        parsed_ = read ? std::make_shared<const SettingsText>(*std::move(read)) : nullptr;
    }
    void key_removed(std::string_view key) {
        if (key == kSettingsKey) text_.clear();
    }
    void restored(const fakes::redis::Keyspace& now) {
        const auto* text = container_at<std::string>(now, kSettingsKey);
        if (text == nullptr)
            text_.clear();
        else
            string_set(kSettingsKey, *text);
    }

    /// That Redis has.
    [[nodiscard]] Document stored() const { return text_.empty() ? nullptr : parsed_; }

    /// What a part of the settings may have been for a replica from `from` to `to`, as `part(settings)` reads it off a document:
    /// nothing keeps the one before. What was before any document that says it comes out as nothing. Where it has gone down since
    /// `from`, what it went by until then counts as well.
    template <class Part>
    [[nodiscard]] auto possible(fakes::NodeId node, Time from, Time to, Part part) const {
        using Read = decltype(part(std::declval<const SettingsText&>()));
        std::vector<Read> values;
        if (const auto former = former_.find(node); former != former_.end() && former->second.until >= from)
            collect(former->second.versions, from, to, part, values);
        const auto read = read_.find(node);
        collect(read == read_.end() ? Versions{} : read->second, from, to, part, values);
        return values;
    }

private:
    struct Version {
        Document document;
        Time since{};
        bool certain = true;  // it goes by it
    };
    using Versions = std::vector<Version>;  // oldest first
    /// What a replica had read before it went down.
    struct Former {
        Versions versions;
        Time until{};
    };
    /// How far a replica that has come up again is with its start.
    struct Start {
        bool over = true;
        bool answered = false;  // the last read was
    };

    void answered(const fakes::Event& event, Time now) {
        std::optional<Document>& found = under_way_[event.node];
        const bool learnt = found && event.outcome == fakes::EventOutcome::applied;
        Start& start = starts_[event.node];
        start.over = start.over || (learnt && start.answered);
        start.answered = learnt;
        auto& versions = read_[event.node];
        if (learnt && (versions.empty() || versions.back().document != *found))
            versions.push_back({*found, now, start.over});
        else if (learnt && start.over)
            versions.back().certain = true;
        found.reset();
    }

    /// Adds what the part may have been for a replica that has read these.
    template <class Part, class Read>
    static void collect(const Versions& versions, Time from, Time to, Part part, std::vector<Read>& values) {
        const auto before = static_cast<std::ptrdiff_t>(values.size());
        values.emplace_back();
        for (const Version& version : versions) {
            if (version.since > to) break;
            Read value = version.document ? part(*version.document) : Read{};
            if (!value) continue;
            if (version.since < from && version.certain)
                values.erase(values.begin() + before, values.end());  // it is in the place of all before it
            values.push_back(std::move(value));
        }
    }

    std::string text_;
    Document parsed_;                                             // of text_
    std::map<fakes::NodeId, std::optional<Document>> under_way_;  // a GET found it, and its caller has no answer yet
    std::map<fakes::NodeId, Versions> read_;                      // since it came up
    std::map<fakes::NodeId, Start> starts_;
    std::map<fakes::NodeId, Former> former_;  // of replicas that went down, the last time
};

}  // namespace lockstep::sim
