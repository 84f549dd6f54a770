// Judges a workflow file from standard input through the library: the first mistake with its place, or how many steps it has.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include <engine/runs/definition_text.h>

int main() {
    const std::string text(std::istreambuf_iterator<char>(std::cin), {});
    const auto read = lockstep::engine::read_definition_text(text);
    if (!read) {
        std::printf("%s\n", read.error().front().describe("stdin").c_str());
        return 2;
    }
    std::printf("%zu steps\n", read->definition.steps.size());
    return 0;
}
