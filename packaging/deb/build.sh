#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Builds Debian's packages of this tree: libbigleaf0, libbigleaf-dev, bigleaf.
#
#   packaging/deb/build.sh [FOLDER]     the packages go there (default: .)
#
# Who hands them out to others sets DEBFULLNAME and DEBEMAIL: the address that
# stands in the packages otherwise is nobody's.
#
# Exit status: 0 built; 1 not built; 3 the machine lacks something.
set -eu

mkdir -p "${1:-.}"
into=$(readlink -f "${1:-.}")
cd "$(dirname "$0")/../.."
version=$(sed -n 's/^project(bigleaf VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
for tool in dpkg-buildpackage dh; do
    command -v $tool >/dev/null || {
        echo "build.sh: no $tool: apt-get install dpkg-dev debhelper" >&2
        exit 3
    }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/bigleaf-$version
mkdir "$tree"
# What is committed; without git, the tree but for its build folders.
git archive HEAD 2>/dev/null | tar -x -C "$tree" 2>/dev/null ||
    tar -c --exclude='./build*' --exclude=./.git . | tar -x -C "$tree"
cp -r packaging/deb/debian "$tree/debian"
noted=$(dpkg-parsechangelog -l "$tree/debian/changelog" -S Version)
[ "$noted" = "$version" ] || {
    echo "build.sh: debian/changelog is of $noted, not of $version" >&2
    exit 1
}
if [ -n "${DEBEMAIL:-}" ]; then
    sed -i "s/^Maint.*/Maintainer: ${DEBFULLNAME:-Bigleaf} <$DEBEMAIL>/" \
        "$tree/debian/control"
fi
(cd "$tree" && dpkg-buildpackage -b -us -uc) >"$work/log" 2>&1 || {
    tail -20 "$work/log" >&2
    exit 1
}
cp "$work"/*.deb "$work"/*.buildinfo "$work"/*.changes "$into"
ls "$into"/*bigleaf*.deb
