#include "engine/expression/json_schema_loader.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>
#include <string_view>

#include "engine/config/nearest.h"
#include "engine/expression/json_schema_circle.h"
#include "engine/expression/value_order.h"
#include "engine/wire/json_text.h"

namespace lockstep::engine::schema {

namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 7> kTypes{"null", "boolean", "integer", "number", "string", "array", "object"};
/// What RE2 may need for one pattern, and how long one may be.
constexpr std::int64_t kPatternMemory = std::int64_t{1} << 20;
constexpr std::size_t kPatternBytes = 1000;

std::string token(const std::string& name) { return (Json::json_pointer() / name).to_string(); }

/// A reference within the schema as a JSON pointer: `#/a%20b` is `/a b`.
std::optional<std::string> local_pointer(std::string_view reference) {
    if (!reference.starts_with('#')) return std::nullopt;
    std::string pointer;
    for (std::size_t i = 1; i < reference.size(); ++i) {
        if (reference[i] != '%') {
            pointer.push_back(reference[i]);
            continue;
        }
        std::uint8_t byte = 0;
        const char* const digits = reference.data() + i + 1;
        if (i + 2 >= reference.size() || std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2)
            return std::nullopt;
        pointer.push_back(static_cast<char>(byte));
        i += 2;
    }
    return pointer;
}

class Loader {
public:
    explicit Loader(const SchemaLimits& limits) { program_.limits = limits; }

    tl::expected<Program, std::vector<SchemaMistake>> load(const Json& schema) {
        if (deeper_than(schema, program_.limits.depth)) {
            refuse(fmt::format("the schema is nested deeper than {}", program_.limits.depth));
        } else {
            (void)node(schema);
            resolve_references();
            if (const auto on_circle = on_a_circle(program_.nodes); on_circle && mistakes_.empty())
                mistakes_.push_back(
                    {program_.nodes[*on_circle].pointer, "this schema applies itself to the same value, without end"});
        }
        if (!mistakes_.empty()) return tl::unexpected(std::move(mistakes_));
        return std::move(program_);
    }

private:
    using Reader = void (Loader::*)(Node&, const Json&);
    struct Keyword {
        std::string_view name;
        Reader read;
        /// May stand beside `$ref`.
        bool annotation = false;
    };

    /// Runs `read` with the place of one more token.
    template <class Read>
    auto within(const std::string& name, Read read) {
        const std::size_t before = place_.size();
        place_ += token(name);
        struct Back {
            std::string& place;
            std::size_t size;
            ~Back() { place.resize(size); }
        } back{place_, before};
        return read();
    }

    void refuse(std::string what) { mistakes_.push_back({place_, std::move(what)}); }

    NodeId node(const Json& schema) {
        const auto id = static_cast<NodeId>(program_.nodes.size());
        if (program_.nodes.size() >= program_.limits.schemas) {
            if (!too_many_)
                refuse(fmt::format("there are more than {} schemas within this one", program_.limits.schemas));
            too_many_ = true;
            return 0;
        }
        program_.nodes.emplace_back();
        places_.emplace(place_, id);
        Node read;
        read.pointer = place_;
        if (schema.is_boolean()) {
            read.fits_nothing = !schema.get<bool>();
        } else if (schema.is_object()) {
            for (const auto& [name, value] : schema.get_ref<const Json::object_t&>()) keyword(read, name, value);
            if (schema.contains("$ref")) refuse_beside_reference(schema);
        } else {
            refuse("expected a schema: an object, true or false");
        }
        program_.nodes[id] = std::move(read);
        return id;
    }

    void keyword(Node& node, const std::string& name, const Json& value) {
        within(name, [&] {
            const auto known = std::ranges::find(keywords(), name, &Keyword::name);
            if (known == keywords().end())
                refuse_unknown(name);
            else
                (this->*known->read)(node, value);
        });
    }

    void refuse_unknown(const std::string& name) {
        static constexpr std::array<std::string_view, 8> kOfTheDraft{
            "contains",  "propertyNames",    "dependencies",    "readOnly",
            "writeOnly", "contentMediaType", "contentEncoding", "$defs"};
        if (std::ranges::find(kOfTheDraft, name) != kOfTheDraft.end())
            return refuse(fmt::format("the keyword \"{}\" is not among those that are checked", name));
        std::vector<std::string> names;
        for (const Keyword& one : keywords()) names.emplace_back(one.name);
        refuse(fmt::format("there is no keyword \"{}\"{}", name, suggestion(name, names)));
    }

