# What engine/ needs. Installed with it: whoever links it needs the same.

find_dependency(PkgConfig)
find_dependency(Threads)
find_dependency(Protobuf MODULE)  # the Debian package has no usable CONFIG mode
lockstep_dependency(protobuf protobuf::libprotobuf Threads::Threads)

find_dependency(fmt CONFIG)
lockstep_dependency(fmt fmt::fmt)

find_dependency(nlohmann_json CONFIG)
lockstep_dependency(json nlohmann_json::nlohmann_json)

find_dependency(tl-expected CONFIG)
lockstep_dependency(expected tl::expected)

find_dependency(OpenSSL)
lockstep_dependency(crypto OpenSSL::Crypto)

lockstep_pkgconfig(re2 re2)
lockstep_pkgconfig(xxhash libxxhash)
