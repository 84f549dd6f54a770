#include "sim/scenario/schema.h"

#include <map>

#include "sim/scenario/document.h"

namespace lockstep::sim {

namespace {

using Json = Document;
using ShapeKind = Shape::Kind;

constexpr const char* kDurationPattern = "(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|ms|s|m|h))+)";
constexpr const char* kNumberPattern = "[0-9]+(\\.[0-9]+)?([eE][+-]?[0-9]+)?";

Json pattern(const std::string& text) { return Json{{"type", "string"}, {"pattern", "^" + text + "$"}}; }

class Writer {
public:
    Json write(const Shape& shape) {
        if (shape.definition.empty()) return body(shape);
        if (!definitions_.contains(shape.definition)) {
            definitions_[shape.definition] = Json::object();  // taken before its body, which may refer to it
            definitions_[shape.definition] = body(shape);
        }
        return Json{{"$ref", "#/$defs/" + shape.definition}};
    }

    [[nodiscard]] const std::map<std::string, Json>& definitions() const { return definitions_; }

private:
    Json body(const Shape& shape) {
        switch (shape.kind) {
            case ShapeKind::text:
                return shape.min > 0 ? Json{{"type", "string"}, {"minLength", 1}} : Json{{"type", "string"}};
            case ShapeKind::word: return words(shape.words);
            case ShapeKind::flag: return Json{{"type", "boolean"}};
            case ShapeKind::integer: return bounded("integer", shape);
            case ShapeKind::number: return bounded("number", shape);
            case ShapeKind::duration:
                // A pattern can say "not zero"; how much more than zero it must be is beyond it.
                if (shape.least > engine::Duration{})
                    return Json{{"allOf", {pattern(kDurationPattern), Json{{"pattern", "[1-9]"}}}}};
                return Json{{"anyOf", {pattern(kDurationPattern), Json{{"const", 0}}}}};
            case ShapeKind::signed_duration:
                return Json{{"anyOf", {pattern(std::string("[+-]?") + kDurationPattern), Json{{"const", 0}}}}};
            case ShapeKind::rate: return pattern(std::string(" *") + kNumberPattern + " */ *[smh] *");
            case ShapeKind::comparison:
                return Json{
                    {"anyOf",
                     {Json{{"type", "number"}}, pattern(std::string(" *(==|!=|<=|>=|<|>|=)? *(-?") + kNumberPattern +
                                                        "|[+-]?" + kDurationPattern + ") *")}}};
            case ShapeKind::list: return list(shape);
            case ShapeKind::map: return map(shape);
            case ShapeKind::object: return object(shape, {}, {});
            case ShapeKind::tagged: return tagged(shape);
            case ShapeKind::either: return either(shape);
            case ShapeKind::document: return Json{{"type", "object"}};
        }
        return {};
    }

    /// An empty enumeration is not valid everywhere; `not: {}` refuses every value just the same.
    static Json words(const std::vector<std::string>& words) {
        return words.empty() ? Json{{"not", Json::object()}} : Json{{"enum", words}};
    }

    static Json number(double value) {
        if (value == static_cast<double>(static_cast<std::int64_t>(value))) return static_cast<std::int64_t>(value);
        return value;
    }

    static Json bounded(const char* type, const Shape& shape) {
        Json out{{"type", type}};
        if (shape.min > std::numeric_limits<double>::lowest()) out["minimum"] = number(shape.min);
        if (shape.max < 9.0e15) out["maximum"] = number(shape.max);
        return out;
    }

    Json list(const Shape& shape) {
        Json out{{"type", "array"}, {"items", write(*shape.item)}};
        if (shape.min > 0) out["minItems"] = number(shape.min);
        return out;
    }

    Json map(const Shape& shape) {
        Json out{{"type", "object"}, {"additionalProperties", write(*shape.item)}};
        out["propertyNames"] = shape.words.empty() ? Json{{"minLength", 1}} : words(shape.words);
        return out;
    }

    Json object(const Shape& shape, const std::string& tag, const std::string& tag_word) {
        Json properties = Json::object();
        Json required = Json::array();
        if (!tag.empty()) {
            properties[tag] = Json{{"const", tag_word}};
            required.push_back(tag);
        }
        for (const Field& field : shape.fields) {
            Json described = write(field.shape);
            if (!field.help.empty()) described["description"] = field.help;
            properties[field.key] = std::move(described);
            if (field.required) required.push_back(field.key);
        }
        Json out{{"type", "object"}, {"properties", std::move(properties)}};
        if (!required.empty()) out["required"] = std::move(required);
        out["additionalProperties"] = false;
        return out;
    }

    Json tagged(const Shape& shape) {
        Json out{{"oneOf", Json::array()}};
        for (std::size_t i = 0; i < shape.words.size(); ++i)
            out["oneOf"].push_back(object(shape.alternatives[i], shape.tag, shape.words[i]));
        return out;
    }

    Json either(const Shape& shape) {
        Json out{{"anyOf", Json::array()}};
        for (const Shape& one : shape.alternatives) out["anyOf"].push_back(write(one));
        return out;
    }

    std::map<std::string, Json> definitions_;
};

}  // namespace

std::string json_schema(const Shape& root, const std::string& title, const std::string& description) {
    Writer writer;
    Json body = writer.write(root);
    Json schema{
        {"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}, {"description", description}};
    schema.update(body);
    Json definitions = Json::object();
    for (const auto& [name, definition] : writer.definitions()) definitions[name] = definition;
    schema["$defs"] = std::move(definitions);
    return pretty(schema);
}

}  // namespace lockstep::sim
