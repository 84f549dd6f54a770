#include "prod/ctl/job_document.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/wire/json_text.h"
#include "prod/ctl/text.h"

namespace lockstep::prod {

namespace {

using nlohmann::json;

enum class Form : std::uint8_t { text, number, time, flag, document };

struct FieldForm {
    std::string_view name;
    Form form;
};

constexpr std::array<FieldForm, 23> kFieldForms{{
    {"attempts", Form::number},
    {"ls_dispatch", Form::number},
    {"ls_dispatches", Form::number},
    {"ls_input_misses", Form::number},
    {"ls_stream_floor", Form::number},
    {"ls_waits_limit", Form::number},
    {"updated_at", Form::time},
    {"deadline_unix", Form::time},
    {"safety_checked_at", Form::time},
    {"approval_at", Form::time},
    {"ls_next_attempt_at", Form::time},
    {"ls_waits_since", Form::time},
    {"safety_approval_required", Form::flag},
    {"ls_published", Form::flag},
    {"ls_request_lost", Form::flag},
    {"ls_label_before_question", Form::flag},
    {"ls_retryable", Form::flag},
    {"risk_tags", Form::document},
    {"requires", Form::document},
    {"labels", Form::document},
    {"safety_constraints", Form::document},
    {"safety_remediations", Form::document},
    {"output_safety", Form::document},
}};

Form form_of(std::string_view name) {
    for (const FieldForm& field : kFieldForms)
        if (field.name == name) return field.form;
    return Form::text;
}

json number_or_text(const std::string& text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return text;
    return number;
}

json document_or_text(const std::string& text) {
    json document = engine::wire::parse_bounded(text);
    return document.is_discarded() ? json(text) : document;
}

json value_of(std::string_view name, const std::string& text) {
    switch (form_of(name)) {
        case Form::number: return number_or_text(text);
        case Form::time: return time_document(text);
        case Form::flag: return text == "true" || text == "1" ? json(true) : json(text);
        case Form::document: return document_or_text(text);
        default: return text;
    }
}

}  // namespace

json time_document(const std::string& micros) { return micros.empty() ? json() : json(micros_as_time(micros)); }

json job_document(const std::string& job, const std::map<std::string, std::string>& fields,
                  const std::vector<std::string>& events) {
    json document{{"job_id", job}, {"events", json::array()}};
    for (const auto& event : events) {
        const auto bar = event.find('|');
        if (bar != std::string::npos)
            document["events"].push_back(
                {{"at", time_document(event.substr(0, bar))}, {"state", event.substr(bar + 1)}});
    }
    for (const auto& [name, text] : fields)
        document[name == "deadline_unix" ? "deadline" : name] = value_of(name, text);
    return document;
}

}  // namespace lockstep::prod
