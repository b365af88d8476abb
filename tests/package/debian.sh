# For the tests of packages, sourced: a fresh Debian without a compiler in $root, in a folder $work that goes
# at the end, with all that still runs there. Exit 77: not root, or no debootstrap.
export LC_ALL=C
((EUID == 0)) || { echo "skipped: needs root for debootstrap"; exit 77; }
command -v debootstrap >/dev/null || { echo "skipped: needs debootstrap"; exit 77; }

work=$(mktemp -d /tmp/steady-package.XXXXXX)
chmod 755 "$work"
root=$work/root
end() {
    local pid path at
    for pid in /proc/[0-9]*; do # what still runs in that root: an idle database, say
        path=$(readlink "$pid/root" 2>/dev/null) && [[ $path == "$root" ]] && kill -9 "${pid#/proc/}" || true
    done
    for at in $(awk -v root="$root/" 'index($2, root) == 1 { print $2 }' /proc/mounts | sort -r); do
        umount --lazy "$at"
    done
    rm -rf --one-file-system "$work"
}
trap end EXIT
fail() { echo "$*"; exit 1; }
# quietly COMMAND…: its output is shown if it fails
quietly() {
    local code=0
    "$@" >"$work/log" 2>&1 || code=$?
    ((code == 0)) || { tail -n 20 "$work/log"; fail "exit $code: $*"; }
}
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }
as_user() { chroot --userspec=ordinary:ordinary "$root" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/home/ordinary USER=ordinary "$@"; }
clock() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(clock)" 'BEGIN { printf "%.1f s", b - a }'; }

packages() { # packages BUILD: makes them; $made is their folder. STEADY_PACKAGES: they lie there already
    made=${STEADY_PACKAGES:-}
    if [[ -z $made ]]; then
        made=$1/packages
        rm -rf "$made"
        (cd "$1" && quietly cpack -G DEB)
        rm -rf "$made/_CPack_Packages"
    fi
    ls -l "$made"/*.deb | awk '{ print $5, $9 }'
}

bootstrap() { # bootstrap SUITE: into $root, or from STEADY_DEBIAN, a folder with what debootstrap made before
    local mirror
    if [[ -n ${STEADY_DEBIAN:-} ]]; then
        cp -a "$STEADY_DEBIAN" "$root"
        return
    fi
    mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $1" 'Created-By: Packages' | head -n 1)
    quietly debootstrap --variant=minbase "$1" "$root" ${mirror:+"$mirror"}
}

debian() { # debian SUITE: that release, where nothing is started by installing it, and a user `ordinary`
    bootstrap "$1"
    mount -t proc proc "$root/proc"
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod 755 "$root/usr/sbin/policy-rc.d"
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe" # no fsync for each file of a root that goes
    inside apt-get update -qq
    inside useradd --create-home ordinary
}

needs() { # what the packages depend on and recommend, but not each other
    local deb field
    for deb in "$made"/*.deb; do
        for field in Depends Recommends; do dpkg-deb -f "$deb" $field; done
    done | tr ',' '\n' | grep -vE '^ *steady' | sed '/^ *$/d' | paste -sd,
}
