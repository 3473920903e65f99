#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command line of leaflog from outside: output that nobody takes, threads
that are not to be had, files and options that are wrong, long clauses."""
import argparse
import os
import pathlib
import resource
import select
import subprocess
import sys
import tempfile

LOST = "leaflog: cannot write to standard output: "
NO_MEMORY = "leaflog: the machine has no memory left for this program\n"
FULL = LOST + "No space left on device\n"


class Command:
    def __init__(self, binary: str, folder: pathlib.Path, sanitized: bool) -> None:
        self.binary = binary
        self.folder = folder
        self.sanitized = sanitized
        self.failures = 0

    def run(self, *args: str, say: str = "", out: int = subprocess.PIPE,
            before: str = "") -> subprocess.CompletedProcess:
        command = ["bash", "-c", f'{before} exec "$0" "$@"', self.binary, *args]
        return subprocess.run(command, input=say, stdout=out, stderr=subprocess.PIPE, text=True,
                              timeout=120, check=False, cwd=self.folder)

    def expect(self, status: int, said: str, *args: str, **how) -> str:
        """Runs it; what it says on standard error begins with `said`, and is
        that where it is empty or a line. Returns its output."""
        run = self.run(*args, **how)
        whole = said == "" or said.endswith("\n")
        fits = run.stderr == said if whole else run.stderr.startswith(said)
        if run.returncode != status or not fits:
            self.failures += 1
            print(f"FAIL leaflog {' '.join(args)}: status {run.returncode}, not {status}: "
                  f"{run.stderr[-300:]!r}, not {said!r}")
        return run.stdout or ""

    def has_room(self, limit: str) -> bool:
        """A sanitizer's shadow has none; scripts/report-tests.py reads the line."""
        if self.sanitized:
            print(f"SKIPPED [1] {limit} leaves a sanitizer too little")
        return not self.sanitized

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_bytes(text.encode())
        return name

    def same(self, what: str, have: str, want: str) -> None:
        if have != want:
            self.failures += 1
            print(f"FAIL {what}: {have!r}, not {want!r}")


def full_disk(c: Command) -> None:
    """Lost output is an error on every path, however little it is."""
    goals = ["write(x)", "write(x), halt", "thread_create((write(x), halt), _), sleep(5)",
             "forall(between(1, 20000, X), catch(print(X), _, true))",
             "write(x), catch(flush_output, _, true)"]
    ways = [["-g", g] for g in goals] + [["-t", "2", "-g", "write(x)"],
                                         ["--json", "-g", "X = 1"], ["--stats", "-g", "true"],
                                         ["--version"], ["--help"], []]
    with open("/dev/full", "w", encoding="utf-8") as full:
        for args in ways:
            c.expect(3, FULL, *args, say="X = 1.\n", out=full)
        # more than libc's buffer: why is not known any more
        c.expect(3, LOST, "bench", "program", "--only=left-grid", out=full)
        c.expect(0, "", "-g", "true", out=full)


def no_threads(c: Command) -> None:
    """-t says so in one line, and those that there are do not go on."""
    little = "ulimit -v 400000;"
    if not c.has_room(little):
        return
    c.expect(0, "", "-g", "true", before=little)
    said = "leaflog: error: out of threads: the limit of this run is reached\n"
    for goal in "true", "(repeat, fail)":
        run = c.run("-t", "200", "-g", goal, before=little)
        # those that there are may be the first to ask for what is left
        if (run.returncode, run.stderr) != (3, NO_MEMORY):
            c.same(f"{goal} by 200 threads", f"{run.returncode} {run.stderr}", f"2 {said}")
    lone_threads(c)
    crew_of_none(c)


