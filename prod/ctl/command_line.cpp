#include "prod/ctl/command_line.h"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

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
    if (file != "-") {
        auto text = read_file(file, kTextMax);
        if (!text) refuse(text.error());
        return std::move(*text);
    }
    std::string text;
    std::array<char, 65'536> piece{};
    while (true) {
        const ssize_t size = ::read(STDIN_FILENO, piece.data(), piece.size());
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) refuse("standard input cannot be read: " + std::generic_category().message(errno));
        if (size == 0) return text;
        text.append(piece.data(), static_cast<std::size_t>(size));
        if (text.size() > kTextMax) refuse(fmt::format("standard input: expected at most {} bytes", kTextMax));
    }
}

std::string user_name() {
    const char* user = getlogin();
    return user != nullptr ? user : "operator";
}

}  // namespace lockstep::prod
