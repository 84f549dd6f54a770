#include "sim/scenario/shape.h"

#include <fmt/format.h>

#include <utility>

#include "engine/config/tunables.h"

namespace lockstep::sim {

namespace {

constexpr double kWholeMax = 9.0e15;  // the largest round number below 2^53

Shape of_kind(Shape::Kind kind) {
    Shape made;
    made.kind = kind;
    return made;
}

std::string bounds(const Shape& shape) {
    const bool bounded_below = shape.min > std::numeric_limits<double>::lowest();
    const bool bounded_above = shape.max < kWholeMax;
    if (bounded_below && bounded_above) return fmt::format(" from {} to {}", shape.min, shape.max);
    if (bounded_below) return fmt::format(" of at least {}", shape.min);
    return bounded_above ? fmt::format(" of at most {}", shape.max) : "";
}

std::string least_duration(engine::Duration least) {
    return least == engine::Duration{1} ? "a duration of more than 0"
                                        : fmt::format("a duration of at least {}", engine::format_duration(least));
}

std::string quoted(const std::vector<std::string>& words) {
    std::string out;
    for (std::size_t i = 0; i < words.size(); ++i)
        out += fmt::format("{}\"{}\"", i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
    return out;
}

}  // namespace

namespace shape {

Shape defined(Shape shape, std::string_view definition) {
    shape.definition = definition;
    return shape;
}

Shape text() {
    Shape made = of_kind(Shape::Kind::text);
    made.min = 1;
    return made;
}

Shape text_or_empty() {
    Shape made = of_kind(Shape::Kind::text);
    made.min = 0;
    return made;
}

Shape word(std::vector<std::string> words, std::string_view noun) {
    Shape made = of_kind(Shape::Kind::word);
    made.noun = noun;
    made.words = std::move(words);
    return made;
}

Shape flag() { return of_kind(Shape::Kind::flag); }

Shape integer(double min, double max) {
    Shape made = of_kind(Shape::Kind::integer);
    made.min = min;
    made.max = max;
    return made;
}

Shape number(double min, double max) {
    Shape made = of_kind(Shape::Kind::number);
    made.min = min;
    made.max = max;
    return made;
}

Shape duration() { return defined(of_kind(Shape::Kind::duration), "duration"); }
Shape duration_of_at_least(engine::Duration least) {
    Shape made = defined(of_kind(Shape::Kind::duration), "positive_duration");
    made.least = least;
    return made;
}
Shape signed_duration() { return defined(of_kind(Shape::Kind::signed_duration), "signed_duration"); }
Shape rate() { return defined(of_kind(Shape::Kind::rate), "rate"); }
Shape comparison() { return defined(of_kind(Shape::Kind::comparison), "comparison"); }

Shape distribution() {
    Shape drawn = of_kind(Shape::Kind::tagged);
    drawn.tag = "dist";
    drawn.noun = "distribution";
    drawn.words = {"uniform", "exp", "lognormal", "pareto"};
    constexpr double kLeast = 1e-9;
    drawn.alternatives = {
        object({{"min", "least, inclusive", duration(), true}, {"max", "most, inclusive", duration(), true}}),
        object({{"mean", "", duration(), true}}),
        object({{"median", "", duration(), true}, {"sigma", "of the logarithm", number(0, 10), true}}),
        object({{"min", "least", duration(), true}, {"alpha", "smaller = heavier tail", number(kLeast, 1000), true}})};
    Shape made = either({duration(), std::move(drawn)});
    made.expected = "a duration such as \"20ms\" or a distribution such as {\"dist\": \"exp\", \"mean\": \"2s\"}";
    return defined(std::move(made), "distribution");
}

Shape signed_distribution() {
    Shape drawn = of_kind(Shape::Kind::tagged);
    drawn.tag = "dist";
    drawn.noun = "distribution";
    drawn.words = {"uniform"};
    drawn.alternatives = {object(
        {{"min", "least, inclusive", signed_duration(), true}, {"max", "most, inclusive", signed_duration(), true}})};
    Shape made = either({signed_duration(), std::move(drawn)});
    made.expected =
        "a duration such as \"-50ms\" or a distribution such as {\"dist\": \"uniform\", \"min\": \"-50ms\", \"max\": "
        "\"50ms\"}";
    return defined(std::move(made), "signed_distribution");
}

Shape list(Shape item, double min) {
    Shape made = of_kind(Shape::Kind::list);
    made.min = min;
    made.item = std::make_shared<const Shape>(std::move(item));
    return made;
}

Shape map(Shape item, std::vector<std::string> keys, std::string_view noun) {
    Shape made = of_kind(Shape::Kind::map);
    made.noun = noun;
    made.words = std::move(keys);
    made.item = std::make_shared<const Shape>(std::move(item));
    return made;
}

Shape object(std::vector<Field> fields) {
    Shape made = of_kind(Shape::Kind::object);
    made.fields = std::move(fields);
    return made;
}

Shape either(std::vector<Shape> alternatives) {
    Shape made = of_kind(Shape::Kind::either);
    made.alternatives = std::move(alternatives);
    return made;
}

Shape document(std::string_view expected) {
    Shape made = of_kind(Shape::Kind::document);
    made.expected = expected;
    return made;
}

}  // namespace shape

std::string describe(const Shape& shape) {
    if (!shape.expected.empty()) return shape.expected;
    switch (shape.kind) {
        case Shape::Kind::text: return shape.min > 0 ? "a text that is not empty" : "a text";
        case Shape::Kind::word: return shape.words.size() <= 16 ? quoted(shape.words) : "a known name";
        case Shape::Kind::flag: return "true or false";
        case Shape::Kind::integer: return "a whole number" + bounds(shape);
        case Shape::Kind::number: return "a number" + bounds(shape);
        case Shape::Kind::duration:
            if (shape.least > engine::Duration{}) return least_duration(shape.least);
            return "a duration such as \"250us\", \"20ms\", \"1.5s\", \"10m\" or \"2h\"";
        case Shape::Kind::signed_duration: return "a duration such as \"20ms\" or \"-10m\"";
        case Shape::Kind::rate: return "a rate such as \"20/s\" or \"3/m\"";
        case Shape::Kind::comparison: return "a number or a comparison such as \">= 180\"";
        case Shape::Kind::list: return shape.min > 0 ? "a list that is not empty" : "a list";
        case Shape::Kind::map:
        case Shape::Kind::object:
        case Shape::Kind::tagged:
        case Shape::Kind::document: return "an object";
        case Shape::Kind::either: {
            std::string out;
            for (const Shape& alternative : shape.alternatives) {
                if (!out.empty()) out += " or ";
                out += describe(alternative);
            }
            return out;
        }
    }
    return {};
}

}  // namespace lockstep::sim
