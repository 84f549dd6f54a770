// The members of what schedulers and workflow engines write and send, as the register of outputs names them: `workers.cpu_load` of a
// JSON document, `job_request.labels.*` of a message. What is in a list has the list's name; a name that is data is `*`.
#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/timestamp.pb.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::sim {

/// Adds one name to a path for as long as it lives.
class MemberName {
public:
    MemberName(std::string& path, std::string_view name) : path_(path), length_(path.size()) {
        if (!path.empty() && !name.empty()) path += '.';
        path += name;
    }
    ~MemberName() { path_.resize(length_); }
    MemberName(const MemberName&) = delete;
    MemberName& operator=(const MemberName&) = delete;

private:
    std::string& path_;
    std::size_t length_;
};

/// Members of JSON documents whose own members are named by users (redis-schema.md 6, workflow.md 2).
[[nodiscard]] inline bool has_free_names(std::string_view member) {
    constexpr std::array<std::string_view, 6> kFree{"labels", "env", "pools", "topics", "steps", "children"};
    return std::ranges::find(kFree, member) != kFree.end();
}

/// Those in which is whatever users like, at any depth.
[[nodiscard]] inline bool is_free(std::string_view member) {
    constexpr std::array<std::string_view, 9> kFree{"input",  "output",    "inputs", "outputs", "context",
                                                    "params", "variables", "data",   "result"};
    return std::ranges::find(kFree, member) != kFree.end();
}

/// What is left out as well.
template <class Json>
[[nodiscard]] bool says_nothing(const Json& scalar) {
    return scalar.is_null() || scalar == "" || scalar == false || scalar == 0 || scalar == "0";
}

/// Calls `visit(path, scalar)` for each scalar that says something. `Json` may be const.
template <class Json, class Visit>
void visit_members(Json& document, std::string& path, Visit& visit, std::string_view own_name = {}) {
    if (document.is_object()) {
        for (auto& member : document.items()) {
            const bool has_own_name = !has_free_names(own_name) && !is_free(own_name);
            const std::string_view name = has_own_name ? std::string_view(member.key()) : "*";
            const MemberName named(path, is_free(own_name) ? std::string_view{} : name);
            visit_members(member.value(), path, visit, is_free(own_name) ? own_name : has_own_name ? name : "");
        }
    } else if (document.is_array()) {
        for (auto& element : document) visit_members(element, path, visit, is_free(own_name) ? own_name : "");
    } else if (!says_nothing(document)) {
        visit(std::string_view(path), document);
    }
}

/// Where a field of a message stands: in a list the `index`-th, -1 elsewhere.
struct FieldPlace {
    const google::protobuf::Message& message;
    const google::protobuf::FieldDescriptor& field;
    int index = -1;
};

/// The `index`-th of a repeated message; the only one where it is -1. What is reached from a message that may be changed may be changed:
/// an entry of a map, too, of which a constant view is a copy.
[[nodiscard]] inline const google::protobuf::Message& part_of(const google::protobuf::Message& message,
                                                              const google::protobuf::FieldDescriptor& field,
                                                              int index) {
    const auto& reflection = *message.GetReflection();
    return index < 0 ? reflection.GetMessage(message, &field) : reflection.GetRepeatedMessage(message, &field, index);
}
[[nodiscard]] inline google::protobuf::Message& part_of(google::protobuf::Message& message,
                                                        const google::protobuf::FieldDescriptor& field, int index) {
    const auto& reflection = *message.GetReflection();
    return index < 0 ? *reflection.MutableMessage(&message, &field)
                     : *reflection.MutableRepeatedMessage(&message, &field, index);
}

/// Calls `visit(path, place)` for each field that is set and is no message; keys of maps are visited as `….key`. Of a time it is the seconds.
/// `Part`: Message, constant or not.
template <class Part, class Visit>
void visit_fields(Part& message, std::string& path, Visit& visit) {
    if (message.GetDescriptor() == google::protobuf::Timestamp::descriptor())
        return visit(std::string_view(path), FieldPlace{message, *message.GetDescriptor()->FindFieldByName("seconds")});
    std::vector<const google::protobuf::FieldDescriptor*> fields;
    const auto& reflection = *message.GetReflection();
    reflection.ListFields(message, &fields);
    for (const auto* field : fields) {
        const MemberName named(path, field->name());
        const bool is_message = field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE;
        const int end = field->is_repeated() ? reflection.FieldSize(message, field) : 0;
        for (int i = field->is_repeated() ? 0 : -1; i < end; ++i) {
            if (is_message)
                visit_fields(part_of(message, *field, i), path, visit);
            else
                visit(std::string_view(path), FieldPlace{message, *field, i});
        }
    }
}

}  // namespace lockstep::sim
