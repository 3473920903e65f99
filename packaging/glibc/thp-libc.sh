#!/bin/sh
# SPDX-License-Identifier: MIT
#
# `bigleaf thp-libc`: makes a libc.a whose malloc has thp.patch, for
# `bigleaf cc --libc=thp`.
#
# The system's libc.a stays what it is but for one object: malloc.o, compiled
# from the sources of the same glibc (Debian's package glibc-source) with the
# patch. Before the object goes in, the stock one is compiled in the same way
# and compared with the system's: both must define and need the same names, or
# the sources are not those of this libc. With --full all of glibc is built.
#
# Exit status: 0 made; 2 wrong usage; 3 the machine lacks something.
set -eu

ME='bigleaf thp-libc'
HERE=$(dirname "$(readlink -f "$0")")
INTO=
SOURCE=
FULL=no
readonly TOOLS='gawk bison make cc patch xz'
readonly PACKAGES='glibc-source gawk bison make gcc patch xz-utils'

usage() {
    cat <<'TEXT'
usage: bigleaf thp-libc [--into=DIR] [--source=FILE] [--full]

make the C library for bigleaf cc --libc=thp

options:
      --into=DIR              where libc.a goes (default: ~/.cache/bigleaf/thp)
      --source=FILE           glibc-VERSION.tar.xz (default: that of the package
                              glibc-source, which is installed where one may)
      --full                  build all of glibc, not malloc alone
  -h, --help                  print this help
TEXT
}

lack() {
    echo "$ME: $1" >&2
    exit 3
}

wrong() {
    echo "$ME: $1" >&2
    echo "try: $ME --help" >&2
    exit 2
}

for word; do
    case $word in
    --into=?*) INTO=${word#*=} ;;
    --source=?*) SOURCE=${word#*=} ;;
    --into | --into=) wrong "option '--into' needs a value: --into=DIR" ;;
    --source | --source=)
        wrong "option '--source' needs a value: --source=FILE"
        ;;
    --full) FULL=yes ;;
    -h | --help)
        usage
        exit 0
        ;;
    *) wrong "unknown option '$word'" ;;
    esac
done

say() {
    echo "== $1" >&2
}

find_patch() {
    for PATCH in "$HERE/thp.patch" "$HERE/../share/bigleaf/thp.patch"; do
        [ ! -r "$PATCH" ] || return 0
    done
    lack "$PATCH: cannot be read; install Bigleaf's development files"
}

# Debian's, unless the user named one: that must be there as it is.
look_for_source() {
    if [ -n "$SOURCE" ]; then
        [ -r "$SOURCE" ] || lack "$SOURCE: cannot be read"
        case $SOURCE in
        glibc-*.tar.xz | */glibc-*.tar.xz) return 0 ;;
        *) wrong "--source=$SOURCE: is no file named glibc-VERSION.tar.xz" ;;
        esac
    fi
    for file in /usr/src/glibc/glibc-*.tar.xz; do
        [ ! -r "$file" ] || SOURCE=$file
    done
}

has_tools() {
    for tool in $TOOLS; do
        command -v "$tool" >/dev/null || return 1
    done
}

install_packages() {
    # shellcheck disable=SC2086 # a list
    DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -q $PACKAGES >>"$LOG" 2>&1
}

fetch_lists() {
    apt-get update -q >>"$LOG" 2>&1
}

find_source() {
    look_for_source
    if [ -n "$SOURCE" ] && has_tools; then
        return 0
    fi
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        lack "needs packages: apt-get install $PACKAGES"
    fi
    say "installing $PACKAGES"
    # A fresh machine has no lists of packages, or old ones.
    install_packages || { fetch_lists && install_packages; } ||
        lack "apt-get install $PACKAGES failed (log: $LOG)"
    look_for_source
    [ -n "$SOURCE" ] ||
        lack "/usr/src/glibc: no source of glibc; name one by --source"
}

# The sources must be of the libc that programs are linked with.
check_version() {
    stock=$(cc -print-file-name=libc.a)
    [ -r "$stock" ] || lack "$stock: no static libc; apt-get install libc6-dev"
    have=$(printf '#include <features.h>\n__GLIBC__ __GLIBC_MINOR__\n' |
        cc -E -P - | tail -1 | tr ' ' .)
    name=$(basename "$SOURCE" .tar.xz)
    [ "${name#glibc-}" = "$have" ] ||
        lack "$SOURCE: is of ${name#glibc-}, this machine's glibc is $have"
}

