#!/bin/sh
# tarball.sh BUILD OUT: the simulator as it runs on any Linux with the C library of Debian 12 or a later one, without installing anything:
# OUT/lockstep-VERSION-linux-ARCH.tar.gz, with a checksum beside it. In it are the program, the libraries that it was built with, manual
# pages, completions, the schemas, all documents and all scenario files.
set -eu
build=$1 out=$2
version=$("$build/bin/lockstep" --version --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["version"])')
case $(uname -m) in
  x86_64) arch=amd64 ;;
  aarch64) arch=arm64 ;;
  *) printf 'tarball.sh: no tarball is made for %s\n' "$(uname -m)" >&2; exit 2 ;;
esac
name=lockstep-$version-linux-$arch
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --component lockstep --prefix "$work/$name" --strip >/dev/null
mkdir -p "$work/$name/lib/lockstep" "$work/$name/libexec"
mv "$work/$name/bin/lockstep" "$work/$name/libexec/lockstep"
# Those of the C library belong to the machine.
ldd "$work/$name/libexec/lockstep" | awk '$2 == "=>" { print $3 }' |
  grep -Ev '/(libc|libm|libdl|libpthread|librt)\.so' | while read -r library; do cp -L "$library" "$work/$name/lib/lockstep/"; done
cat >"$work/$name/bin/lockstep" <<'PROGRAM'
#!/bin/sh
# The program with the libraries that it was built with.
here=$(dirname -- "$(readlink -f -- "$0")")
LD_LIBRARY_PATH=$here/../lib/lockstep${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec "$here/../libexec/lockstep" "$@"
PROGRAM
chmod 755 "$work/$name/bin/lockstep"
mkdir -p "$out"
tar -C "$work" --owner=0 --group=0 --sort=name -czf "$out/$name.tar.gz" "$name"
(cd "$out" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
printf '%s\n' "$out/$name.tar.gz"