def lone_threads(c: Command) -> None:
    """Of those that nobody joins a line tells that they could not begin."""
    goal = "forall(between(1, 90, _), " \
           "catch(thread_create(sleep(0.3), _, [detached(true)]), _, true)), sleep(0.2)"
    said = "leaflog: error: out of memory: a thread could not begin"
    # what a limit leaves the last one may be enough, or too little for its stack
    for limit in range(400_000, 412_000, 1500):
        run = c.run("-g", goal, before=f"ulimit -v {limit};")
        if run.returncode != 0 or run.stderr:
            break
    c.same("threads that nobody joins", sorted({str(run.returncode), *run.stderr.splitlines()}),
           ["0", said])


def crew_of_none(c: Command) -> None:
    """Work for other threads is an error where none is to be had, even if some
    end later. One begins at a time: one that cannot would leave room, and late."""
    c.write("crew.pl", """
main :- thread_self(Me), repeat, \\+ begins(Me), !,
    catch(concurrent_forall(true, true), error(E, _), true), print(E).
begins(Me) :-
    catch(thread_create(( thread_send_message(Me, begun), sleep(20) ), _, [detached(true)]),
          _, fail),
    thread_get_message(Me, begun, [timeout(3)]).
""")
    run = c.run("-g", "main", "crew.pl", before="ulimit -v 400000;")
    if run.stdout not in ("resource_error(memory)", "resource_error(threads)"):
        c.same("a crew of none", run.stdout, "resource_error(memory)")


