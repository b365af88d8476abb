#!/usr/bin/env python3
"""Figures for steady ab: beside hyperfine, what it adds to a run, and how far its modes spread.

A measurement, not a test: run it on a machine that does nothing else.

    python3 tests/runner/tool/outside_figures.py --minutes 60 --out figures.json

  hyperfine  both tools get the same two commands; B takes 0, 1 or 3 % fewer steps, on a quiet
             machine and beside bursts of load. Of the answers: right, none, wrong, and the seconds.
  overhead   the time between the end of a run and the begin of the next: steady's process pairs,
             hyperfine, and the shortest loop that can start a program.
  modes      the spread of a pair (σ_d) in process pairs and in lockstep, for one planted change; and
             with --model FILE of a GGUF also duet, all three with steady-engine.

--minutes bounds the whole: no new comparison begins after it, and one takes at most a minute. Rows
go to --out as they come; with it the same command goes on where it stopped, and a second run with
--minutes 0 prints the tables again.
"""
import argparse
import collections
import datetime
import json
import math
import os
import pathlib
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BIN = ROOT / "build/release/bin"
SHARES = (0, 1, 3)          # planted, per cent of the steps
NOISES = ("quiet", "load")
RUN_SECONDS = 0.02          # of one run of A


class Figures:
    def __init__(self, options, folder):
        self.options, self.folder = options, pathlib.Path(folder)
        self.until = time.monotonic() + 60 * options.minutes
        self.rows = []
        if options.out and os.path.exists(options.out):
            self.rows = [json.loads(line) for line in open(options.out)]
        self.program = str(self.folder / "outside_program")
        subprocess.run(["cc", "-O1", "-o", self.program, HERE / "outside_program.c"], check=True)
        (self.folder / "experiments").mkdir()
        (self.folder / "journal").mkdir()
        self.environment = dict(os.environ, STEADY_ROOT=str(self.folder))
        self.steps = self.calibrated() if options.minutes > 0 else 0

    def time_left(self):
        return time.monotonic() < self.until

    def add(self, **row):
        self.rows.append(row)
        print(json.dumps(row), file=sys.stderr, flush=True)
        if self.options.out:
            with open(self.options.out, "a") as out:
                out.write(json.dumps(row) + "\n")

    def of(self, part):
        return [row for row in self.rows if row["part"] == part]

    def calibrated(self):
        """Steps that take RUN_SECONDS: the fastest of ten runs."""
        steps, best = 10_000_000, math.inf
        for _ in range(10):
            begin = time.monotonic()
            subprocess.run([self.program, str(steps)], check=True)
            best = min(best, time.monotonic() - begin)
        return int(steps * RUN_SECONDS / best)

    def steady(self, *words):
        """One `steady ab`: what it says, and its seconds."""
        begin = time.monotonic()
        done = subprocess.run([self.options.steady, "ab", *words, "--json", "--quiet"],
                              env=self.environment, capture_output=True, text=True)
        seconds = time.monotonic() - begin
        if done.returncode not in (0, 10, 11):
            sys.exit("steady ab %s: exit %d\n%s%s" % (words, done.returncode, done.stdout, done.stderr))
        return json.loads(done.stdout), seconds

    def named(self, repeat):
        """The program under another name: a question of its own, which inherits no evidence."""
        path = self.folder / ("program_%s" % repeat)
        if not path.exists():
            path.write_bytes(pathlib.Path(self.program).read_bytes())
            path.chmod(0o755)
        return str(path)


# ---- beside hyperfine

def steady_answer(figures, a, b):
    shown, seconds = figures.steady(a, b)
    answer = {"accept": "yes", "reject": "no"}.get(shown["verdict"], "none")
    return answer, seconds


