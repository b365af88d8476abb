#!/usr/bin/env python3
"""Steady's lockstep protocol for a Python program, version 1: one file, nothing else.

    import steady_lockstep
    data = load()                              # once, before the first turn
    def work(n, out):
        for _ in range(n):
            parse(data)                        # the work, n times
        out.add("score", 17, direction="higher")   # optional: wall time is measured
    steady_lockstep.serve(work)

Or without a line of your own, with a function that takes no arguments:

    steady_lockstep.py module:function

What the program prints to stdout goes to stderr: stdout belongs to the protocol.
"""
import importlib
import json
import os
import sys


class Results:
    def __init__(self):
        self.lines = []

    def add(self, metric, value, unit="", direction="", **labels):
        row = {"metric": metric, "value": value}
        if unit:
            row["unit"] = unit
        if direction:
            row["direction"] = direction
        if labels:
            row["labels"] = {key: str(text) for key, text in labels.items()}
        self.lines.append(json.dumps(row) + "\n")


def serve(work):
    """Serves turns until quit or the end of stdin."""
    sys.stdout.flush()
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(text):
        replies.write(text)
        replies.flush()

    for line in sys.stdin:
        words = line.split()
        if words[:1] == ["run"] and len(words) == 2 and words[1].isdigit() and int(words[1]) > 0:
            results = Results()
            try:
                work(int(words[1]), results)
            except Exception as failure:  # the runner is told, and decides
                say("error %s\n" % (repr(failure).replace("\n", " "),))
                continue
            say("".join(results.lines) + "done " + words[1] + "\n")
        elif words == ["hello", "1"]:
            say("ready 1\n")
        elif words == ["quit"]:
            return
        else:
            say("error this program speaks version 1 of the protocol: hello 1, run N, quit\n")


def main():
    if len(sys.argv) != 2 or ":" not in sys.argv[1]:
        sys.exit("usage: steady_lockstep.py module:function")
    module, name = sys.argv[1].split(":", 1)
    sys.path.insert(0, os.getcwd())
    function = getattr(importlib.import_module(module), name)

    def work(n, _out):
        for _ in range(n):
            function()

    serve(work)


if __name__ == "__main__":
    main()
