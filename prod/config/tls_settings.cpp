#include "prod/config/tls_settings.h"

#include <fmt/core.h>

namespace lockstep::prod {

TlsOptions read_tls(const Environment& environment, std::string_view prefix, std::vector<std::string>& mistakes) {
    const auto text = [&](const char* name) { return environment.get_or(fmt::format("{}{}", prefix, name), ""); };
    TlsOptions tls{.ca_file = text("CA"),
                   .certificate_file = text("CERT"),
                   .key_file = text("KEY"),
                   .server_name = text("SERVER_NAME")};
    if (tls.certificate_file.empty() != tls.key_file.empty())
        mistakes.push_back(fmt::format("{0}CERT and {0}KEY belong together: set both or none", prefix));
    return tls;
}

std::vector<std::string> tls_without_effect(const Environment& environment, std::string_view prefix,
                                            std::string_view why) {
    std::vector<std::string> said;
    for (const char* name : {"CA", "CERT", "KEY", "SERVER_NAME", "INSECURE"}) {
        const std::string variable = fmt::format("{}{}", prefix, name);
        if (environment.get(variable)) said.push_back(fmt::format("{} is set, but {}", variable, why));
    }
    return said;
}

}  // namespace lockstep::prod