def threads_again(c: Command) -> None:
    """A thread that has no memory to begin with takes nothing from later ones."""
    if not c.has_room("the size of a program as it is"):
        return
    goal = "repeat, read(X), catch(( thread_create(true, T), thread_join(T, S) ), E, S = E), " \
           "print(S), nl, flush_output, X == end"
    with subprocess.Popen([c.binary, "-g", goal], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as program:
        def try_one(say: str, want: str) -> None:
            program.stdin.write(say + ".\n")
            program.stdin.flush()
            c.same(f"a thread, {say}", program.stdout.readline(), want + "\n")

        try_one("first", "true")
        status = pathlib.Path(f"/proc/{program.pid}/status").read_text(encoding="utf-8")
        size = int(status.split("VmSize:")[1].split()[0]) << 10
        all_of_it = resource.prlimit(program.pid, resource.RLIMIT_AS)
        resource.prlimit(program.pid, resource.RLIMIT_AS, (size + (3 << 20), all_of_it[1]))
        try_one("without_memory", "exception(resource_error)")
        resource.prlimit(program.pid, resource.RLIMIT_AS, all_of_it)
        try_one("end", "true")


def late_thread(c: Command) -> None:
    """One that has a name and does not begin yet cannot be joined."""
    if not c.has_room("as many threads as there may be"):
        return
    c.write("late.pl", """
main :-
    thread_create(joins, J),
    findall(T, ( between(1, 255, _), thread_create(thread_get_message(stop), T) ), Ts),
    thread_send_message(J, go), error_of(thread_create(true, _, [alias(late)])),
    forall(member(T, Ts), ( thread_send_message(T, stop), thread_join(T, true) )),
    thread_join(J, true).
joins :- thread_get_message(go), sleep(0.3), error_of(thread_join(late, _)).
error_of(G) :- catch(G, error(E, _), ( print(E), nl )).
""")
    c.same("a thread too many", c.expect(0, "", "-g", "main", "late.pl"),
           "permission_error(join,thread,late)\n")


def halting(c: Command) -> None:
    """halt/1 within an evaluation, in any number of threads."""
    c.write("halting.pl", ":- table p/1, q/0.\np(1).\np(X) :- p(Y), X is Y + 1, "
                          "( X > 5 -> halt(4) ; X < 9 ).\nq :- p(_), tnot(q).\n")
    for goal in "p(_)", "q", "catch(findall(X, p(X), _), _, true)":
        for threads in "1", "3":
            c.expect(4, "", "-t", threads, "-g", goal, "halting.pl")


def calls(c: Command) -> None:
    """The profile counts calls of facts that are joined with answers, too."""
    c.write("path.pl", ":- table path/2.\npath(X, Z) :- path(X, Y), edge(Y, Z).\n"
                       "path(X, Z) :- edge(X, Z).\n"
                       "edge(X, Y) :- e(X, Y).\ne(1, 2). e(2, 3). e(3, 1).\n"
                       ":- table way/2.\nway(X, Z) :- way(X, Y), e(Y, Z).\nway(X, Z) :- e(X, Z).\n")
    for goal, n in ("path(_, _)", 10), ("way(_, _)", 10):
        run = c.run("--profile", "-g", goal, "path.pl")
        counts = [line.split()[0] for line in run.stderr.splitlines() if line.endswith(" e/2")]
        c.same(f"calls of e/2 in {goal}", " ".join(counts), str(n))


def no_watch(c: Command) -> None:
    """No limit of time without the thread that watches it: nothing is run."""
    none = "ulimit -v 800000; ulimit -Ss 4000000;" # a stack is larger than all there is
    if not c.has_room(none):
        return
    c.expect(0, "", "-g", "true", before=none)
    said = "leaflog: error: out of threads: "
    how = "--time needs one more; allow it (ulimit -u, -v) or use timeout(1) instead\n"
    for args in ["--time=9", "-g", "write(x)"], ["--time=9"]:
        c.same("output", c.expect(3, said + how, *args, say="X = 1.\n", before=none), "")
    goal = "catch(call_with_time_limit(9, write(x)), error(resource_error(threads), _), true)"
    c.same("output", c.expect(0, "", "-g", goal, before=none), "")
    c.expect(2, said + "the limit of this run is reached",
             "-g", "call_with_time_limit(9, true)", before=none)


def not_loaded(c: Command) -> None:
    """No goal is run, from a pipe neither."""
    missing = "leaflog: cannot read nosuch.pl: No such file or directory\n" \
              "leaflog: 1 error while loading\n"
    for args in ["nosuch.pl"], ["nosuch.pl", "-g", "true"]:
        c.same("goals", c.expect(2, missing, *args, say="X = 1.\n"), "")


def answers(c: Command) -> None:
    """As text and as JSON, of terms without end too."""
    goal = "X = f(X), Y = [a|Y], Z = 1.\n"
    json = c.expect(0, "", "--json", say=goal)
    c.same("JSON", json, '{"schema":"leaflog.answer/1","bindings":'
                         '{"X":{"cyclic":true},"Y":{"cyclic":true},"Z":1}}\n')
    # a list whose end is no list, without a look at the rest for each element
    long = c.expect(0, "", "--json", "-g", "length(_L, 300000), append(_L, t, M)")
    c.same("JSON of a long list", str(long.count('"functor":".","args":[')), "300000")
    lines = c.expect(0, "", "--json", "--stats", say="X = 1.\nfail.\n").splitlines()
    c.same("JSON with figures", " ".join(line[:27] for line in lines),
           '{"schema":"leaflog.answer/1 {"schema":"leaflog.tables/1 {"schema":"leaflog.tables/1')


def files(c: Command) -> None:
    """Marks of UTF-8, and what is no table: nothing of it is loaded."""
    mark = "\ufeff"
    c.write("marked.pl", mark + "p(1).\n")
    c.write("q.csv", mark + "1,2\n3,4\n")
    goal = "p(1), findall(X, q(X, _), [1, 3])"
    c.expect(0, "", "-g", goal, "marked.pl", "q.csv")
    c.write("open.csv", 'a,b\nc,"d\n')
    c.write("ragged.csv", "a,b\n\nc\n")
    c.write("wide.csv", "a\n" + 2000 * "," + "\n")
    c.write("zero.csv", "12\0xyz,34\n")
    c.expect(0, "", "-g", "zero(X, 34), atom_length(X, 6)", "zero.csv")
    (c.folder / "folder.csv").mkdir()
    for name, line, what in [("open", 2, "quotes that nothing closes"),
                             ("wide", 2, "a row of more than 255 fields"),
                             ("ragged", 3, "a row of 1 fields among rows of 2")]:
        c.expect(2, f"leaflog: error: syntax error: {name}.csv:{line}: {what}\n"
                    "leaflog: 1 error while loading\n", "-g", "true", f"{name}.csv")
        goal = f"catch(load_csv('{name}.csv', r), E, true), " \
               "E = error(syntax_error(_), _), \\+ current_predicate(r/2)"
        c.expect(0, "", "-g", goal)
    c.expect(2, "leaflog: cannot read folder.csv: Is a directory", "-g", "true", "folder.csv")
    c.expect(0, "", "-g", "catch(load_csv('folder.csv', r), "
                          "error(permission_error(open, source_sink, _), _), true)")
    c.expect(2, "leaflog: error: source_sink 'no.csv' does not exist\n"
                "leaflog: 1 error while loading\n", "-g", "true", "no.csv")


def long_body(c: Command) -> None:
    """Time to load a clause grows with it, not with its square: minutes here."""
    n = 300_000
    goals = ", ".join(f"q(X{i}, X{i + 1})" for i in range(n))
    c.write("long.pl", f"q(X, Y) :- Y is X + 1.\np(X0, X{n}) :- {goals}.\n")
    ran = c.expect(0, "", "-g", "p(0, X), write(X)", "long.pl", before="ulimit -St 30;")
    c.same("goals of a long clause", ran, str(n))


def messages(c: Command) -> None:
    """Our own words stand without quotes."""
    c.write("absent.pl", ":- table p/0, q/0.\np :- \\+ q.\nq :- \\+ p.\n")
    c.expect(2, "leaflog: error: not stratified: p depends on itself through a negation\n",
             "-g", "p", "absent.pl")
    more = "leaflog: -g takes one goal, and more follows its full stop; join goals by commas\n"
    for goal in "write(x). write(y)", "write(x). ) (", "write(x). a.":
        c.same(goal, c.expect(2, more, "-g", goal), "")
    for goal in "true.", "true. ", "true. % that is all":
        c.expect(0, "", "-g", goal)


def options(c: Command) -> None:
    """What is wrong is refused, with the right form."""
    size, number = "a size of at least 64K, such as 500M or 2G", "a number above 0"
    time = "seconds, above 0 and below 1000000000"
    for wrong, wish in [("--memory=nan", size), ("--memory=inf", size), ("--memory=1K", size),
                        ("--memory=", size), ("--collect=nan", number), ("--time=inf", time),
                        ("--time=nan", time), ("--time=-1", time), ("--term-size=1e300", number),
                        ("--table-memory=0", "a size above 0, such as 500M or 2G"),
                        ("--tables=xx", "ns, ss or fs"), ("--locks=tree", "node or array"),
                        ("--alloc=jemalloc", "pages or malloc")]:
        name, value = wrong.split("=")
        c.expect(2, f"leaflog: {name} wants {wish}, not: {value}; see leaflog --help\n",
                 wrong, "-g", "true")
    for wrong in "--nosuch", "--stats=1":
        c.expect(2, f"leaflog: unknown option: {wrong};", wrong, "-g", "true")
    c.expect(2, "leaflog: --memory wants a value, as in --memory=500M\n", "--memory", "500M")
    c.expect(2, "leaflog: the number stands apart, as in -t 2: -t2;", "-t2", "-g", "true")
    c.expect(2, "leaflog: file names stand without it, or as ./-NAME: --;", "--", "a.pl")
    usage = "usage: leaflog bench "
    for args in ["bench", "--help"], ["bench", "table1", "--help"], ["bench", "run", "--help"]:
        c.same("bench --help", c.expect(0, "", *args)[:len(usage)], usage)
    c.expect(2, "leaflog: bench run, which the tables are made by, wants --program=NAME\n",
             "bench", "run")
    c.expect(2, "leaflog: bench run: wrong option or value: --threads=0\n",
             "bench", "run", "--program=left-cycle", "--threads=0")
    c.expect(2, "leaflog: --only=nosuch is in the name of no program; there are join2 ",
             "bench", "table1", "--only=nosuch")
    for wrong in "--repeat=3x", "--repeat=0", "--warm=x", "--threads=1,", "table9":
        c.expect(2, f"leaflog: bench: wrong option or value: {wrong}\n{usage}",
                 "bench", "table1", "--only=left-grid", wrong)
    for absent in "nosuch", "left-nosuch":
        c.expect(2, f"leaflog: bench run: {absent} is neither generated nor in --programs=FOLDER\n",
                 "bench", "run", f"--program={absent}")
    c.expect(2, "leaflog: --programs=no/folder: No such file or directory\n",
             "bench", "table1", "--programs=no/folder")


def no_memory(c: Command) -> None:
    """What the machine refuses ends the program with one line, what it wrote is kept."""
    few = "ulimit -v 200000;"
    if not c.has_room(few):
        return
    c.expect(0, "", "-g", "true", before=few)
    for goal in ("repeat, assertz(p(a, f(b))), fail",
                 "repeat, findall(Y, between(1, 100000, Y), L), assertz(q(L)), fail"):
        out = c.expect(3, NO_MEMORY, "--memory=100M", "-g", f"write(begun), {goal}", before=few)
        c.same(goal, out, "begun")


def less_memory(c: Command) -> None:
    """Where it ends in the middle of a comparison, that is an error."""
    for size in range(20, 27):
        run = c.run(f"--memory={size}M", "-g", "length(L, 130000), copy_term(L, M), L =@= M")
        if run.returncode not in (0, 2):
            c.same(f"=@= in {size}M", f"status {run.returncode}: {run.stderr[-300:]}", "0 or 2")


def failed_collections(c: Command) -> None:
    """What findall/3 had collected goes with the error that ends it."""
    few = "ulimit -v 200000;"
    if not c.has_room(few):
        return
    goal = "forall(between(1, 60, _), catch(findall(X, ( between(1, 100000, X) ; throw(x) ), _), " \
           "x, true))"
    c.expect(0, "", "--memory=100M", "-g", goal, before=few)


def facts_that_go(c: Command) -> None:
    """What erased facts and their indexes took is used again, in a loop by
    failure over between/3 too."""
    few = "ulimit -v 60000;"
    if not c.has_room(few):
        return
    program = c.write("facts.pl", ":- dynamic d/2.\n"
                      "fill :- forall(between(1, 2000, I), ( K is I mod 2, assertz(d(K, I)) )).\n"
                      "found :- between(0, 1, K), d(K, -1).\n")
    goal = "forall(between(1, 4000, _), ( fill, \\+ found, retractall(d(_, _)) ))"
    c.expect(0, "", "--memory=30M", "-g", goal, program, before=few)


def conversation(c: Command) -> None:
    """A program behind a pipe gets its answer before it says more."""
    goal = "repeat, read(X), print(got(X)), nl, flush_output, X == end"
    with subprocess.Popen([c.binary, "-g", goal], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as program:
        for say, want in ("a.", "got(a)"), ("f(\nX) .", "got(f(_"), ("end.", "got(end)"):
            program.stdin.write(say + "\n")
            program.stdin.flush()
            if not select.select([program.stdout], [], [], 30)[0]:
                program.kill()
            c.same(say, program.stdout.readline()[:len(want)], want)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("leaflog")
    parser.add_argument("--sanitized", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        c = Command(os.path.abspath(args.leaflog), pathlib.Path(folder), args.sanitized)
        full_disk(c)
        no_threads(c)
        threads_again(c)
        late_thread(c)
        halting(c)
        calls(c)
        no_watch(c)
        not_loaded(c)
        answers(c)
        files(c)
        long_body(c)
        messages(c)
        options(c)
        no_memory(c)
        less_memory(c)
        failed_collections(c)
        facts_that_go(c)
        conversation(c)
    print(f"{c.failures} failures")
    return 1 if c.failures else 0


if __name__ == "__main__":
    sys.exit(main())
