#!/usr/bin/env python3
"""Tracks a repository whose changes of speed are known: are exactly these marked, and found again?

A measurement, not a test: it takes some minutes for each repetition.

    python3 tests/runner/tool/tracked_fixture.py --repetitions 10 --out fixture.jsonl

Each repetition makes a repository of 60 commits, at random places one that is 2 % faster, one that is
3 % slower, and one that is 4 % slower and reverted some commits later. The program's time is real: it
is measured on this machine, as it is. In a part of every tracking bursts of load run beside it (the
noisy hour); in every second repetition also all the time. Then `steady track --backfill 60` must mark
these four commits and no other, and `steady bisect` must name each between two commits of its
neighbourhood. A command that was stopped for minutes loses its lease: it is given again and goes on.

Rows go to --out as they come; with it the same command goes on where it stopped, and a second run with
--repetitions 0 prints the table again.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
COMMITS = 60
STEPS = 60_000
MOST_TRIES = 8
QUESTION = ["--build", "cc -O1 -o bench bench.c", "--adapter", "lines", "--metric", "work_ns",
            "--direction", "lower", "--any-output"]
COMMAND = ["--", "./bench"]


def places(draw):
    """Faster, slower, slower, its revert: nine commits apart and from the ends."""
    while True:
        found = sorted(draw.sample(range(9, COMMITS - 8), 4))
        if all(b - a >= 9 for a, b in zip(found, found[1:])):
            break
    first, second = draw.choice([(1 / 1.02, 1 / 0.97), (1 / 0.97, 1 / 1.02)])
    kinds = ["single", "single", "pair"]
    draw.shuffle(kinds)
    singles = iter([first, second])
    steps, at = {}, 0
    for kind in kinds:
        if kind == "single":
            steps[found[at]] = next(singles)
            at += 1
        else:
            steps[found[at]], steps[found[at + 1]] = 1.04, 1 / 1.04
            at += 2
    return steps


class Repetition:
    def __init__(self, options, number):
        self.options, self.number = options, number
        self.draw = random.Random(options.seed * 1000 + number)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="steady-tracked-"))
        self.folder.chmod(0o755)  # as root the database runs under a user of its own
        self.repository = self.folder / "sources/fixture"
        for name in ("sources/fixture", "root/experiments", "root/journal", "state"):
            (self.folder / name).mkdir(parents=True)
        self.environment = dict(
            os.environ, STEADY_ROOT=str(self.folder / "root"), STEADY_STATE_DIR=str(self.folder / "state"),
            STEADY_SOURCES=str(self.folder / "sources"), STEADY_HOST_LOCK=str(self.folder / "lock"),
            GIT_CONFIG_GLOBAL="/dev/null", GIT_AUTHOR_NAME="A", GIT_AUTHOR_EMAIL="a@example.org",
            GIT_COMMITTER_NAME="A", GIT_COMMITTER_EMAIL="a@example.org")
        self.steps, self.commits, self.given_again = places(self.draw), [], 0

    def git(self, *words):
        done = subprocess.run(["git", *words], cwd=self.repository, env=self.environment, check=True,
                              capture_output=True, text=True)
        return done.stdout.strip()

    def make(self):
        source = (HERE / "tracked_program.c").read_text()
        self.git("init", "--quiet", "--initial-branch=main")
        work = STEPS
        for i in range(COMMITS):
            work *= self.steps.get(i, 1)
            text = source.replace("#define STEPS 100000L", f"#define STEPS {round(work)}L")
            (self.repository / "bench.c").write_text(text + f"// change {i}\n")
            self.git("add", "--all")
            self.git("commit", "--quiet", "--message", f"Change {i}")
            self.commits.append(self.git("rev-parse", "HEAD"))

    def question(self, pairs):
        return [*QUESTION, "--pairs", str(pairs), *COMMAND]

    def steady(self, *words, good=(0,)):
        """The printed document; a command that was interrupted is given again."""
        for _ in range(MOST_TRIES):
            done = subprocess.run([self.options.steady, *words[:1], "--json", "--quiet", *words[1:]],
                                  env=self.environment, capture_output=True, text=True)
            if done.returncode in good:
                return json.loads(done.stdout)
            self.given_again += 1
            print(f"{words[0]}: exit {done.returncode}: {done.stderr.strip()[-300:]}", file=sys.stderr)
        raise RuntimeError(f"steady {' '.join(words[:4])} failed {MOST_TRIES} times")

    def disturb(self, seconds):
        return subprocess.Popen([self.options.steady, "disturb", "--seconds", str(seconds), "--seed",
                                 str(self.number)], env=self.environment, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def noisy_hour(self, over):
        """A minute of bursts, beginning half a minute after the tracking does."""
        if over.wait(30):
            return
        child = self.disturb(60)
        over.wait(60)
        child.terminate()
        child.wait()

    def track(self):
        over = threading.Event()
        noise = threading.Thread(target=self.noisy_hour, args=(over,))
        noise.start()
        try:
            # 10: something became slower, which two of the planted changes do.
            done = self.steady("track", "--repo", "fixture", "--backfill", str(COMMITS),
                               *self.question(self.options.pairs), good=(0, 10))
        finally:
            over.set()
            noise.join()
        return done["series"][0]["all_changes"]

    def bisect(self, culprit):
        """Between any two commits around which nothing else changed."""
        all_places = sorted(self.steps)
        before = max([0] + [place for place in all_places if place < culprit])
        after = min([COMMITS] + [place for place in all_places if place > culprit])
        good, bad = self.commits[self.draw.randrange(before, culprit)], \
            self.commits[self.draw.randrange(culprit, after)]
        done = self.steady("bisect", "--no-journal", good, bad, "--repo", "fixture",
                           *self.question(self.options.search_pairs), good=(0, 10, 11, 12))
        middle = {step["commit"] for step in done["steps"] if step["kind"] in ("good", "bad")}
        return {"named": (done.get("culprit") or {}).get("commit") == self.commits[culprit],
                "outcome": done["outcome"], "commits": done["commits"], "builds": len(middle)}

    def run(self):
        load = self.number % 2 == 1
        child = self.disturb(86400) if load else None
        begin = time.monotonic()
        try:
            self.make()
            changes = self.track()
            tracked = time.monotonic() - begin
            marked = {one["commit"]: one["shift"] for one in changes if one["cause"] != "noise"}
            planted = [self.commits[place] for place in sorted(self.steps)]
            searches = [self.bisect(place) for place in sorted(self.steps)]
            return {"repetition": self.number, "load": load, "tracked_s": round(tracked),
                    "seconds": round(time.monotonic() - begin), "given_again": self.given_again,
                    "planted": len(planted), "marked": len([one for one in planted if one in marked]),
                    "others": len([one for one in marked if one not in planted]),
                    "shifts": [round(100 * marked[one], 2) for one in planted if one in marked],
                    "expected": [round(100 * (1 / self.steps[place] - 1), 2) for place in sorted(self.steps)],
                    "searches": searches}
        finally:
            if child:
                child.terminate()
                child.wait()
            subprocess.run([self.options.steady, "db", "stop"], env=self.environment, capture_output=True)
            shutil.rmtree(self.folder, ignore_errors=True)


def table(rows):
    print("| repetition | load beside it | planted marked | others marked | culprits named | midpoint builds, "
          "most | shifts found, % (planted) | minutes |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        named = sum(one["named"] for one in row["searches"])
        shifts = ", ".join(f"{a:+.2f} ({b:+.2f})" for a, b in zip(row["shifts"], row["expected"]))
        print(f"| {row['repetition']} | {'all the time' if row['load'] else 'a noisy hour'} "
              f"| {row['marked']} of {row['planted']} | {row['others']} | {named} of {row['planted']} "
              f"| {max(one['builds'] for one in row['searches'])} | {shifts} | {row['seconds'] / 60:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--seed", type=int, default=32)
    parser.add_argument("--steady", default=str(HERE.parents[2] / "build/release/bin/steady"))
    parser.add_argument("--pairs", type=int, default=100, help="of each commit; nearly all of the time")
    parser.add_argument("--search-pairs", type=int, default=200, help="of each question of a search, at most")
    parser.add_argument("--out", help="file of rows, one JSON document a line")
    options = parser.parse_args()
    rows = []
    if options.out and os.path.exists(options.out):
        rows = [json.loads(line) for line in open(options.out)]
    done = {row["repetition"] for row in rows}
    for number in range(options.repetitions):
        if number in done:
            continue
        row = Repetition(options, number).run()
        rows.append(row)
        print(json.dumps(row), file=sys.stderr, flush=True)
        if options.out:
            with open(options.out, "a") as out:
                out.write(json.dumps(row) + "\n")
    table(rows)


if __name__ == "__main__":
    main()
