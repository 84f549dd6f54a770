// cells.yaml: the cells of a deployment, how to reach the NATS of each, and which tenants belong to which.
//
//   cells:
//     east: {nats: "nats://10.0.1.5:4222"}
//     west:
//       nats: tls://10.0.2.5:4222
//       username: front                            # with password_file; or creds, token_file, nkey_file
//       password_file: /etc/lockstep/west-password
//       tls_ca: /etc/lockstep/ca.pem               # tls_cert, tls_key, tls_server_name
//     big: {nats: "nats://10.0.3.5:4222", dedicated: true}   # only for tenants that are named
//   tenants:
//     acme: big
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "prod/front/cell_map.h"
#include "prod/nats/nats_options.h"

namespace lockstep::prod {

struct CellAddress {
    std::string name;  // 1 to 32 of a-z, 0-9 and -: it is a part of subjects, durables and labels
    NatsOptions nats;
};

struct CellsFile {
    std::vector<CellAddress> cells;  // in the order of their names
    CellMap map;
};

/// What holds for every cell, and is not the file's to say.
struct CellsFileRules {
    NatsOptions base;         // what a cell's connection begins with: lives and replicas of streams
    bool only_tls = false;    // production mode
    std::string front_url{};  // the NATS of the front itself, which no cell may have
};

/// The error has a line `file:line: what` for each mistake. Files with secrets are read, and named where they cannot be.
[[nodiscard]] tl::expected<CellsFile, std::string> parse_cells_file(const std::string& text, const std::string& file,
                                                                    const CellsFileRules& rules);

}  // namespace lockstep::prod
