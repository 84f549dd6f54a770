#!/bin/sh
# install.sh VERSION FOLDER: the simulator of a release, into a folder whose bin/ is to be on the path. A folder that has that version
# already is left as it is. LOCKSTEP_RELEASES is the address below which releases stand, as .../v0.1.0/lockstep-0.1.0-linux-amd64.tar.gz.
set -eu
version=$1 folder=$2
if [ -x "$folder/bin/lockstep" ] && "$folder/bin/lockstep" version | grep -q "^lockstep $version"; then exit 0; fi
case $(uname -m) in
  x86_64) arch=amd64 ;;
  aarch64) arch=arm64 ;;
  *) printf 'lockstep: there is no release for %s: only for x86_64 and aarch64\n' "$(uname -m)" >&2; exit 2 ;;
esac
name=lockstep-$version-linux-$arch.tar.gz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fetch() {
  case $1 in
    file://*) cp "${1#file://}" "$2" ;;
    *) curl --fail --silent --show-error --location --retry 3 "$1" --output "$2" ;;
  esac
}
for file in "$name" "$name.sha256"; do
  fetch "$LOCKSTEP_RELEASES/v$version/$file" "$work/$file" ||
    { printf 'lockstep: %s cannot be fetched from %s: is %s a released version?\n' "$file" "$LOCKSTEP_RELEASES" "$version" >&2; exit 2; }
done
(cd "$work" && sha256sum --check --quiet "$name.sha256") ||
  { printf 'lockstep: %s is not what its checksum says\n' "$name" >&2; exit 2; }
mkdir -p "$folder"
tar -xzf "$work/$name" -C "$folder" --strip-components=1