    void refuse_beside_reference(const Json& schema) {
        for (const auto& entry : schema.get_ref<const Json::object_t&>()) {
            const std::string& name = entry.first;
            const auto known = std::ranges::find(keywords(), name, &Keyword::name);
            if (name == "$ref" || known == keywords().end() || known->annotation) continue;
            within(name, [&] { refuse(fmt::format("\"{}\" may not stand beside \"$ref\": use \"allOf\"", name)); });
        }
    }

    // One for each keyword.

    void type(Node& node, const Json& value) {
        const Json names = value.is_string() ? Json::array({value}) : value;
        std::vector<Type> types;
        if (!names.is_array() || names.empty()) return refuse("expected a type, or a list of types");
        for (const Json& name : names) {
            const auto known =
                name.is_string() ? std::ranges::find(kTypes, name.get_ref<const std::string&>()) : kTypes.end();
            if (known == kTypes.end()) {
                std::vector<std::string> words(kTypes.begin(), kTypes.end());
                return refuse(
                    fmt::format("there is no type {}{}", wire::json_text(name),
                                name.is_string() ? suggestion(name.get_ref<const std::string&>(), words) : ""));
            }
            types.push_back(static_cast<Type>(known - kTypes.begin()));
        }
        node.types = std::move(types);
    }

    void enumeration(Node& node, const Json& value) {
        if (!value.is_array() || value.empty()) return refuse("expected a list of values");
        node.values = value.get<std::vector<Json>>();
    }
    void constant(Node& node, const Json& value) { node.constant = value; }

    template <std::optional<Json> Node::* kMember>
    void number(Node& node, const Json& value) {
        if (!value.is_number()) return refuse("expected a number");
        node.*kMember = value;
    }
    void multiple_of(Node& node, const Json& value) {
        if (!value.is_number() || order_of_values(value, Json(0)) <= 0) return refuse("expected a number above 0");
        node.multiple_of = value;
    }

    template <std::optional<std::size_t> Node::* kMember>
    void count(Node& node, const Json& value) {
        const WideNumber number = value.is_number() ? wide_number(value) : WideNumber{};
        if (!number.whole || number.integer < 0 || number.integer > std::numeric_limits<std::int64_t>::max())
            return refuse("expected a whole number of at least 0");
        node.*kMember = static_cast<std::size_t>(number.integer);
    }

    void unique_items(Node& node, const Json& value) {
        if (!value.is_boolean()) return refuse("expected true or false");
        node.unique_items = value.get<bool>();
    }

    Pattern compiled(const std::string& text) {
        if (text.size() > kPatternBytes) {
            refuse(fmt::format("a pattern has at most {} bytes, and this one has {}", kPatternBytes, text.size()));
            return nullptr;
        }
        re2::RE2::Options options;
        options.set_log_errors(false);
        options.set_max_mem(kPatternMemory);
        auto pattern = std::make_shared<const re2::RE2>(text, options);
        if (pattern->ok()) return pattern;
        refuse(fmt::format("RE2 does not take this pattern: {}", pattern->error()));
        return nullptr;
    }
    void pattern(Node& node, const Json& value) {
        if (!value.is_string()) return refuse("expected a regular expression");
        node.pattern = compiled(value.get<std::string>());
    }

    void required(Node& node, const Json& value) {
        if (!value.is_array()) return refuse("expected a list of names");
        for (const Json& name : value) {
            if (!name.is_string()) return refuse("expected a list of names");
            node.required.push_back(name.get<std::string>());
        }
        std::set<std::string> names(node.required.begin(), node.required.end());
        if (names.size() != node.required.size()) refuse("a name stands here twice");
    }

    template <std::optional<NodeId> Node::* kMember>
    void one(Node& node, const Json& value) {
        node.*kMember = this->node(value);
    }

    std::vector<NodeId> list(const Json& schemas) {
        std::vector<NodeId> ids;
        for (std::size_t i = 0; i < schemas.size(); ++i)
            ids.push_back(within(std::to_string(i), [&] { return node(schemas[i]); }));
        return ids;
    }
    template <std::vector<NodeId> Node::* kMember>
    void several(Node& node, const Json& value) {
        if (!value.is_array() || value.empty()) return refuse("expected a list of schemas");
        node.*kMember = list(value);
    }
    void items(Node& node, const Json& value) {
        if (value.is_array() && value.empty()) return refuse("expected a schema, or a list of schemas");
        if (value.is_array())
            node.tuple = list(value);
        else
            node.items = this->node(value);
    }