def hyperfine_answer(figures, a, b):
    """Two readings: the ± that hyperfine prints leaves out 1, and Welch's test at 5 %."""
    file = figures.folder / "hyperfine.json"
    begin = time.monotonic()
    subprocess.run(["hyperfine", "-N", "--warmup", "3", "--export-json", file, a, b], check=True,
                   capture_output=True)
    seconds = time.monotonic() - begin
    of_a, of_b = json.load(open(file))["results"]
    ratio = of_a["mean"] / of_b["mean"]
    spread = ratio * math.hypot(of_a["stddev"] / of_a["mean"], of_b["stddev"] / of_b["mean"])
    if ratio < 1:  # hyperfine names the faster first: the ratio is at least 1
        spread /= ratio * ratio
        printed = "no" if 1 / ratio - spread > 1 else "none"
    else:
        printed = "yes" if ratio - spread > 1 else "none"
    error = math.hypot(of_a["stddev"] / math.sqrt(len(of_a["times"])),
                       of_b["stddev"] / math.sqrt(len(of_b["times"])))
    t = (of_a["mean"] - of_b["mean"]) / error
    welch = "yes" if t > 1.96 else "no" if t < -1.96 else "none"
    return {"printed": printed, "welch": welch, "seconds": seconds}


def beside_hyperfine(figures):
    done = collections.Counter((r["noise"], r["share"]) for r in figures.of("hyperfine"))
    for repeat in range(figures.options.repeats):
        for noise in NOISES:
            for share in SHARES:
                if done[noise, share] > repeat:
                    continue
                if not figures.time_left():
                    return
                program = figures.named("%d_%s_%d" % (repeat, noise, share))
                a = "%s %d" % (program, figures.steps)
                b = "%s %d" % (program, round(figures.steps * (1 - share / 100)))
                if share == 0:
                    b += " "
                load = None
                if noise == "load":
                    load = subprocess.Popen([figures.program, "load", str(repeat)])
                row = {"part": "hyperfine", "noise": noise, "share": share}
                try:
                    def ask_steady():
                        row["steady"], row["steady_seconds"] = steady_answer(figures, a, b)

                    def ask_hyperfine():
                        row["hyperfine"] = hyperfine_answer(figures, a, b)
                    asked = [ask_steady, ask_hyperfine]
                    random.shuffle(asked)
                    for ask in asked:
                        ask()
                finally:
                    if load:
                        load.kill()
                        load.wait()
                figures.add(**row)


def shares_of(answers, share):
    """Right, none, wrong. With nothing planted, to claim no difference is right."""
    n = max(1, len(answers))
    count = collections.Counter(answers)
    if share == 0:
        wrong = count["yes"]
        return (n - wrong) / n, 0.0, wrong / n
    return count["yes"] / n, count["none"] / n, count["no"] / n


