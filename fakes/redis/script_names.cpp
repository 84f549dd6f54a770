#include "fakes/redis/script_names.h"

#include "fakes/redis/script_cache.h"
#include "fakes/redis/text.h"

namespace lockstep::fakes::redis {

namespace {

std::string_view declared_name(std::string_view text) {
    constexpr std::string_view kMark = "-- name: ";
    if (!text.starts_with(kMark)) return {};
    text.remove_prefix(kMark.size());
    text = text.substr(0, text.find('\n'));
    while (text.ends_with(' ') || text.ends_with('\r')) text.remove_suffix(1);
    return text;
}

}  // namespace

std::string_view ScriptNames::of(const engine::RedisCommand& command) {
    if (command.size() < 2) return {};
    if (same_word(command[0], "EVALSHA")) {
        const auto known = by_sha_.find(command[1]);
        return known != by_sha_.end() ? std::string_view(known->second) : std::string_view();
    }
    const bool loads = command.size() > 2 && same_word(command[0], "SCRIPT") && same_word(command[1], "LOAD");
    if (!loads && !same_word(command[0], "EVAL")) return {};
    const std::string& text = command[loads ? 2 : 1];
    const std::string_view name = declared_name(text);
    if (!name.empty() && seen_.insert(text).second) by_sha_.emplace(ScriptCache::here().of(text).sha, name);
    return loads ? std::string_view() : name;  // to load a script is not to call it
}

}  // namespace lockstep::fakes::redis
