#!/bin/sh
# check_rules.sh FOLDER: what promtool says of the alert rules there and of their tests. 77: there is no promtool.
command -v promtool >/dev/null || { echo "promtool is not installed (Debian: prometheus)"; exit 77; }
cd "$1" && promtool check rules --lint-fatal lockstep.rules.yml && promtool test rules lockstep.rules.test.yml
