#include "sim/run/output_values.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/wire/json_text.h"

namespace lockstep::sim {

namespace pb = google::protobuf;
using nlohmann::ordered_json;

std::optional<std::int64_t> as_whole_number(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
    return number;
}

std::int64_t another(std::int64_t number) { return number + std::max<std::int64_t>(1, std::abs(number) / 1000); }

bool set_another_day(std::string& text) {
    if (text.size() < 20 || text[4] != '-' || text[10] != 'T') return false;
    text[9] = text[9] == '9' ? '1' : static_cast<char>(text[9] + 1);
    return true;
}

std::string scalar_text(const ordered_json& scalar) {
    return scalar.is_string() ? scalar.get<std::string>() : engine::wire::json_text(scalar);
}

std::string scalar_text(const FieldPlace& place) {
    const auto& reflection = *place.message.GetReflection();
    std::string text;
    pb::TextFormat::PrintFieldValueToString(place.message, &place.field, place.index, &text);
    if (place.field.cpp_type() != pb::FieldDescriptor::CPPTYPE_STRING) return text;
    return place.index < 0 ? reflection.GetString(place.message, &place.field)
                           : reflection.GetRepeatedString(place.message, &place.field, place.index);
}

void prune(ordered_json& document) {
    if (document.is_object()) {
        for (auto it = document.begin(); it != document.end();) {
            if (it->is_discarded()) {
                it = document.erase(it);
            } else {
                prune(*it);
                ++it;
            }
        }
    } else if (document.is_array()) {
        for (std::size_t i = document.size(); i-- > 0;) {
            if (document[i].is_discarded())
                document.erase(i);
            else
                prune(document[i]);
        }
    }
}

const ordered_json* member_at(const ordered_json& document, std::string_view wanted) {
    const ordered_json* found = nullptr;
    std::string path;
    const auto look = [&](std::string_view at, const ordered_json& scalar) {
        if (found == nullptr && at == wanted) found = &scalar;
    };
    visit_members(document, path, look);
    return found;
}

void set_field(const FieldPlace& place, std::string_view text) {
    auto& message = const_cast<pb::Message&>(place.message);
    const auto& reflection = *message.GetReflection();
    const auto* field = &place.field;
    const bool single = place.index < 0;
    const std::int64_t number = as_whole_number(text).value_or(0);
    const auto set = [&](auto one, auto of_list, auto value) {
        if (single)
            (reflection.*one)(&message, field, value);
        else
            (reflection.*of_list)(&message, field, place.index, value);
    };
    using R = pb::Reflection;
    switch (place.field.cpp_type()) {
        case pb::FieldDescriptor::CPPTYPE_STRING: set(&R::SetString, &R::SetRepeatedString, std::string(text)); break;
        case pb::FieldDescriptor::CPPTYPE_INT32:
            set(&R::SetInt32, &R::SetRepeatedInt32, static_cast<std::int32_t>(number));
            break;
        case pb::FieldDescriptor::CPPTYPE_INT64: set(&R::SetInt64, &R::SetRepeatedInt64, number); break;
        case pb::FieldDescriptor::CPPTYPE_UINT32:
            set(&R::SetUInt32, &R::SetRepeatedUInt32, static_cast<std::uint32_t>(number));
            break;
        case pb::FieldDescriptor::CPPTYPE_UINT64:
            set(&R::SetUInt64, &R::SetRepeatedUInt64, static_cast<std::uint64_t>(number));
            break;
        case pb::FieldDescriptor::CPPTYPE_BOOL: set(&R::SetBool, &R::SetRepeatedBool, text == "true"); break;
        case pb::FieldDescriptor::CPPTYPE_ENUM: {
            const auto* value = field->enum_type()->FindValueByName(std::string(text));
            set(&R::SetEnumValue, &R::SetRepeatedEnumValue, value == nullptr ? 0 : value->number());
            break;
        }
        case pb::FieldDescriptor::CPPTYPE_DOUBLE:
            set(&R::SetDouble, &R::SetRepeatedDouble, std::stod("0" + std::string(text)) + 1);
            break;
        case pb::FieldDescriptor::CPPTYPE_FLOAT:
            set(&R::SetFloat, &R::SetRepeatedFloat, std::stof("0" + std::string(text)) + 1);
            break;
        default: break;
    }
}

void clear_field(const FieldPlace& place) {
    auto& message = const_cast<pb::Message&>(place.message);
    if (place.index < 0) return message.GetReflection()->ClearField(&message, &place.field);
    const auto& reflection = *message.GetReflection();
    const int last = reflection.FieldSize(message, &place.field) - 1;
    if (place.index != last) reflection.SwapElements(&message, &place.field, place.index, last);
    reflection.RemoveLast(&message, &place.field);
}

}  // namespace lockstep::sim