def print_hyperfine(figures):
    rows = figures.of("hyperfine")
    if not rows:
        return
    print("\n| machine | planted | tool | right | no answer | wrong | seconds, median | repeats |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for noise in NOISES:
        for share in SHARES:
            these = [r for r in rows if (r["noise"], r["share"]) == (noise, share)]
            if not these:
                continue
            tools = (
                ("steady ab", [r["steady"] for r in these], [r["steady_seconds"] for r in these]),
                ("hyperfine, ± as printed", [r["hyperfine"]["printed"] for r in these],
                 [r["hyperfine"]["seconds"] for r in these]),
                ("hyperfine, Welch's test", [two_sided(r["hyperfine"]["welch"], share) for r in these],
                 [r["hyperfine"]["seconds"] for r in these]))
            for tool, answers, seconds in tools:
                right, none, wrong = shares_of(answers, share)
                print("| %s | %d %% | %s | %.0f %% | %.0f %% | %.0f %% | %.1f | %d |" %
                      ({"quiet": "quiet", "load": "bursts of load"}[noise], share, tool, 100 * right,
                       100 * none, 100 * wrong, statistics.median(seconds), len(these)))


def two_sided(answer, share):
    """Of equal commands, "slower" is as wrong as "faster"; steady's "no" says only: no gain."""
    return "yes" if share == 0 and answer == "no" else answer


# ---- what it adds to a run

def gaps(log):
    """Seconds between the end of a run and the begin of the next, in the order in which they ran."""
    times = sorted(tuple(int(word) for word in line.split()) for line in open(log))
    os.remove(log)
    return [(after[0] - before[1]) / 1e9 for before, after in zip(times, times[1:])]


def overhead(figures):
    log = str(figures.folder / "runs.log")
    for round_ in range(len(figures.of("overhead")) // 3, 5):
        if not figures.time_left():
            return
        command = "%s %d %s" % (figures.named("overhead_%d" % round_), figures.steps, log)

        def start():
            subprocess.run([figures.program, "start", "200", *command.split()], check=True)

        def hyperfine():
            subprocess.run(["hyperfine", "-N", "--runs", "100", command, command], check=True,
                           capture_output=True)

        def steady():
            figures.steady(command, command + " ", "--pairs", "100", "--worth", "0.1%")
        for name, run in (("loop", start), ("hyperfine", hyperfine), ("steady", steady)):
            run()
            between = gaps(log)
            figures.add(part="overhead", tool=name, runs=len(between) + 1,
                        mean=statistics.mean(sorted(between)[:-1]), median=statistics.median(between))


def print_overhead(figures):
    rows = figures.of("overhead")
    if not rows:
        return
    floor = statistics.median(r["mean"] for r in rows if r["tool"] == "loop")
    print("\n| between two runs of %.0f ms | median | mean | added to a run, mean |" %
          (1000 * RUN_SECONDS))
    print("| --- | --- | --- | --- |")
    for tool, words in (("loop", "fork, exec, wait"), ("hyperfine", "hyperfine -N"),
                        ("steady", "steady ab, process pairs")):
        these = [r for r in rows if r["tool"] == tool]
        mean = statistics.median(r["mean"] for r in these)
        print("| %s | %.2f ms | %.2f ms | %.2f ms (%.1f %%) |" %
              (words, 1000 * statistics.median(r["median"] for r in these), 1000 * mean,
               1000 * (mean - floor), 100 * (mean - floor) / RUN_SECONDS))


# ---- spread of a pair, by mode

def modes(figures):
    """One planted per cent; a pair is as much work in each mode: 20 turns or 20 runs' work."""
    turn = figures.steps // 4
    few = ["--pairs", "40", "--worth", "0.2%"]
    asked = [
        ("process pairs", lambda n: figures.steady(
            "%s %d" % (figures.named(n), 20 * turn),
            "%s %d" % (figures.named(n), 20 * turn * 99 // 100), *few)),
        ("lockstep", lambda n: figures.steady(
            "%s %d lockstep" % (figures.named(n), turn),
            "%s %d lockstep" % (figures.named(n), turn * 99 // 100), "--lockstep", *few))]
    if figures.options.model:
        asked += engine_modes(figures, few)
    for repeat in range(3):
        for name, ask in asked:
            if not figures.time_left():
                return
            shown, seconds = ask(repeat)
            figures.add(part="modes", mode=name, seconds=seconds, pairs=shown["pairs"],
                        verdict=shown["verdict"], effect=shown["effect"],
                        interval=shown["interval"], sigma_d=shown["sigma_d"])


def engine_modes(figures, few):
    """steady-engine with 1 % burnt in A: duet, and both modes of any program."""
    engine, model = figures.options.engine, os.path.abspath(figures.options.model)
    client = "python3 %s %s %s" % (HERE / "engine_lockstep.py", engine, model)
    bench = "%s bench model %s -n 64 --threads 1 --json" % (engine, model)
    reads = ["--adapter", "steady-engine", "--metric", "decode_tps"]
    turns = ["--lockstep", "--adapter", "lines", "--metric", "token_ns", "--direction", "lower"]

    def duet(n):
        spec = {
            "id": "duet-%d" % n, "owner": "figures",
            "hypothesis": {"claim": "without the burnt share it is faster", "because": "less to do",
                           "predict": {"metric": "decode_tps", "change": ["+0.5%", "+1.5%"]}},
            "subject": {"program": "steady-engine", "model": os.path.basename(model),
                        "workload": "prose", "threads": 1},
            "arms": {"A": {"engine_flags": {"burn": "1%"}}, "B": {"engine_flags": {"burn": "0%"}}},
            "expect_diff": ["engine_flags.burn"],
            "gates": [{"id": "tokens", "level": "correctness", "role": "guard",
                       "need": {"top1_agree": ">=0.9", "kl": "<=0.02"}},
                      {"id": "decode", "level": "model", "role": "decides", "metric": "decode_tps",
                       "worth": "0.2%"}],
            "schedule": {"mode": "duet", "seed": n + 1, "pairs": {"max": 40}, "aa_pairs": 6}}
        workloads = figures.folder / "experiments/workloads"
        if not workloads.exists():
            workloads.symlink_to(ROOT / "experiments/workloads")
        (figures.folder / ("experiments/duet-%d.json" % n)).write_text(json.dumps(spec))
        begin = time.monotonic()
        done = subprocess.run([figures.options.steady, "run", "duet-%d" % n, "--models",
                               os.path.dirname(model), "--again", "--json", "--quiet"],
                              env=figures.environment, capture_output=True, text=True)
        if done.returncode not in (0, 10, 11):
            sys.exit("steady run: exit %d\n%s%s" % (done.returncode, done.stdout, done.stderr))
        return json.loads(done.stdout), time.monotonic() - begin
    # REPEAT and --tag only make each repeat a question of its own.
    return [("engine, duet", duet),
            ("engine, lockstep", lambda n: figures.steady(
                "env REPEAT=%d %s 1%%" % (n, client), "env REPEAT=%d %s 0%%" % (n, client), *turns, *few)),
            ("engine, process pairs", lambda n: figures.steady(
                "%s --tag r%d --burn 1%%" % (bench, n), "%s --tag r%d --burn 0%%" % (bench, n),
                *reads, *few))]


def print_modes(figures):
    rows = figures.of("modes")
    if not rows:
        return
    print("\n| mode | σ_d of a pair | answers | effect | pairs | seconds, median |")
    print("| --- | --- | --- | --- | --- | --- |")
    for mode in dict.fromkeys(r["mode"] for r in rows):
        these = [r for r in rows if r["mode"] == mode]
        spreads = ["%.2f %%" % (100 * r["sigma_d"]) for r in these if r["sigma_d"]]
        effects = ["%+.2f %%" % (100 * r["effect"]) for r in these if r["effect"] is not None]
        print("| %s | %s | %s | %s | %s | %.1f |" %
              (mode, ", ".join(spreads), ", ".join(r["verdict"] for r in these), ", ".join(effects),
               ", ".join(str(r["pairs"]) for r in these),
               statistics.median(r["seconds"] for r in these)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--part", action="append", choices=("hyperfine", "overhead", "modes"))
    parser.add_argument("--out", help="file of rows, a JSON object each")
    parser.add_argument("--steady", default=str(BIN / "steady"))
    parser.add_argument("--engine", default=str(BIN / "steady-engine"))
    parser.add_argument("--model", help="GGUF for the comparison with duet")
    options = parser.parse_args()
    parts = {"overhead": (overhead, print_overhead), "modes": (modes, print_modes),
             "hyperfine": (beside_hyperfine, print_hyperfine)}
    with tempfile.TemporaryDirectory() as folder:
        figures = Figures(options, folder)
        for name, (measure, _) in parts.items():
            if figures.time_left() and name in (options.part or parts):
                measure(figures)
        version = subprocess.run([options.steady, "--version"], capture_output=True, text=True).stdout
        print("%s, %d CPUs, load %.1f, %s; %s" %
              (platform.machine(), os.cpu_count(), os.getloadavg()[0],
               datetime.date.today().isoformat(), version.strip().splitlines()[0]))
        for _, show in parts.values():
            show(figures)


if __name__ == "__main__":
    main()
