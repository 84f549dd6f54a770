// Reads a tree of JSON values against what is expected there and collects every mistake with its place, instead of
// stopping at the first. A key that nobody asked for is a mistake too: it would be a rule that silently does nothing.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::fakes::policy {

struct ParseError {
    std::string path;  // JSON pointer into the document; empty for the document itself
    std::string message;
};
using ParseErrors = std::vector<ParseError>;

/// One object of the tree. Fields that are absent or null leave their target as it is.
class ObjectReader {
public:
    /// `node` and `errors` must outlive the reader.
    ObjectReader(const nlohmann::json& node, std::string path, ParseErrors& errors);

    /// A scalar; numbers and booleans are taken by their spelling, since YAML has no quotes around most text.
    void text(std::string_view key, std::string& target);
    /// A list of scalars.
    void texts(std::string_view key, std::vector<std::string>& target);
    void boolean(std::string_view key, bool& target);
    void boolean(std::string_view key, std::optional<bool>& target);
    void integer(std::string_view key, std::int64_t& target, std::int64_t min, std::int64_t max);
    /// An object of scalars.
    void labels(std::string_view key, std::map<std::string, std::string>& target);

    /// A scalar that `parse` turns into a value or refuses with an empty optional.
    template <class T, class Parse>
    void named(std::string_view key, T& target, std::string_view expected, Parse parse) {
        std::string word;
        if (!present(key)) return;
        text(key, word);
        if (auto value = parse(std::string_view(word))) {
            target = *value;
        } else {
            fail(key, "\"" + word + "\" is none of " + std::string(expected));
        }
    }

    /// Calls `read(ObjectReader&)` for the object at `key`, if there is one, and then refuses its unknown keys.
    template <class Read>
    void object(std::string_view key, Read read) {
        if (const nlohmann::json* node = find(key)) {
            ObjectReader inner(*node, path_of(key), errors_);
            read(inner);
            inner.refuse_unknown();
        }
    }
    /// The same for each object of the list at `key`.
    template <class Read>
    void objects(std::string_view key, Read read) {
        for (const auto& [node, path] : list(key)) {
            ObjectReader inner(*node, path, errors_);
            read(inner);
            inner.refuse_unknown();
        }
    }
    /// The same for each member of the object at `key`, with the member's name before the reader.
    template <class Read>
    void members(std::string_view key, Read read) {
        const nlohmann::json* node = find(key);
        if (node == nullptr) return;
        if (!node->is_object()) return fail(key, "must be an object");
        for (const auto& [name, member] : node->items()) {
            ObjectReader inner(member, path_of(key) + token(name), errors_);
            read(name, inner);
            inner.refuse_unknown();
        }
    }

    [[nodiscard]] bool present(std::string_view key);
    /// Call last. Says what is known here.
    void refuse_unknown();
    void fail(std::string_view key, std::string message);
    [[nodiscard]] std::string path_of(std::string_view key) const;

private:
    /// Notes that `key` is known; null when it is absent or null.
    const nlohmann::json* find(std::string_view key);
    std::vector<std::pair<const nlohmann::json*, std::string>> list(std::string_view key);
    /// With its slash, as it stands in a JSON pointer.
    static std::string token(std::string_view name);

    const nlohmann::json& node_;
    std::string path_;
    ParseErrors& errors_;
    std::vector<std::string> known_;
};

}  // namespace lockstep::fakes::policy
