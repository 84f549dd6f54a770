#include "fakes/redis/keyspace.h"

#include <algorithm>

namespace lockstep::fakes::redis {

namespace {

/// The position of a key in the order of SCAN. Never 0, which means "from the start".
std::uint64_t scan_position(std::string_view key) {
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return (hash >> 1) | 1;  // below 2^63: clients read cursors as signed numbers
}

}  // namespace

Keyspace::Node* Keyspace::find(std::string_view key) {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &*found;
}

const Keyspace::Entry* Keyspace::find(std::string_view key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second;
}

std::vector<std::string_view> Keyspace::keys() const {
    std::vector<std::string_view> all;
    all.reserve(entries_.size());
    for (const auto& [key, entry] : entries_) all.push_back(key);
    std::sort(all.begin(), all.end());
    return all;
}

std::pair<std::vector<std::string_view>, std::uint64_t> Keyspace::scan(std::uint64_t cursor, std::size_t count) const {
    // A cursor is a position and not an index, so that keys which come and go between two calls make no other key be missed.
    std::vector<std::pair<std::uint64_t, std::string_view>> rest;
    for (const auto& [key, entry] : entries_) {
        const std::uint64_t position = scan_position(key);
        if (position > cursor) rest.emplace_back(position, key);
    }
    std::sort(rest.begin(), rest.end());
    std::size_t taken = std::min(count, rest.size());
    while (taken > 0 && taken < rest.size() && rest[taken].first == rest[taken - 1].first) ++taken;
    std::vector<std::string_view> page;
    for (std::size_t i = 0; i < taken; ++i) page.push_back(rest[i].second);
    return {std::move(page), taken < rest.size() ? rest[taken - 1].first : 0};
}

void Keyspace::set_string(std::string_view key, std::string value, std::int64_t expires_at) {
    Node* node = find(key);
    if (node != nullptr && !std::holds_alternative<std::string>(node->second.value)) {
        remove(*node);
        node = nullptr;
    }
    if (node == nullptr) {
        node = &insert(key, Entry{std::move(value), kNever});
        index_expiry(*node, expires_at);
        tell(KeyspaceChange::string_set, &KeyspaceObserver::string_set, node->first, nullptr,
             std::get<std::string>(node->second.value), kNever, expires_at);
        return;
    }
    auto& current = std::get<std::string>(node->second.value);
    const std::string before = std::exchange(current, std::move(value));
    const std::int64_t expires_before = node->second.expires_at;
    index_expiry(*node, expires_at);
    tell(KeyspaceChange::string_set, &KeyspaceObserver::string_set, node->first, &before, current, expires_before,
         expires_at);
}

bool Keyspace::hash_set(Node& hash, std::string_view field, std::string_view value) {
    auto& fields = std::get<Hash>(hash.second.value);
    const auto found = fields.find(field);
    if (found == fields.end()) {
        fields.emplace(std::string(field), std::string(value));
        tell(KeyspaceChange::hash_set, &KeyspaceObserver::hash_set, hash.first, field, nullptr, value);
        return true;
    }
    const std::string before = std::exchange(found->second, std::string(value));
    tell(KeyspaceChange::hash_set, &KeyspaceObserver::hash_set, hash.first, field, &before, value);
    return false;
}

bool Keyspace::hash_remove(Node& hash, std::string_view field) {
    auto& fields = std::get<Hash>(hash.second.value);
    const auto found = fields.find(field);
    if (found == fields.end()) return false;
    const auto removed = fields.extract(found);
    tell(KeyspaceChange::hash_removed, &KeyspaceObserver::hash_removed, hash.first, removed.key(), removed.mapped());
    return drop_if_empty(hash);
}

void Keyspace::list_insert(Node& list, std::size_t index, std::string_view value) {
    auto& elements = std::get<List>(list.second.value);
    elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(index), std::string(value));
    tell(KeyspaceChange::list_inserted, &KeyspaceObserver::list_inserted, list.first, index, value);
}

bool Keyspace::list_remove(Node& list, std::size_t index) {
    auto& elements = std::get<List>(list.second.value);
    const auto position = elements.begin() + static_cast<std::ptrdiff_t>(index);
    const std::string removed = std::move(*position);
    elements.erase(position);
    tell(KeyspaceChange::list_removed, &KeyspaceObserver::list_removed, list.first, index, removed);
    return drop_if_empty(list);
}

