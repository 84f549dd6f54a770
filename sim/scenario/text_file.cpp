#include "sim/scenario/text_file.h"

#include <fstream>
#include <ios>
#include <iterator>

namespace lockstep::sim {

std::optional<std::string> text_of_file(const std::filesystem::path& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return {};
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

}  // namespace lockstep::sim