    template <class Keep>
    void named(const Json& schemas, Keep keep) {
        if (!schemas.is_object()) return refuse("expected an object of schemas");
        for (const auto& entry : schemas.get_ref<const Json::object_t&>())
            within(entry.first, [&] { keep(entry.first, entry.second); });
    }
    void properties(Node& node, const Json& value) {
        named(value,
              [&](const std::string& name, const Json& schema) { node.properties.emplace(name, this->node(schema)); });
    }
    void pattern_properties(Node& node, const Json& value) {
        named(value, [&](const std::string& name, const Json& schema) {
            if (auto pattern = compiled(name))
                node.pattern_properties.emplace_back(std::move(pattern), this->node(schema));
        });
    }
    void definitions(Node&, const Json& value) {
        named(value, [&](const std::string&, const Json& schema) { (void)this->node(schema); });
    }

    void reference(Node&, const Json& value) {
        const auto pointer = value.is_string() ? local_pointer(value.get_ref<const std::string&>()) : std::nullopt;
        if (!pointer) return refuse("expected a reference within the schema, such as \"#/definitions/name\"");
        // The node of this keyword is the last that was begun and is not read yet: it stands where the keyword does.
        references_.push_back({place_, place_.substr(0, place_.size() - token("$ref").size()), *pointer});
    }

    void id(Node&, const Json& value) {
        if (!value.is_string()) return refuse("expected a URI");
        if (place_ != "/$id") refuse("may stand at the root only: below, it would change what a \"$ref\" refers to");
    }
    void text(Node&, const Json& value) {
        if (!value.is_string()) refuse("expected a text");
    }
    void anything(Node&, const Json&) {}
    void examples(Node&, const Json& value) {
        if (!value.is_array()) refuse("expected a list");
    }

    static const std::vector<Keyword>& keywords() {
        static const std::vector<Keyword> kKeywords{
            {"$comment", &Loader::text, true},
            {"$id", &Loader::id, true},
            {"$ref", &Loader::reference},
            {"$schema", &Loader::text, true},
            {"additionalItems", &Loader::one<&Node::additional_items>},
            {"additionalProperties", &Loader::one<&Node::additional_properties>},
            {"allOf", &Loader::several<&Node::all_of>},
            {"anyOf", &Loader::several<&Node::any_of>},
            {"const", &Loader::constant},
            {"default", &Loader::anything, true},
            {"definitions", &Loader::definitions, true},
            {"description", &Loader::text, true},
            {"else", &Loader::one<&Node::alternative>},
            {"enum", &Loader::enumeration},
            {"examples", &Loader::examples, true},
            {"exclusiveMaximum", &Loader::number<&Node::exclusive_maximum>},
            {"exclusiveMinimum", &Loader::number<&Node::exclusive_minimum>},
            {"format", &Loader::text, true},
            {"if", &Loader::one<&Node::condition>},
            {"items", &Loader::items},
            {"maxItems", &Loader::count<&Node::max_items>},
            {"maxLength", &Loader::count<&Node::max_length>},
            {"maxProperties", &Loader::count<&Node::max_properties>},
            {"maximum", &Loader::number<&Node::maximum>},
            {"minItems", &Loader::count<&Node::min_items>},
            {"minLength", &Loader::count<&Node::min_length>},
            {"minProperties", &Loader::count<&Node::min_properties>},
            {"minimum", &Loader::number<&Node::minimum>},
            {"multipleOf", &Loader::multiple_of},
            {"not", &Loader::one<&Node::negated>},
            {"oneOf", &Loader::several<&Node::one_of>},
            {"pattern", &Loader::pattern},
            {"patternProperties", &Loader::pattern_properties},
            {"properties", &Loader::properties},
            {"required", &Loader::required},
            {"then", &Loader::one<&Node::consequence>},
            {"title", &Loader::text, true},
            {"type", &Loader::type},
            {"uniqueItems", &Loader::unique_items}};
        return kKeywords;
    }

    void resolve_references() {
        for (const Reference& reference : references_) {
            const auto target = places_.find(reference.target);
            if (target == places_.end())
                mistakes_.push_back({reference.place, fmt::format("there is no schema at \"#{}\"", reference.target)});
            else
                program_.nodes[places_.at(reference.node)].reference = target->second;
        }
    }

    struct Reference {
        std::string place;   // of the keyword
        std::string node;    // of the schema that it stands in
        std::string target;  // as a JSON pointer
    };

    Program program_;
    std::string place_;
    bool too_many_ = false;
    std::map<std::string, NodeId> places_;
    std::vector<Reference> references_;
    std::vector<SchemaMistake> mistakes_;
};

}  // namespace

tl::expected<Program, std::vector<SchemaMistake>> loaded(const Json& schema, const SchemaLimits& limits) {
    return Loader(limits).load(schema);
}

}  // namespace lockstep::engine::schema
