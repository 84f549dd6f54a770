#include "reports/markdown.h"

#include "reports/text.h"

namespace lockstep::reports {

std::string plain_markdown(std::string_view text) {
    constexpr std::string_view kMarkup = "\\`*_{}[]()#+!|~@";
    std::string out;
    for (const char c : printable(text)) {
        if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '&')
            out += "&amp;";
        else if (c == '\n' || c == '\r')
            out += ' ';
        else {
            if (kMarkup.find(c) != std::string_view::npos) out += '\\';
            out += c;
        }
    }
    return out;
}

std::string code_block(std::string_view text) {
    std::string out = "    ";
    for (const char c : printable(text)) {
        out += c;
        if (c == '\n') out += "    ";
    }
    return out + "\n";
}

}  // namespace lockstep::reports
