#!/bin/sh
# SPDX-License-Identifier: MIT
#
# glibc's own tests of malloc, against the libc.a that `bigleaf thp-libc` made
# (each is linked statically and run with the switch off and on), or against
# libbigleaf.so (linked dynamically, run without and with it preloaded).
#
#   malloc-tests.sh GLIBC-SOURCE LIBC-FOLDER|LIBRARY [WORK-FOLDER]
#
# Left out: what tests another malloc (interpose), the inside of glibc
# (dynarray, scratch buffers, safe-linking), libc_malloc_debug.so (malloc-check,
# malloc-usable) or old symbol versions, which a static program has not; for
# the library also tst-malloc-backtrace, which writes before a freed block and
# wants an abort: there lies nothing of ours.
#
# Exit status: 0 all passed; 1 one failed; 2 wrong usage.
set -eu

usage() {
    echo "usage: malloc-tests.sh GLIBC-SOURCE LIBC-FOLDER|LIBRARY" \
        "[WORK-FOLDER]" >&2
    exit 2
}

if [ $# -lt 2 ] || [ ! -d "$1/malloc" ]; then
    usage
fi
SOURCE=$(readlink -f "$1")
UNDER=$(readlink -f "$2")
if [ -r "$UNDER/libc.a" ]; then
    LINK="-static -L $UNDER"
    OFF=GLIBC_THP_ALWAYS=0 ON=GLIBC_THP_ALWAYS=1
elif [ -f "$UNDER" ]; then
    LINK=
    OFF=LD_PRELOAD= ON=LD_PRELOAD=$UNDER
else
    usage
fi
WORK=${3:-$(mktemp -d)}
mkdir -p "$WORK"
readonly TESTS='mallocbug tst-malloc tst-valloc tst-calloc tst-obstack
    tst-mallocfork tst-trim1 tst-realloc tst-reallocarray
    tst-posix_memalign tst-pvalloc tst-memalign tst-mallopt tst-malloc-backtrace
    tst-malloc-thread-exit tst-malloc-thread-fail tst-malloc-fork-deadlock
    tst-mallocfork2 tst-mallocfork3 tst-free-errno tst-malloc-tcache-leak
    tst-malloc_info tst-mallinfo2 tst-malloc-too-large
    tst-malloc-stats-cancellation tst-tcfree1 tst-tcfree2 tst-tcfree3
    tst-mallocalign1 tst-mxfast'
readonly TIMEOUT=300

# Folders that glibc's build would say; no test of malloc reads there. The
# quotes are the compiler's.
# shellcheck disable=SC2089
readonly FOLDERS='-DSRCDIR_PATH="." -DOBJDIR_PATH="." -DOBJDIR_ELF_LDSO_PATH="."
    -DINSTDIR_PATH="." -DLIBDIR_PATH="." -DBINDIR_PATH="." -DSBINDIR_PATH="."
    -DROOTSBINDIR_PATH="." -DSYSCONFDIR_PATH="." -DCOMPLOCALEDIR_PATH="."
    -DSLIBDIR_PATH="." -DROOTDIR_PATH="." -DCOMPLIBDIR_PATH="."'

compile() {
    # shellcheck disable=SC2086,SC2090 # a list
    cc -std=gnu11 -O2 -w -fno-builtin -D_GNU_SOURCE -DTIMEOUTFACTOR=4 $FOLDERS \
        -include limits.h -I"$WORK/shim" -I"$SOURCE/support" \
        -I"$SOURCE/malloc" \
        -idirafter "$SOURCE/include" -idirafter "$SOURCE" \
        -idirafter "$SOURCE/sysdeps/generic" "$@"
}

# glibc's test support, as far as it compiles outside of glibc: the linker
# says what a test lacks.
compile_support() {
    mkdir -p "$WORK/shim" "$WORK/support"
    ln -sfn "$SOURCE/support" "$WORK/shim/support"
    find "$SOURCE/support" -maxdepth 1 -name '*.c' | sort |
        while read -r file; do
            compile -O0 -c "$file" -o "$WORK/support/$(basename "$file" .c).o" \
                2>>"$WORK/log" || echo "left out: $file" >>"$WORK/log"
        done
    rm -f "$WORK/libsupport.a"
    find "$WORK/support" -name '*.o' ! -name '*-container.o' \
        ! -name 'links-dso-program*' ! -name 'test-driver.o' \
        ! -name 'test-run-command.o' |
        sort | xargs ar rcs "$WORK/libsupport.a"
}

# Runs test $1 with what $2 puts into its environment.
run() {
    result=passed
    (cd "$WORK" && env "$2" timeout "$TIMEOUT" "./$1") >>"$WORK/log" 2>&1 || {
        status=$?
        [ "$status" = 77 ] && result=skipped || result="FAILED ($status)"
    }
    echo "$1 [$2]: $result"
    case $result in
    FAILED*) failed=$((failed + 1)) ;;
    *) passed=$((passed + 1)) ;;
    esac
}

passed=0
failed=0
compile_support
for test in $TESTS; do
    echo "== $test" >>"$WORK/log"
    [ "$LINK" ] || [ "$test" != tst-malloc-backtrace ] || continue
    # shellcheck disable=SC2086 # a list
    compile -pthread "$SOURCE/malloc/$test.c" $LINK \
        "$WORK/libsupport.a" -o "$WORK/$test" 2>>"$WORK/log" || {
        echo "$test: FAILED to link (log: $WORK/log)"
        failed=$((failed + 1))
        continue
    }
    # As glibc's Makefile runs it.
    [ "$test" != tst-mxfast ] ||
        export GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0
    run "$test" "$OFF"
    run "$test" "$ON"
    unset GLIBC_TUNABLES
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
