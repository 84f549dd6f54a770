#include "sim/scenario/message_fields.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <nlohmann/json.hpp>

#include "engine/config/nearest.h"
#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "sim/scenario/read.h"

namespace lockstep::sim::detail {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using nlohmann::json;

/// By either of the names that protobuf's JSON form takes.
const FieldDescriptor* field_named(const Descriptor& type, std::string_view name) {
    for (int i = 0; i < type.field_count(); ++i) {
        const FieldDescriptor* field = type.field(i);
        if (field->name() == name || field->json_name() == name) return field;
    }
    return nullptr;
}

std::string no_such_field(const Descriptor& type, std::string_view name) {
    std::vector<std::string> known;
    for (int i = 0; i < type.field_count(); ++i) known.emplace_back(type.field(i)->name());
    return fmt::format("a {} has no field \"{}\"{}", std::string_view(type.name()), name,
                       engine::suggestion(name, known));
}

bool is_message_of_ours(const FieldDescriptor& field) {
    return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field.is_map() &&
           !field.message_type()->full_name().starts_with("google.protobuf.");
}

}  // namespace

bool refuse_unknown_fields(const json& object, const Descriptor& type, const std::string& pointer,
                           std::vector<Finding>& findings) {
    if (!object.is_object()) return false;
    bool refused = false;
    for (const auto& [name, value] : object.items()) {
        const FieldDescriptor* field = field_named(type, name);
        if (field == nullptr) {
            findings.push_back({child(pointer, name), no_such_field(type, name), false});
            refused = true;
        } else if (is_message_of_ours(*field)) {
            refused = refuse_unknown_fields(value, *field->message_type(), child(pointer, name), findings) || refused;
        }
    }
    return refused;
}

std::string complaint_about_field(std::string_view path) {
    const Descriptor* type = cap::BusPacket::descriptor();
    while (true) {
        const auto dot = path.find('.');
        const FieldDescriptor* field = field_named(*type, path.substr(0, dot));
        if (field == nullptr) return no_such_field(*type, path.substr(0, dot));
        const bool last = dot == std::string_view::npos;
        if (field->is_map())
            return last ? fmt::format("expected a key of {} after a dot", std::string_view(field->name())) : "";
        if (field->is_repeated())
            return fmt::format("{} is a list, which has no text", std::string_view(field->name()));
        if (!is_message_of_ours(*field))
            return last ? "" : fmt::format("{} has no fields of its own", std::string_view(field->name()));
        if (last) return fmt::format("expected a field of {} after a dot", std::string_view(field->name()));
        type = field->message_type();
        path.remove_prefix(dot + 1);
    }
}

std::string field_text(const json& packet, std::string_view path) {
    const Descriptor* type = cap::BusPacket::descriptor();
    const json* value = &packet;
    while (type != nullptr) {
        const auto dot = path.find('.');
        const FieldDescriptor* field = field_named(*type, path.substr(0, dot));
        if (field == nullptr) return {};
        value = member(*value, std::string(field->json_name()));
        if (value == nullptr) return {};
        const std::string_view rest = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
        if (field->is_map()) {
            value = member(*value, rest);
            break;
        }
        type = is_message_of_ours(*field) ? field->message_type() : nullptr;
        path = rest;
    }
    if (value == nullptr) return {};
    return value->is_string() ? value->get<std::string>() : engine::wire::json_text(*value);
}

}  // namespace lockstep::sim::detail
