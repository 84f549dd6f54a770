#include "sim/rules/outputs.h"

#include <algorithm>

#include "sim/rules/outputs.txt.h"

namespace lockstep::sim {

std::vector<RegisteredOutput> read_register(std::string_view text) {
    constexpr std::string_view kOpaque = "opaque: ";
    std::vector<RegisteredOutput> outputs;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const std::size_t tab = line.find('\t');
        if (tab == std::string_view::npos) continue;
        RegisteredOutput output{.name = line.substr(0, tab), .judged = line.substr(tab + 1)};
        if (output.judged.starts_with(kOpaque)) {
            output.opaque = output.judged.substr(kOpaque.size());
            output.judged = {};
        }
        outputs.push_back(output);
    }
    std::ranges::sort(outputs, {}, &RegisteredOutput::name);
    return outputs;
}

bool RegisteredOutput::is_noticed(std::string_view how) const {
    const std::size_t at = judged.find(std::string(how) + '=');
    return at != std::string_view::npos && judged.substr(at + how.size() + 1, 1) != "-";
}

std::span<const RegisteredOutput> registered_outputs() {
    static const std::vector<RegisteredOutput> kRead = read_register(kOutputs);
    return kRead;
}

const RegisteredOutput* find_output(std::string_view name) {
    const auto outputs = registered_outputs();
    const auto by_name = [outputs](std::string_view wanted) {
        const auto found = std::ranges::lower_bound(outputs, wanted, {}, &RegisteredOutput::name);
        return found == outputs.end() || found->name != wanted ? nullptr : &*found;
    };
    const RegisteredOutput* found = by_name(name);
    for (std::size_t end = name.find_last_of(". "); found == nullptr && end != std::string_view::npos && end > 0;
         end = name.find_last_of(". ", end - 1))
        found = by_name(std::string(name.substr(0, end + 1)) + '*');
    return found;
}

}  // namespace lockstep::sim
