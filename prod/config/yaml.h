// YAML files as JSON text, which is what every parser behind this one reads, together with the line of each value, so
// that an error found later can still name its place in the file.
//
// Stricter than the YAML library: a key that stands twice in one map is refused, and so are aliases that blow up. Plain
// scalars follow YAML's core schema: true, false, null, numbers; everything else, and everything in quotes, is text.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace lockstep::prod {

struct YamlDocument {
    std::string json;
    std::string file;
    std::map<std::string, int, std::less<>> lines;  // JSON pointer -> line, counted from 1

    /// `file:line` of a value, of the nearest enclosing one that is known, or just the file.
    [[nodiscard]] std::string place(std::string_view pointer) const;
};

/// The error is `file:line: what`. An empty document is JSON null.
[[nodiscard]] tl::expected<YamlDocument, std::string> parse_yaml(std::string_view text, std::string file);

/// The text of a file; the error says which file and why.
[[nodiscard]] tl::expected<std::string, std::string> read_file(const std::string& path,
                                                               std::size_t max_bytes = 2U << 20U);

}  // namespace lockstep::prod