bool Keyspace::set_add(Node& set, std::string_view member) {
    const bool added = std::get<Set>(set.second.value).emplace(member).second;
    if (added) tell(KeyspaceChange::set_added, &KeyspaceObserver::set_added, set.first, member);
    return added;
}

bool Keyspace::set_remove(Node& set, std::string_view member) {
    auto& members = std::get<Set>(set.second.value);
    const auto found = members.find(member);
    if (found == members.end()) return false;
    const auto removed = members.extract(found);
    tell(KeyspaceChange::set_removed, &KeyspaceObserver::set_removed, set.first, removed.value());
    return drop_if_empty(set);
}

void Keyspace::zset_set(Node& zset, std::string_view member, double score) {
    auto& members = std::get<SortedSet>(zset.second.value);
    const double* current = members.score(member);
    const std::optional<double> before = current != nullptr ? std::optional(*current) : std::nullopt;
    members.set(member, score);
    tell(KeyspaceChange::zset_set, &KeyspaceObserver::zset_set, zset.first, member, before ? &*before : nullptr, score);
}

bool Keyspace::zset_remove(Node& zset, std::string_view member) {
    auto& members = std::get<SortedSet>(zset.second.value);
    const double* current = members.score(member);
    if (current == nullptr) return false;
    const double before = *current;
    const std::string name(member);  // the argument may view the member that goes
    members.remove(member);
    tell(KeyspaceChange::zset_removed, &KeyspaceObserver::zset_removed, zset.first, name, before);
    return drop_if_empty(zset);
}

void Keyspace::set_expiry(Node& node, std::int64_t expires_at) {
    const std::int64_t before = node.second.expires_at;
    index_expiry(node, expires_at);
    tell(KeyspaceChange::expiry_set, &KeyspaceObserver::expiry_set, node.first, before, expires_at);
}

void Keyspace::remove(Node& node, Removal why) {
    if (node.second.expires_at != kNever) expiries_.erase({node.second.expires_at, node.first});
    const auto removed = entries_.extract(entries_.find(std::string_view(node.first)));
    tell(KeyspaceChange::key_removed, &KeyspaceObserver::key_removed, removed.key(), why, removed.mapped().value,
         removed.mapped().expires_at);
}

void Keyspace::clear() {
    const std::vector<std::string_view> views = keys();
    const std::vector<std::string> all(views.begin(), views.end());
    for (const std::string& key : all) remove(*find(key));
}

void Keyspace::put_back(std::string_view key, Entry entry) {
    const std::int64_t expires_at = entry.expires_at;
    Node* node = find(key);
    if (node != nullptr) remove(*node);
    entry.expires_at = kNever;
    index_expiry(insert(key, std::move(entry)), expires_at);
}

Keyspace::Content Keyspace::copy() const {
    Content content;
    content.entries_ = decltype(entries_)(entries_);  // values can be constructed of each other, and not assigned
    for (const auto& [key, entry] : content.entries_)
        if (entry.expires_at != kNever) content.expiries_.emplace(entry.expires_at, key);
    return content;
}

void Keyspace::exchange(Content& other) {
    entries_.swap(other.entries_);
    expiries_.swap(other.expiries_);
}

std::optional<std::int64_t> Keyspace::next_expiry() const {
    if (expiries_.empty()) return std::nullopt;
    return expiries_.begin()->first;
}

Keyspace::Node& Keyspace::insert(std::string_view key, Entry entry) {
    return *entries_.emplace(std::string(key), std::move(entry)).first;
}

void Keyspace::index_expiry(Node& node, std::int64_t expires_at) {
    std::int64_t& current = node.second.expires_at;
    if (current == expires_at) return;
    if (current != kNever) expiries_.erase({current, node.first});
    current = expires_at;
    if (current != kNever) expiries_.insert({current, node.first});
}

bool Keyspace::drop_if_empty(Node& node) {
    if (!is_empty_container(node.second.value)) return false;
    remove(node);
    return true;
}

void Keyspace::expire(std::int64_t now_ms) {
    const NodeId client = std::exchange(client_, NodeId{});  // nobody's command removes them
    while (!expiries_.empty() && expiries_.begin()->first < now_ms) {
        remove(*find(expiries_.begin()->second), Removal::expired);
    }
    client_ = client;
}

}  // namespace lockstep::fakes::redis
