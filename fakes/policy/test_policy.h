// Vocabulary of the policy tests: policies and requests as JSON text.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "fakes/policy/evaluator.h"
#include "fakes/policy/parse.h"

namespace lockstep::fakes::policy {

inline Document document_of(std::string_view text) {
    auto document = parse_document(nlohmann::json::parse(text));
    if (!document) {
        for (const auto& [path, message] : document.error()) ADD_FAILURE() << path << ": " << message;
        return {};
    }
    return std::move(*document);
}

inline Evaluator evaluator_of(std::string_view text) { return Evaluator(document_of(text), "snap"); }

template <class M>
M message_of(std::string_view json) {
    auto message = engine::wire::from_json<M>(json);
    if (!message) ADD_FAILURE() << message.error().detail << " in " << json;
    return message.value_or(M());
}

inline cap::PolicyCheckRequest request_of(std::string_view json) { return message_of<cap::PolicyCheckRequest>(json); }

inline constexpr engine::WallTime kNow{std::chrono::seconds{1'767'225'600}};

}  // namespace lockstep::fakes::policy
