#!/bin/sh
# tarball_test.sh TREE FOLDER: installs the one tarball in FOLDER as the action for GitHub does, and uses it as a stranger's repository
# with ten scenario files would, of which one fails.
set -eu
tree=$(cd "$1" && pwd) tarballs=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
must() { "$@" || { printf 'failed: %s\n' "$*" >&2; exit 1; }; }
says() { grep -qF -- "$2" "$1" || { printf 'no "%s" in:\n' "$2" >&2; cat "$1" >&2; exit 1; }; }

set -- "$tarballs"/lockstep-*.tar.gz
[ $# -eq 1 ] || { printf 'expected one tarball in %s\n' "$tarballs" >&2; exit 1; }
version=$(basename "$1" | sed 's/^lockstep-//; s/-linux-.*//')
mkdir -p "$work/releases/v$version" "$work/repo/scenarios"
cp "$tarballs"/* "$work/releases/v$version"
install=$tree/.github/actions/lockstep/install.sh
must env -i PATH=/usr/bin:/bin LOCKSTEP_RELEASES="file://$work/releases" "$install" "$version" "$work/lockstep"
must env -i PATH=/usr/bin:/bin LOCKSTEP_RELEASES=file:///nowhere "$install" "$version" "$work/lockstep"  # it is there
if env -i PATH=/usr/bin:/bin LOCKSTEP_RELEASES="file://$work/releases" "$install" 9.9.9 "$work/other" 2>"$work/said"; then exit 1; fi
says "$work/said" 'is 9.9.9 a released version?'
printf x >>"$work/releases/v$version/$(basename "$1")"
if env -i PATH=/usr/bin:/bin LOCKSTEP_RELEASES="file://$work/releases" "$install" "$version" "$work/other" 2>"$work/said"; then exit 1; fi
says "$work/said" 'is not what its checksum says'

# Of the machine it takes the C library and nothing else.
LD_LIBRARY_PATH=$work/lockstep/lib/lockstep ldd "$work/lockstep/libexec/lockstep" | awk '$2 == "=>" { print $3 }' |
  grep -v "^$work/" | grep -Ev '/(libc|libm|libdl|libpthread|librt)\.so' >"$work/others" || true
[ ! -s "$work/others" ] || { printf 'it takes of the machine:\n' >&2; cat "$work/others" >&2; exit 1; }

cd "$work/repo"
lockstep() { env -i PATH="$work/lockstep/bin:/usr/bin:/bin" GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY="$work/summary.md" lockstep "$@"; }
must lockstep version >/dev/null
for n in 1 2 3 4 5 6 7 8 9 10; do must lockstep new "story-$n" >/dev/null; done
sed -i 's/"special": "SUCCEEDED"/"special": "FAILED"/' scenarios/story-7.json
code=0
lockstep run scenarios --seeds 3 --junit lockstep.xml --failures failures/ >"$work/said" || code=$?
[ $code -eq 1 ] || { printf 'expected exit code 1, got %s\n' $code >&2; exit 1; }
says "$work/said" '/repo/scenarios/story-7.json,line='
says "$work/said" 'expected job special is FAILED, got SUCCEEDED'
says "$work/said" 'FAILED: 3 of 30 runs failed. Again:'
says "$work/summary.md" 'lockstep run: FAILED'
says lockstep.xml 'failures="3"'
code=0
lockstep replay failures >"$work/said" || code=$?
[ $code -eq 1 ] || { printf 'expected exit code 1, got %s\n' $code >&2; exit 1; }
says "$work/said" 'it fails exactly as recorded'
code=0
lockstep explain scenarios/story-7.json >"$work/said" || code=$?
says "$work/said" 'The story of special'
printf 'installed %s, and understood a failure with it\n' "$(basename "$tarballs"/lockstep-*.tar.gz)"
