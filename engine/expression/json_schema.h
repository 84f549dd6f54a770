// JSON Schema, draft-07: what an input or output of a workflow or step may look like.
//
// Checked are: type, enum, const; minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf; minLength,
// maxLength (in characters), pattern (by RE2, so without look-around and references back); items (one schema, or one
// for each place), additionalItems, minItems, maxItems, uniqueItems; required, properties, patternProperties,
// additionalProperties, minProperties, maxProperties; allOf, anyOf, oneOf, not, if, then, else; $ref to a place within
// the schema, #/…, with nothing but annotations beside it, since drafts differ in whether that counts. Not looked at:
// title, description, default, examples, format, $schema, $comment, and $id at the root. Every other keyword is refused
// when the schema is loaded: a constraint that nobody checks is none.
//
// A number is an integer when it is whole, 1.0 among them, and equal numbers are equal however they are written.
// `multipleOf` with a divisor that is not whole goes by the quotient of two doubles, as other implementations do: 0.3
// is no multiple of 0.1.
#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace lockstep::engine {

struct SchemaLimits {
    /// Schemas within a schema, and how deep it and the values that it is asked about may nest.
    std::size_t schemas = 2000;
    std::size_t depth = 48;
    /// Work of one validation: a step for each schema that a value is held against, for each value that is compared,
    /// and for each 64 bytes of text. More is a violation.
    std::size_t steps = 1'000'000;
    /// Violations that are told; behind them a value is not looked at any further.
    std::size_t violations = 20;
};

/// What is wrong with a schema.
struct SchemaMistake {
    std::string pointer;  ///< in the schema
    std::string what;
};

/// What is wrong with a value.
struct SchemaViolation {
    std::string instance;  ///< the JSON pointer of the part that is wrong
    std::string keyword;   ///< that says so; empty where the whole validation was given up
    std::string schema;    ///< the JSON pointer of that keyword
    std::string what;      ///< in words, without these places
};

namespace schema {
struct Program;
}

/// A schema without mistakes. Copies share what was read.
class JsonSchema {
public:
    /// Every mistake, in the order of the schema.
    [[nodiscard]] static tl::expected<JsonSchema, std::vector<SchemaMistake>> load(const nlohmann::json& schema,
                                                                                   const SchemaLimits& limits = {});

    /// Nothing: the value fits.
    [[nodiscard]] std::vector<SchemaViolation> violations(const nlohmann::json& value) const;

private:
    explicit JsonSchema(std::shared_ptr<const schema::Program> program);

    std::shared_ptr<const schema::Program> program_;
};

}  // namespace lockstep::engine
