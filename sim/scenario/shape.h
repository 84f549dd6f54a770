// The vocabulary of the file format's table: what a value may look like. A Shape is data; check.cpp validates documents
// against it and schema.cpp writes it as JSON Schema, so that the two cannot disagree.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/runtime/time.h"

namespace lockstep::sim {

struct Field;

struct Shape {
    enum class Kind : std::uint8_t {
        text,             // non-empty unless `min` is 0
        word,             // one of `words`
        flag,             // true or false
        integer,          // min to max
        number,           // min to max
        duration,         // "250us", or the number 0
        signed_duration,  // "-50ms"
        rate,             // "20/s"
        comparison,       // ">= 180", or a number meaning equality
        list,             // of `item`, at least `min` of them
        map,              // any key, or one of `words`, to `item`
        object,           // `fields`, nothing else
        tagged,           // an object whose field `tag` says which of `alternatives` (named by `words`) it is
        either,           // the first of `alternatives` that has the JSON type of the value
        document,         // any object, parsed elsewhere
    };
    Kind kind{};
    std::string definition;  // its name under $defs of the schema; empty = written in place
    std::string expected;    // the noun phrase of messages; empty = derived from the kind
    std::string noun;        // what a word, tag or key names: `there is no <noun> "…"`; empty = value or key
    std::vector<std::string> words;
    std::vector<std::string> unavailable;  // words of the format that this version cannot honour
    double min = std::numeric_limits<double>::lowest();
    double max = std::numeric_limits<double>::max();
    engine::Duration least{};  // of a duration
    std::shared_ptr<const Shape> item;
    std::vector<Field> fields;
    std::string tag;
    std::vector<Shape> alternatives;
};

struct Field {
    std::string key;
    std::string help;
    Shape shape;
    bool required = false;
};

namespace shape {

[[nodiscard]] Shape text();
[[nodiscard]] Shape text_or_empty();
[[nodiscard]] Shape word(std::vector<std::string> words, std::string_view noun = {});
[[nodiscard]] Shape flag();
[[nodiscard]] Shape integer(double min, double max);
[[nodiscard]] Shape number(double min, double max = std::numeric_limits<double>::max());
[[nodiscard]] Shape duration();
/// REQUIRES: more than zero.
[[nodiscard]] Shape duration_of_at_least(engine::Duration least);
[[nodiscard]] Shape signed_duration();
[[nodiscard]] Shape rate();
[[nodiscard]] Shape comparison();
[[nodiscard]] Shape distribution();
/// Constant and uniform only, bounds may be negative.
[[nodiscard]] Shape signed_distribution();
[[nodiscard]] Shape list(Shape item, double min = 0);
/// Empty `keys` = any key but the empty one.
[[nodiscard]] Shape map(Shape item, std::vector<std::string> keys = {}, std::string_view noun = {});
[[nodiscard]] Shape object(std::vector<Field> fields);
[[nodiscard]] Shape either(std::vector<Shape> alternatives);
[[nodiscard]] Shape document(std::string_view expected);
/// The same, written once in the schema, under this name.
[[nodiscard]] Shape defined(Shape shape, std::string_view definition);

}  // namespace shape

/// What a value of this shape is called in messages, such as `a duration such as "250us"`.
[[nodiscard]] std::string describe(const Shape& shape);

}  // namespace lockstep::sim
