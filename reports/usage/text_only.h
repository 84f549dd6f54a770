// Of the sources of this folder: the check that every option begins with.
#pragma once

namespace CLI {
class Option;
}  // namespace CLI

namespace lockstep::usage {

/// Has the option refuse what is not UTF-8, and returns it.
CLI::Option* text_only(CLI::Option* option);

}  // namespace lockstep::usage
