#include "prod/ctl/command_line.h"

#include <fmt/core.h>
#include <unistd.h>

#include <iostream>
#include <iterator>

#include "engine/config/tunables.h"
#include "prod/config/yaml.h"

namespace lockstep::prod {

namespace {

constexpr std::size_t kTextMax = 64U << 20U;

}  // namespace

engine::Duration span(const char* option, const std::string& text, engine::Duration otherwise) {
    if (text.empty()) return otherwise;
    const auto parsed = engine::parse_duration(text);
    if (!parsed) refuse(fmt::format("{}: {}", option, parsed.error()));
    return *parsed;
}

std::string text_from(const std::string& file) {
    if (file == "-") return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
    auto text = read_file(file, kTextMax);
    if (!text) refuse(text.error());
    return std::move(*text);
}

std::string user_name() {
    const char* user = getlogin();
    return user != nullptr ? user : "operator";
}

}  // namespace lockstep::prod
