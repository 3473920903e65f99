# SPDX-License-Identifier: MIT
"""Runs the kit's sample tests and compares the kit's verdicts."""

import subprocess
import sys


def run(program: str, *args: str) -> tuple[int, str]:
    done = subprocess.run([program, *args], capture_output=True, text=True,
                          timeout=100)
    return done.returncode, done.stdout


def main() -> int:
    program = sys.argv[1]
    # arguments, exit status, lines the output must hold
    cases = [
        (["passes"], 0, ["passed  passes", "passed  child_passes",
                         "2 passed, 0 failed, 0 skipped"]),
        (["fails_and"], 1, ["not -1 == 1", "not 1 >= 2",
                            '"leaf" is not "(null)"',
                            "0 passed, 1 failed, 0 skipped"]),
        (["stops_at"], 1, ["3 == 4", "FAILED  stops_at_assert"]),
        (["skipped"], 77, ["skipped: no kernel here",
                           "0 passed, 0 failed, 1 skipped"]),
        (["crash"], 1, ["ended by signal 9"]),
        (["too_long"], 1, ["not done after"]),
        (["child_fails"], 1, ["child ended with status 1"]),
        (["--seed", "77", "seed_is"], 0, ["seed 77", "passed  seed_is_given"]),
        (["--seed", "7", "seed_is"], 1, ["seed 7", "not 7 == 77"]),
        (["no_such_test"], 1, ["no test was selected"]),
        (["--no-such-option"], 2, ["usage:"]),
        (["--list"], 0, ["is_skipped", "crashes"]),
    ]
    bad = 0
    for args, status, lines in cases:
        got, output = run(program, *args)
        missing = [line for line in lines if line not in output]
        if got != status or missing:
            bad += 1
            print(f"{args}: status {got}, expected {status}; "
                  f"not printed: {missing}; printed:\n{output}")
        if args == ["stops_at"] and "5 == 6" in output:
            bad += 1
            print("assert_int_eq did not stop the test")
    print(f"{len(cases)} cases, {bad} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
