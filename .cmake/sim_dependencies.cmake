# What fakes/, reports/ and sim/ need beyond engine/. Installed with them: whoever links them needs the same.

lockstep_pkgconfig(zlib zlib)

# The C++ build of Lua 5.1: in the plain one a script error skips C++ destructors, and CMake's FindLua51 finds
# that one.
lockstep_pkgconfig(lua lua5.1-c++)

find_dependency(yaml-cpp CONFIG)
lockstep_dependency(yaml yaml-cpp)

find_dependency(CLI11 CONFIG)
lockstep_dependency(cli11 CLI11::CLI11)

find_dependency(pugixml CONFIG)
lockstep_dependency(pugixml pugixml::pugixml)

lockstep_dependency(mustache)  # one header, which only the build of reports/ includes
