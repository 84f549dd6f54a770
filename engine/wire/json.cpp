#include "engine/wire/json.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/time_util.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "engine/wire/json_text.h"
#include "engine/wire/plain_json.h"

namespace lockstep::engine::wire {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

/// Whether the text is its own form within quotes.
bool is_plain(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; });
}

void append_quoted(std::string& out, const std::string& text) {
    if (is_plain(text)) {
        out += '"';
        out += text;
        out += '"';
    } else {
        out += json_text(nlohmann::json(text));
    }
}

std::string base64(const std::string& bytes) {
    std::string text(4 * ((bytes.size() + 2) / 3), '\0');  // its own terminator takes the one that OpenSSL writes
    EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), reinterpret_cast<const unsigned char*>(bytes.data()),
                    static_cast<int>(bytes.size()));
    return text;
}

std::string real(auto value) {
    if (std::isnan(value)) return "\"NaN\"";
    if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    return fmt::format("{}", value);  // the shortest text that reads back as the same number
}

class Writer {
public:
    explicit Writer(Unpopulated unpopulated) : unpopulated_(unpopulated) {}

    void message(const Message& message) {
        // The only type of the protocol with a JSON form of its own.
        if (const auto* time = google::protobuf::DynamicCastToGenerated<google::protobuf::Timestamp>(&message)) {
            append_quoted(out_, google::protobuf::util::TimeUtil::ToString(*time));
            return;
        }
        out_ += '{';
        bool first = true;
        for (const FieldDescriptor* field : fields_of(message)) {
            if (!std::exchange(first, false)) out_ += ',';
            append_quoted(out_, field->json_name());
            out_ += ':';
            if (field->is_map()) {
                map(message, field);
            } else if (field->is_repeated()) {
                list(message, field);
            } else {
                single(message, field);
            }
        }
        out_ += '}';
    }

    [[nodiscard]] std::string take() && { return std::move(out_); }

private:
    [[nodiscard]] std::vector<const FieldDescriptor*> fields_of(const Message& message) const {
        std::vector<const FieldDescriptor*> fields;
        if (unpopulated_ == Unpopulated::omit) {
            message.GetReflection()->ListFields(message, &fields);
        } else {
            const auto* type = message.GetDescriptor();
            for (int i = 0; i < type->field_count(); ++i) {
                const FieldDescriptor* field = type->field(i);
                const bool alternative = field->real_containing_oneof() != nullptr;
                if (!alternative || message.GetReflection()->HasField(message, field)) fields.push_back(field);
            }
        }
        std::ranges::sort(fields, {},
                          [](const FieldDescriptor* field) { return std::string_view(field->json_name()); });
        return fields;
    }

