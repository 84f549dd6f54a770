#include "sim/model/config_documents.h"

#include <variant>

#include "sim/model/job_keys.h"
#include "sim/model/json_document.h"

namespace lockstep::sim {

void ConfigDocuments::set(std::string_view key, std::string_view text, Since now) {
    auto content = data_in(text);
    limit_topics_ |=
        text.find("denied_topics") != std::string_view::npos || text.find("allowed_topics") != std::string_view::npos;
    changed_ = now.event;
    documents_[std::string(key)].push_back(
        {std::string(text), content ? std::make_shared<const nlohmann::json>(*std::move(content)) : nullptr, now.at,
         now.event});
}

void ConfigDocuments::restored(const fakes::redis::Keyspace& keys, Since now) {
    changed_ = now.event;
    for (auto& [key, versions] : documents_)
        if (keys.find(key) == nullptr) versions.push_back({"", nullptr, now.at, now.event});
    for (const std::string_view key : keys.keys()) {
        const auto* text = std::get_if<std::string>(&keys.find(key)->value);
        if (text != nullptr && key.starts_with(kConfigPrefix)) set(key, *text, now);
    }
}

std::vector<std::string_view> ConfigDocuments::texts_since(std::string_view key, Time since) const {
    const auto found = documents_.find(key);
    if (found == documents_.end()) return {""};
    const std::vector<Version>& versions = found->second;
    std::vector<std::string_view> texts;
    bool has_unreadable = false;
    for (std::size_t i = 0; i < versions.size(); ++i) {
        const bool was_replaced = i + 1 < versions.size() && versions[i + 1].from < since;
        if (was_replaced) continue;
        has_unreadable |= !versions[i].is_readable();
        if (versions[i].is_readable()) texts.push_back(versions[i].text);
    }
    if (versions.front().from >= since) texts.emplace_back();
    for (const Version& version : versions)
        if (has_unreadable && version.is_readable()) texts.push_back(version.text);
    return texts;
}

}  // namespace lockstep::sim
