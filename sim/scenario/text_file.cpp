#include "sim/scenario/text_file.h"

#include <fstream>
#include <ios>
#include <iterator>
#include <map>
#include <mutex>

namespace lockstep::sim {

namespace {

namespace fs = std::filesystem;

std::optional<std::string> read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in.is_open()) return {};
    try {
        // A buffer's own iterator throws where the stream would only set a flag.
        std::string text(std::istreambuf_iterator<char>(in), {});
        if (in.bad()) return {};
        return text;
    } catch (const std::ios_base::failure&) {
        return {};
    }
}

/// It gives its text once, and a command looks at a file several times.
bool is_pipe(const fs::path& path) {
    std::error_code error;
    const fs::file_type type = fs::status(path, error).type();
    return type == fs::file_type::fifo || type == fs::file_type::character;
}

}  // namespace

std::optional<std::string> text_of_file(const fs::path& named) {
    static std::mutex one_at_a_time;
    static std::map<fs::path, std::optional<std::string>> read_of_pipes;
    const fs::path path = named == kStandardInput ? fs::path("/dev/stdin") : named;
    std::error_code error;
    if (fs::is_directory(path, error)) return {};
    if (!is_pipe(path)) return read(path);
    const std::scoped_lock lock(one_at_a_time);
    const auto known = read_of_pipes.find(path);
    return known != read_of_pipes.end() ? known->second : read_of_pipes.emplace(path, read(path)).first->second;
}

}  // namespace lockstep::sim
