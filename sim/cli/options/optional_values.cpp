#include "sim/cli/options/optional_values.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "sim/explain/world_dump.h"
#include "sim/scenario/data_loss.h"

namespace lockstep::sim::cli {

namespace {

/// Whether the word after `--json` is where to write. A scenario file in its place must never be overwritten: an existing
/// file counts only when it is empty, no regular file, or an earlier document of ours.
bool is_json_target(const std::string& word) {
    namespace fs = std::filesystem;
    std::error_code error;
    if (word.empty() || word.starts_with('-') || word.ends_with('/') || fs::is_directory(word, error)) return false;
    if (!fs::exists(word, error)) return true;
    if (!fs::is_regular_file(word, error) || fs::file_size(word, error) == 0) return true;
    std::ifstream in(word, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    // A member that no scenario has, of each command that takes a file.
    constexpr std::array<std::string_view, 3> kMarks{"\"results\"", "\"variants\"", "\"oracles_without_a_mechanism\""};
    return std::ranges::any_of(kMarks, [&text](auto mark) { return text.find(mark) != std::string::npos; }) &&
           text.find("\"version\"") != std::string::npos;
}

/// Likewise for `--dump`.
bool is_dump_target(const std::string& word) {
    namespace fs = std::filesystem;
    std::error_code error;
    if (word.empty() || word.starts_with('-') || word.ends_with('/') || fs::is_directory(word, error)) return false;
    if (!fs::exists(word, error) || !fs::is_regular_file(word, error) || fs::file_size(word, error) == 0) return true;
    std::ifstream in(word, std::ios::binary);
    std::string line;
    return std::getline(in, line) && line.starts_with(kDumpMark);
}

/// The first word that is no option of the program, and no value of one; empty: there is none.
std::string_view command_in(const std::vector<std::string>& args) {
    for (std::size_t i = 0; i < args.size(); ++i) {
        if (!args[i].starts_with('-')) return args[i];
        if (args[i] == "--color") ++i;
    }
    return {};
}

}  // namespace

std::vector<std::string> with_optional_values_settled(const std::vector<std::string>& args) {
    std::vector<std::string> out;
    const std::string_view command = command_in(args);
    const bool json_to_file = command == "run" || command == "compare";
    const bool replay = command == "replay";
    const bool explore = command == "explore";
    for (std::size_t i = 0; i < args.size(); ++i) {
        if (args[i] == "--") {
            out.insert(out.end(), args.begin() + static_cast<std::ptrdiff_t>(i), args.end());
            return out;
        }
        if (explore && args[i] == "--data-loss") {
            const bool named = i + 1 < args.size() && data_loss_named(args[i + 1]);
            out.push_back("--data-loss=" + (named ? args[++i] : std::string("both")));
        } else if (replay && args[i] == "--dump") {
            const bool target = i + 1 < args.size() && is_dump_target(args[i + 1]);
            out.push_back("--dump=" + (target ? args[++i] : std::string("-")));
        } else if (!json_to_file || args[i] != "--json") {
            out.push_back(args[i]);
        } else if (i + 1 < args.size() && is_json_target(args[i + 1])) {
            out.push_back("--json=" + args[++i]);
        } else {
            out.push_back("--json=-");
        }
    }
    return out;
}

}  // namespace lockstep::sim::cli
