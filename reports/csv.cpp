#include "reports/csv.h"

#include "reports/text.h"

namespace lockstep::reports {

std::string csv_field(std::string_view text) {
    const std::string clean = printable(text);
    if (clean.find_first_of(",\"\r\n") == std::string::npos) return clean;
    std::string out = "\"";
    for (const char c : clean) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + "\"";
}

}  // namespace lockstep::reports
