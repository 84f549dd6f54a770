#include "engine/wire/plain_json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::engine::wire {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// Deeper than any message of the protocol, and less than protobuf allows.
constexpr int kDepthMax = 16;
/// Of one map: they are held against each other one by one.
constexpr std::size_t kKeysMax = 32;

bool is_plain_text(const FieldDescriptor* field) { return field->type() == FieldDescriptor::TYPE_STRING; }

/// Null where there is none of that name.
const FieldDescriptor* field_of(const Descriptor* type, std::string_view json_name) {
    for (int i = 0; i < type->field_count(); ++i)
        if (type->field(i)->json_name() == json_name) return type->field(i);
    return nullptr;
}

/// Each function reads one thing, with the space before it, and returns false where something else stands there.
class PlainReader {
public:
    explicit PlainReader(std::string_view text) : left_(text) {}

    bool document(Message& message) {
        if (!object(message, 0)) return false;
        skip_space();
        return left_.empty();
    }

private:
    bool object(Message& message, int depth) {
        const Descriptor* type = message.GetDescriptor();
        std::uint64_t seen = 0;
        if (depth > kDepthMax || type->field_count() > 64) return false;
        // Types of protobuf's own have JSON forms of their own.
        if (type->file()->package() == "google.protobuf") return false;
        return members([&](std::string_view name) {
            const FieldDescriptor* field = field_of(type, name);
            if (field == nullptr) return false;
            const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(field->index());
            if ((seen & bit) != 0) return false;
            seen |= bit;
            if (field->is_map()) return map(message, field);
            if (field->is_repeated()) return list(message, field);
            return single(message, field, depth);
        });
    }

    bool single(Message& message, const FieldDescriptor* field, int depth) {
        const auto* reflection = message.GetReflection();
        const auto* alternatives = field->real_containing_oneof();
        if (alternatives != nullptr && reflection->HasOneof(message, alternatives)) return false;
        switch (field->cpp_type()) {
            case FieldDescriptor::CPPTYPE_INT32: {
                std::int32_t value = 0;
                skip_space();
                if (!integer(value)) return false;
                reflection->SetInt32(&message, field, value);
                return true;
            }
            case FieldDescriptor::CPPTYPE_INT64: {
                std::int64_t value = 0;
                if (!take('"') || !integer(value) || !follows('"')) return false;
                reflection->SetInt64(&message, field, value);
                return true;
            }
            case FieldDescriptor::CPPTYPE_BOOL: {
                const bool value = word("true");
                if (!value && !word("false")) return false;
                reflection->SetBool(&message, field, value);
                return true;
            }
            case FieldDescriptor::CPPTYPE_ENUM: {
                std::string_view name;
                if (!text(name)) return false;
                const auto* value = field->enum_type()->FindValueByName(std::string(name));
                if (value == nullptr) return false;
                reflection->SetEnum(&message, field, value);
                return true;
            }
            case FieldDescriptor::CPPTYPE_STRING: {
                std::string_view value;
                if (!is_plain_text(field) || !text(value)) return false;
                if (!value.empty() || field->has_presence()) reflection->SetString(&message, field, std::string(value));
                return true;
            }
            case FieldDescriptor::CPPTYPE_MESSAGE:
                if (word("null")) return alternatives == nullptr;
                return object(*reflection->MutableMessage(&message, field), depth + 1);
            default: return false;
        }
    }

    bool list(Message& message, const FieldDescriptor* field) {
        if (!is_plain_text(field) || !take('[')) return false;
        if (take(']')) return true;
        do {
            std::string_view value;
            if (!text(value)) return false;
            message.GetReflection()->AddString(&message, field, std::string(value));
        } while (take(','));
        return take(']');
    }

    bool map(Message& message, const FieldDescriptor* field) {
        const FieldDescriptor* key = field->message_type()->map_key();
        const FieldDescriptor* value = field->message_type()->map_value();
        if (!is_plain_text(key) || !is_plain_text(value)) return false;
        std::vector<std::string_view> names;
        return members([&](std::string_view name) {
            std::string_view content;
            if (!text(content) || names.size() == kKeysMax || std::ranges::find(names, name) != names.end())
                return false;
            names.push_back(name);
            Message* entry = message.GetReflection()->AddMessage(&message, field);
            entry->GetReflection()->SetString(entry, key, std::string(name));
            entry->GetReflection()->SetString(entry, value, std::string(content));
            return true;
        });
    }

    /// Calls `member(name)` for each, which reads its value.
    template <class Member>
    bool members(Member member) {
        if (!take('{')) return false;
        if (take('}')) return true;
        do {
            std::string_view name;
            if (!text(name) || !take(':') || !member(name)) return false;
        } while (take(','));
        return take('}');
    }

    bool text(std::string_view& value) {
        if (!take('"')) return false;
        const auto end = std::ranges::find_if(
            left_, [](char letter) { return letter < ' ' || letter > '~' || letter == '"' || letter == '\\'; });
        value = left_.substr(0, static_cast<std::size_t>(end - left_.begin()));
        left_.remove_prefix(value.size());
        return follows('"');
    }

    /// Right here: within quotes protobuf takes no space. What comes after it tells whether the number ends there.
    template <class Integer>
    bool integer(Integer& value) {
        const bool negative = left_.starts_with('-');
        const std::string_view digits = left_.substr(negative ? 1 : 0);
        // Nothing, zeros in front, and a zero with a sign.
        if (digits.empty() || digits[0] < '0' || digits[0] > '9') return false;
        if (digits[0] == '0' && (negative || (digits.size() > 1 && digits[1] >= '0' && digits[1] <= '9'))) return false;
        const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), value);
        left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
        return error == std::errc{};
    }

    bool word(std::string_view expected) {
        skip_space();
        if (!left_.starts_with(expected)) return false;
        left_.remove_prefix(expected.size());
        return true;
    }

    bool take(char expected) {
        skip_space();
        return follows(expected);
    }

    bool follows(char expected) {
        if (!left_.starts_with(expected)) return false;
        left_.remove_prefix(1);
        return true;
    }

    void skip_space() {
        while (!left_.empty() && (left_[0] == ' ' || left_[0] == '\n' || left_[0] == '\t' || left_[0] == '\r'))
            left_.remove_prefix(1);
    }

    std::string_view left_;
};

}  // namespace

bool read_plain_json(std::string_view text, Message& message) { return PlainReader(text).document(message); }

}  // namespace lockstep::engine::wire