    void map(const Message& message, const FieldDescriptor* field) {
        const Reflection* reflection = message.GetReflection();
        std::map<std::string, const Message*> sorted;
        for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
            const Message& entry = reflection->GetRepeatedMessage(message, field, i);
            sorted.emplace(key_of(entry), &entry);
        }
        out_ += '{';
        bool first = true;
        for (const auto& [key, entry] : sorted) {
            if (!std::exchange(first, false)) out_ += ',';
            append_quoted(out_, key);
            out_ += ':';
            single(*entry, entry->GetDescriptor()->map_value());
        }
        out_ += '}';
    }

    static std::string key_of(const Message& entry) {
        const FieldDescriptor* key = entry.GetDescriptor()->map_key();
        if (key->cpp_type() == FieldDescriptor::CPPTYPE_STRING) return entry.GetReflection()->GetString(entry, key);
        // Numbers and booleans are spelt as values are, within quotes.
        Writer writer(Unpopulated::emit);
        writer.single(entry, key);
        std::string text = std::move(writer).take();
        std::erase(text, '"');
        return text;
    }

    void list(const Message& message, const FieldDescriptor* field) {
        const Reflection* reflection = message.GetReflection();
        out_ += '[';
        for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
            if (i > 0) out_ += ',';
            switch (field->cpp_type()) {
                case FieldDescriptor::CPPTYPE_INT32: number(reflection->GetRepeatedInt32(message, field, i)); break;
                case FieldDescriptor::CPPTYPE_UINT32: number(reflection->GetRepeatedUInt32(message, field, i)); break;
                case FieldDescriptor::CPPTYPE_INT64: wide(reflection->GetRepeatedInt64(message, field, i)); break;
                case FieldDescriptor::CPPTYPE_UINT64: wide(reflection->GetRepeatedUInt64(message, field, i)); break;
                case FieldDescriptor::CPPTYPE_FLOAT:
                    out_ += real(reflection->GetRepeatedFloat(message, field, i));
                    break;
                case FieldDescriptor::CPPTYPE_DOUBLE:
                    out_ += real(reflection->GetRepeatedDouble(message, field, i));
                    break;
                case FieldDescriptor::CPPTYPE_BOOL: boolean(reflection->GetRepeatedBool(message, field, i)); break;
                case FieldDescriptor::CPPTYPE_ENUM:
                    enumerator(field, reflection->GetRepeatedEnumValue(message, field, i));
                    break;
                case FieldDescriptor::CPPTYPE_STRING:
                    text(field, reflection->GetRepeatedString(message, field, i));
                    break;
                case FieldDescriptor::CPPTYPE_MESSAGE:
                    this->message(reflection->GetRepeatedMessage(message, field, i));
                    break;
            }
        }
        out_ += ']';
    }

    void single(const Message& message, const FieldDescriptor* field) {
        const Reflection* reflection = message.GetReflection();
        switch (field->cpp_type()) {
            case FieldDescriptor::CPPTYPE_INT32: number(reflection->GetInt32(message, field)); break;
            case FieldDescriptor::CPPTYPE_UINT32: number(reflection->GetUInt32(message, field)); break;
            case FieldDescriptor::CPPTYPE_INT64: wide(reflection->GetInt64(message, field)); break;
            case FieldDescriptor::CPPTYPE_UINT64: wide(reflection->GetUInt64(message, field)); break;
            case FieldDescriptor::CPPTYPE_FLOAT: out_ += real(reflection->GetFloat(message, field)); break;
            case FieldDescriptor::CPPTYPE_DOUBLE: out_ += real(reflection->GetDouble(message, field)); break;
            case FieldDescriptor::CPPTYPE_BOOL: boolean(reflection->GetBool(message, field)); break;
            case FieldDescriptor::CPPTYPE_ENUM: enumerator(field, reflection->GetEnumValue(message, field)); break;
            case FieldDescriptor::CPPTYPE_STRING: text(field, reflection->GetString(message, field)); break;
            case FieldDescriptor::CPPTYPE_MESSAGE:
                if (reflection->HasField(message, field)) {
                    this->message(reflection->GetMessage(message, field));
                } else {
                    out_ += "null";
                }
                break;
        }
    }

    void number(auto value) { fmt::format_to(std::back_inserter(out_), "{}", value); }
    /// A double holds no 64-bit integer, and most JSON readers know only doubles.
    void wide(auto value) { fmt::format_to(std::back_inserter(out_), "\"{}\"", value); }
    void boolean(bool value) { out_ += value ? "true" : "false"; }

    void enumerator(const FieldDescriptor* field, int value) {
        // Of two names for one value this finds the one declared first, as every implementation of protobuf does.
        const auto* known = field->enum_type()->FindValueByNumber(value);
        if (known != nullptr) {
            append_quoted(out_, known->name());
        } else {
            number(value);
        }
    }

    void text(const FieldDescriptor* field, const std::string& value) {
        if (field->type() == FieldDescriptor::TYPE_BYTES)
            append_quoted(out_, base64(value));
        else
            append_quoted(out_, value);
    }

    Unpopulated unpopulated_;
    std::string out_;
};

}  // namespace

std::string to_json(const Message& message, Unpopulated unpopulated) {
    Writer writer(unpopulated);
    writer.message(message);
    return std::move(writer).take();
}

tl::expected<void, JsonError> parse_json(std::string_view text, Message& message) {
    message.Clear();
    if (read_plain_json(text, message)) return {};
    message.Clear();
    google::protobuf::util::JsonParseOptions strict;
    strict.ignore_unknown_fields = false;
    strict.case_insensitive_enum_parsing = false;
    const auto status = google::protobuf::util::JsonStringToMessage({text.data(), text.size()}, &message, strict);
    if (!status.ok()) {
        message.Clear();
        return tl::unexpected(JsonError{status.ToString()});
    }
    return {};
}

}  // namespace lockstep::engine::wire
