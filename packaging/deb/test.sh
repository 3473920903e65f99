#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Installs Bigleaf's Debian packages in a clean root and uses each of them.
#
#   packaging/deb/test.sh FOLDER-OF-PACKAGES [ROOT]
#
# ROOT: made by debootstrap where it is not there. Needs root and a network.
# Exit status: 0 they work; 1 they do not; 3 the machine lacks something.
set -eu

packages=$(readlink -f "$1")
root=${2:-$(mktemp -d)}
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
    echo "test.sh: needs root and debootstrap" >&2
    exit 3
fi
# shellcheck disable=SC2016 # apt's own variable
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' |
    head -1)
[ -x "$root/bin/sh" ] ||
    debootstrap --variant=minbase bookworm "$root" "$mirror"
mkdir -p "$root/packages"
cp "$packages"/libbigleaf0_*.deb "$packages"/libbigleaf-dev_*.deb \
    "$packages"/bigleaf_*.deb "$root/packages"
cp /etc/resolv.conf "$root/etc/resolv.conf"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sys "$root/sys"
trap 'umount "$root/proc" "$root/sys"' EXIT

in_root() {
    echo "+ $*" >&2
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
        DEBIAN_FRONTEND=noninteractive \
        ${http_proxy:+http_proxy="$http_proxy"} "$@"
}

in_root apt-get update -qq
in_root sh -c 'apt-get install -y -qq --no-install-recommends \
    /packages/*.deb gcc pkgconf python3'
cat >"$root/program.c" <<'C'
#include <bigleaf/pool.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    char *p = calloc(1, 8 << 20);
    puts(p ? "done" : "failed");
    return 0;
}
C
in_root bigleaf --version
in_root bigleaf doctor || [ $? = 3 ]
in_root bigleaf run --report true
in_root bigleaf-bench build --list | grep -q '^minisat '
# With all that it lacks: a C++ compiler, make, zlib.
in_root bigleaf-bench build --variant=plain --variant=bigleaf --into=/solvers \
    minisat
for program in minisat-plain minisat-bigleaf; do
    in_root "/solvers/$program" -verb=0 \
        /usr/share/bigleaf/solvers/smoke/unsat.cnf | grep -q '^UNSATISFIABLE'
done
in_root bigleaf cc -static /program.c -o /program
in_root /program
in_root bigleaf doctor /program | grep -q 'version .* inside'
# shellcheck disable=SC2016 # expanded in the root
in_root sh -c 'cc -static /program.c -o /by-hand \
    $(pkg-config --cflags --libs bigleaf-static)'
in_root /by-hand
# shellcheck disable=SC2016 # expanded in the root
in_root sh -c 'cc /program.c -o /shared \
    $(pkg-config --cflags --libs bigleaf) && /shared'
echo "the packages work in a clean root"
