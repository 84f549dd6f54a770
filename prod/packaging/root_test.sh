#!/bin/sh
# K3: installs the Debian packages in a root that mmdebstrap has made, with what they depend on, runs them there, purges them, and finds
# nothing left. Run by mmdebstrap as a customize hook: root_test.sh DEBS ROOT
set -eu
debs=$1 root=$2

fail() {
    echo "root_test: $*" >&2
    exit 1
}
inside() {
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp DEBIAN_FRONTEND=noninteractive "$@"
}
as_nobody() {
    chroot --userspec=nobody:nogroup "$root" env -i PATH=/usr/bin:/bin HOME=/tmp "$@"
}

# What the image of the Dockerfile has, first: on a root that nobody can write, as its user (O16).
inside_image() {
    unshare --mount sh -c 'mount --rbind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"' sh "$root" \
        chroot --userspec=65532:65532 "$root" env -i PATH=/usr/bin:/bin "$@"
}
mkdir "$root/debs"
cp "$debs"/*.deb "$root/debs"
image=$(grep -o '/packages/[a-z-]*_\*\.deb' "$(dirname "$0")/Dockerfile" | sed 's,.*/,/debs/,' | tr '\n' ' ')
inside sh -c "apt-get install -q -y --no-install-recommends $image"
settings=$(grep -v '^#' "$root/etc/lockstep/lockstepd.env" | grep '=' | tr '\n' ' ')
# shellcheck disable=SC2086 # a word per setting
inside_image $settings sh -c '! touch /tmp/x 2>/dev/null && lockstepd --check && lockstepctl --version && lockstep-kernel --version'
# shellcheck disable=SC2086
! inside_image $settings SCHEDULER_METRICS_ADDR=127.0.0.1:1 lockstepd healthcheck || fail 'healthcheck finds a daemon where none runs'
echo "image: $(du -sxm --exclude="$root/debs" --exclude="$root/var/lib/apt/lists" --exclude="$root/var/cache" --exclude="$root/usr/share/doc" \
    --exclude="$root/usr/share/man" --exclude="$root/usr/share/locale" "$root" | cut -f 1) MB, without documents as debian:12-slim"
inside sh -c 'apt-get install -q -y --no-install-recommends /debs/lockstep*.deb'
inside sh -c 'apt-get install -q --simulate --no-install-recommends /debs/liblockstep-dev_*.deb' >/dev/null

for program in lockstep lockstepd lockstepctl lockstep-kernel lockstep-worker lockstep-rehearsal; do
    as_nobody "$program" --version
    inside test -s "/usr/share/doc/$program/copyright" || fail "$program has no copyright"
done
# As systemd does: it reads the environment as root, the program reads the rest as somebody else.
# shellcheck disable=SC2086 # a word per setting
as_nobody $settings lockstepd --check
# Without its servers it says so and ends; with those of the root a deployment of all programs does its work.
status=0
# shellcheck disable=SC2086
as_nobody $settings REDIS_URL=redis://127.0.0.1:1 LOCKSTEP_READINESS_GRACE=1s timeout 60 lockstepd || status=$?
[ "$status" -eq 1 ] || fail "lockstepd without a Redis ended with $status"
(cd "$root/tmp" && as_nobody sh -c 'cd /tmp && lockstep run --real /usr/share/lockstep/scenarios/both-worlds/jobs-run-once.json')
as_nobody sh -c 'cd /tmp && lockstep run /usr/share/lockstep/scenarios/happy-path.json'

rm -r "$root/debs"
inside apt-get purge -q -y lockstep lockstepd lockstepctl lockstep-kernel lockstep-worker lockstep-rehearsal
left=$(inside find / -xdev -not -path '/proc/*' -not -path '/var/log/*' -name '*lockstep*')
[ -z "$left" ] || fail "purging leaves: $left"
echo 'root_test: installed, used and purged; nothing is left'