in_objects() {
    (cd "$WORK/objects" && "$@") >>"$LOG" 2>&1 || lack "$* failed (log: $LOG)"
}

configure() {
    mkdir "$WORK/objects"
    tar -C "$WORK" -xf "$SOURCE" || lack "$SOURCE: cannot be unpacked"
    in_objects "$WORK/$name/configure" --prefix=/usr --disable-werror \
        --enable-stack-protector=strong CFLAGS='-O2 -g'
}

# Names defined and needed, one a line.
names_of() {
    nm "$1" | sed 's/^[0-9a-f]* *//; s/^[tTdDbBrR] /D /' | grep '^[DUwW] ' |
        grep -v ' \.L' | sort -u
}

compile_malloc() {
    rm -f "$WORK/objects/malloc/malloc.o"
    in_objects make -r -s -C "$WORK/$name/malloc" ..=../ \
        "objdir=$WORK/objects" "$WORK/objects/malloc/malloc.o"
}

apply() {
    patch -s -p1 -d "$WORK/$name" <"$PATCH" >>"$LOG" 2>&1 ||
        lack "$PATCH: is of glibc 2.36, does not fit $name (log: $LOG)"
}

# The object of the same name in the system's libc.a must offer and need what
# the sources give without the patch.
check_object() {
    (cd "$WORK" && ar x "$stock" malloc.o && mv malloc.o stock.o)
    names_of "$WORK/stock.o" >"$WORK/stock.names"
    names_of "$WORK/objects/malloc/malloc.o" >"$WORK/own.names"
    if ! difference=$(diff "$WORK/stock.names" "$WORK/own.names"); then
        printf '%s\n' "$difference" >>"$LOG"
        lack "$SOURCE: its malloc is not that of $stock (log: $LOG); try --full"
    fi
}

# Whole and at once, so that nobody links with half of it.
put() {
    cp "$1" "$INTO/.libc.a.$$" || lack "$INTO: cannot be written"
    mv "$INTO/.libc.a.$$" "$INTO/libc.a"
}

make_object() {
    say 'compiling malloc as it is'
    compile_malloc
    check_object
    say 'compiling malloc with the patch'
    apply
    compile_malloc
    cp "$stock" "$WORK/libc.a"
    ar r "$WORK/libc.a" "$WORK/objects/malloc/malloc.o" 2>>"$LOG" ||
        lack "ar failed (log: $LOG)"
}

make_full() {
    say 'compiling all of glibc, which takes a while'
    apply
    in_objects make -s -j"$(nproc)"
    cp "$WORK/objects/libc.a" "$WORK/libc.a"
}

# A program linked with the result allocates, with the switch on and off.
try_out() {
    cat >"$WORK/try.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    char *big = malloc(8 << 20);
    char *small = malloc(100);
    if (!big || !small)
        return 1;
    memset(big, 1, 8 << 20);
    printf("%d\n", (int)(((unsigned long)big & 0x1fffff) < 4096));
    return 0;
}
C
    cc -static -fno-builtin -o "$WORK/try" "$WORK/try.c" -L "$WORK" \
        >>"$LOG" 2>&1 ||
        lack "a program cannot be linked with the result (log: $LOG)"
    grep -q 'bigleaf-glibc-thp ' "$WORK/try" ||
        lack "a program was not linked with the result (log: $LOG)"
    if ! "$WORK/try" >>"$LOG" ||
        [ "$(GLIBC_THP_ALWAYS=1 "$WORK/try")" != 1 ]; then
        lack "a program linked with the result does not run (log: $LOG)"
    fi
}

CACHE=${BIGLEAF_CACHE:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/bigleaf}
INTO=${INTO:-$CACHE/thp}
mkdir -p "$CACHE/logs" || lack "$CACHE: cannot be made"
LOG=$CACHE/logs/thp-libc.log
: >"$LOG"
find_patch
find_source
check_version
reason=$(mkdir -p "$INTO" 2>&1) || lack "$INTO: cannot be made (${reason##*: })"
WORK=$(mktemp -d "$CACHE/thp-work.XXXXXX")
trap 'rm -rf "$WORK"' EXIT
trap 'exit 130' INT TERM
say "configuring $name"
configure
if [ "$FULL" = yes ]; then make_full; else make_object; fi
try_out
put "$WORK/libc.a"
echo "$INTO/libc.a"
