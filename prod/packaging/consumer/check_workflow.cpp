// Judges a workflow file from standard input through the library: the first mistake with its place, or its steps.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include <fmt/core.h>

#include <engine/runs/definition_text.h>
#include <engine/runtime/identifiers.h>

int main() {
    const std::string text(std::istreambuf_iterator<char>(std::cin), {});
    const auto read = lockstep::engine::read_definition_text(text);
    if (!read) {
        std::printf("%s\n", read.error().front().describe("stdin").c_str());
        return 2;
    }
    std::string names;
    for (const auto& [step, _] : read->definition.steps) names += fmt::format(" {}", lockstep::engine::JobId(step));
    std::printf("%zu steps:%s\n", read->definition.steps.size(), names.c_str());
    return 0;
}
