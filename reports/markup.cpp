#include "reports/markup.h"

#include "reports/text.h"

namespace lockstep::reports {

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : printable(text)) {
        switch (c) {
            case '<': out += "&lt;"; break;
            case '&': out += "&amp;"; break;
            case '"': out += "&quot;"; break;
            case '{': out += "&#123;"; break;
            default: out += c;
        }
    }
    return out;
}

}  // namespace lockstep::reports
