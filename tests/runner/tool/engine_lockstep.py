#!/usr/bin/env python3
"""steady-engine as a program of lockstep, for outside_figures.py: a turn is 16 tokens of one arm.

    engine_lockstep.py ENGINE MODEL BURN     BURN: the share of its own time that it spins away
"""
import json
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "runner/programs/lockstep/clients"))
import steady_lockstep  # noqa: E402

TEXT = "The committee met on the second floor and wrote down what it had measured. " * 4


class Engine:
    def __init__(self, engine, model, burn):
        self.process = subprocess.Popen([engine, "session", model], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        arm = {"threads": 1, "engine_flags": {"burn": burn}}
        self.ask({"type": "open", "arms": {"A": arm, "B": arm}})

    def ask(self, request):
        self.process.stdin.write(json.dumps(dict(request, nonce="1")) + "\n")
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        if reply.get("type") == "error":
            raise RuntimeError(reply["error"])
        return reply

    def turn(self, n, out):
        """Both arms of the session are the same; the first one's tokens count."""
        for _ in range(n):
            reply = self.ask({"type": "duet", "coins": "00", "chunk": 16, "warmup_tokens": 16,
                              "tokens": 16, "prompt_tokens": 8, "text": TEXT})
            out.add("token_ns", statistics.median(reply["a"]["token_ns"][16:]), "ns", "lower")


if len(sys.argv) != 4:
    sys.exit(__doc__)
engine = Engine(*sys.argv[1:])
try:
    steady_lockstep.serve(engine.turn)
finally:
    engine.process.stdin.close()
    engine.process.wait()
