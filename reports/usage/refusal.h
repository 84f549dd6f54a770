// What is said of a command line that cannot be understood: the word that is wrong, what was probably meant, and where help is.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace lockstep::usage {

/// Has `app.exit(error)` name the option or the command that there is not, with the nearest one, before whatever else is wrong. Called
/// before subcommands are added, which inherit it.
void explain_refusals(CLI::App& app);

/// Takes one of these words and refuses any other with the nearest. Help and completions show them.
[[nodiscard]] CLI::Validator one_of(std::vector<std::string> words);

}  // namespace lockstep::usage
