#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes bigleaf-VERSION-MACHINE.tar.gz of a built tree: one folder with the
# commands as static programs, the libraries, headers and manual pages. It runs
# from wherever it is unpacked, and needs nothing of the system there.
#
#   packaging/tarball/build.sh BUILD-FOLDER [INTO]
#
# Exit status: 0 made; 1 not made; 2 wrong usage; 3 the machine lacks something.
set -eu

[ $# -ge 1 ] || {
    echo 'usage: build.sh BUILD-FOLDER [INTO]' >&2
    exit 2
}
[ -f "$1/CMakeCache.txt" ] || {
    echo "build.sh: $1: is no built tree, as ./dev build makes it" >&2
    exit 2
}
build=$(readlink -f "$1")
mkdir -p "${2:-.}"
into=$(readlink -f "${2:-.}")
root=$(readlink -f "$(dirname "$0")/../..")
version=$(sed -n 's/^project(bigleaf VERSION \([0-9.]*\).*/\1/p' \
    "$root/CMakeLists.txt")
name=bigleaf-$version-$(uname -m)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --build "$build" --target help | grep -q static_commands || {
    echo 'build.sh: no static libraries: apt-get install libelf-dev' \
        'libdw-dev libbz2-dev libgmp-dev liblzma-dev zlib1g-dev, then' \
        'configure again' >&2
    exit 3
}
step() {
    cmake "$@" >"$work/log" 2>&1 || {
        tail -5 "$work/log" >&2
        exit 1
    }
}
step --build "$build" --target static_commands
step --install "$build" --prefix "$work/$name" --strip
for program in "$build"/bin/static/*; do
    strip -o "$work/$name/bin/${program##*/}" "$program"
done
tar -C "$work" --owner=0 --group=0 --sort=name -czf "$into/$name.tar.gz" "$name"
echo "$into/$name.tar.gz"
