#!/usr/bin/env python3
"""The joined experts as two Triton kernels behind the router's product, for GLM-4.7-Flash.

The first chooses the experts in every program, as kernel.cu does, and makes 32 hidden values of one
expert, in bytes; the second adds all chosen experts' and the shared one's outputs to the residual.
What the first writes is what kernel.cu's first writes, so that either can run before either second.
This script compiles what triton_experts.json chooses, for sm_90a and without a GPU: PTX files, and
triton_experts.h with their launch data.

    python3 kernels/moe_decode/triton_experts.py
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "generated"))

import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from triton_planes import ask, ask_rows, dot, gated, load_half, nearest, normed, zero_of
from triton_write import Script, compiled

SCRIPT = Script(__file__)
KINDS = {"q4_0": 4, "q5_k": 5, "q6_k": 6}  # as in triton_planes.py
COLS, HIDDEN, SHARED, USED = 2048, 1536, 1536, 4  # of GLM-4.7-Flash, as in MoeDecodeShape
MOST_EXPERTS, MOST_USED = 64, 8  # powers of two

# What gets a kernel: which of the two, and the type of the shared expert's matrices that it reads.
# The experts' own are Q4_0.
SHAPES = {
    "hidden_q5_k": ("hidden", "q5_k"),
    "down_q6_k": ("down", "q6_k"),
    "down_q5_k": ("down", "q5_k"),
}


# Triton loads a short vector in many threads at once. What all programs read is therefore cached in
# their multiprocessors: a line of the second-level cache serves requests one by one.


# Each expert's place in the choice and its probability. Whatever the logits are, no place's expert
# lies behind the last.
@triton.jit
def ranked(logits, offset, n_experts, sigmoid, EXPERTS: tl.constexpr):
    e = tl.arange(0, EXPERTS)
    there = e < n_experts
    logit = tl.load(logits + e, mask=there, other=float("-inf"))
    if sigmoid != 0:
        probability = 1.0 / (1.0 + tl.exp(-logit))
    else:
        each = tl.exp(logit - tl.max(logit, axis=0))
        probability = each / tl.sum(each, axis=0)
    score = tl.where(there, probability + offset, float("-inf"))
    one, other = score[:, None], score[None, :]
    before = (other > one) | ((other == one) & (e[None, :] < e[:, None]))
    place = tl.where(there, tl.sum(before.to(tl.int32), axis=1), EXPERTS)
    return place, probability


# The choice for the next kernel.
@triton.jit
def put_choice(place, probability, ids, weights, n_used, normalise, scale, smallest,
               EXPERTS: tl.constexpr, MOST: tl.constexpr):
    k = tl.arange(0, MOST)
    chosen = place[None, :] == k[:, None]
    e = tl.arange(0, EXPERTS)[None, :]
    own = tl.sum(tl.where(chosen, probability[None, :], 0.0), axis=1)
    total = tl.sum(tl.where(k < n_used, own, 0.0), axis=0)
    factor = tl.where(normalise != 0, scale / tl.maximum(total, smallest), scale)
    tl.store(ids + k, tl.max(tl.where(chosen, e, 0), axis=1), mask=k < n_used)
    tl.store(weights + k, own * factor, mask=k < n_used)


# Hidden values of 32 rows of two matrices, ROWS at a time, the next ones asked for meanwhile.
@triton.jit
def hidden_rows(gate, up, first, of_gate, of_up, x, COLS: tl.constexpr, ROWS: tl.constexpr,
                KIND: tl.constexpr):
    U: tl.constexpr = COLS // 32
    GROUPS: tl.constexpr = 32 // ROWS
    values = tl.zeros((GROUPS, ROWS), tl.float32)
    for i in tl.range(0, GROUPS, num_stages=1):
        rows = first + (i + 1) * ROWS + tl.arange(0, ROWS)
        next_gate = ask_rows(gate, rows, i + 1 < GROUPS, 0, U, COLS, KIND)
        next_up = ask_rows(up, rows, i + 1 < GROUPS, 0, U, COLS, KIND)
        made = gated(dot(of_gate, x, KIND), dot(of_up, x, KIND))
        values = tl.where((tl.arange(0, GROUPS) == i)[:, None], made[None, :], values)
        of_gate, of_up = next_gate, next_up
    return values


# A unit of hidden values in bytes: where it lies, see bytes_at in kernel.cu.
@triton.jit
def put_unit(values, out, unit, n_units, ROWS: tl.constexpr):
    n = tl.arange(0, 32 // ROWS)[:, None] * ROWS + tl.arange(0, ROWS)[None, :]
    most = tl.max(tl.max(tl.abs(values), axis=1), axis=0)
    q = nearest(values * tl.where(most > 0.0, 127.0 / most, 0.0))
    tl.store(out + unit * 16 + n % 16 + n // 16 * 16 * n_units, q.to(tl.int8))
    low = tl.sum(tl.sum(tl.where(n < 16, q, 0), axis=1), axis=0)
    high = tl.sum(tl.sum(tl.where(n < 16, 0, q), axis=1), axis=0)
    of_unit = out + 32 * n_units + 8 * unit
    tl.store(of_unit.to(tl.pointer_type(tl.float32)), most * (1.0 / 127.0))
    tl.store(of_unit.to(tl.pointer_type(tl.int32)) + 1, (low & 0xFFFF) | (high << 16))


# A program makes one unit, of the experts in the order of the choice and then of the shared one.
# EARLY: the kernel behind may start at once, or when the vector is prepared.
@triton.jit(do_not_specialize=["n_experts", "n_used", "n_units", "width", "has_bias", "sigmoid",
                               "normalise"])
def hidden(x, norm, logits, bias, gate, up, shared_gate, shared_up, ids, weights, out, n_experts,
           n_used, n_units, width, has_bias, sigmoid, normalise, scale, smallest, eps,
           KIND: tl.constexpr, COLS: tl.constexpr, ROWS: tl.constexpr, EARLY: tl.constexpr,
           EXPERTS: tl.constexpr, MOST: tl.constexpr):
    U: tl.constexpr = COLS // 32
    if EARLY:
        gdc_launch_dependents()
    unit = tl.program_id(0)
    of_expert = width // 32
    weights_low = load_half(norm, 0, U, 0)
    weights_high = load_half(norm, 0, U, 1)
    if unit < n_used * of_expert:
        e = tl.arange(0, EXPERTS)
        offset = tl.load(bias + e, mask=(e < n_experts) & (has_bias != 0), other=0.0)
        gdc_wait()
        x_low = load_half(x, 0, U, 0)
        x_high = load_half(x, 0, U, 1)
        place, probability = ranked(logits, offset, n_experts, sigmoid, EXPERTS)
        here = place == unit // of_expert
        expert = tl.max(tl.where(here, e, 0), axis=0)
        first = expert * width + unit % of_expert * 32
        rows = first + tl.arange(0, ROWS)
        of_gate = ask_rows(gate, rows, True, 0, U, COLS, 4)
        of_up = ask_rows(up, rows, True, 0, U, COLS, 4)
        v = normed(x_low, x_high, weights_low, weights_high, eps, U, 4)
        if not EARLY:
            gdc_launch_dependents()
        values = hidden_rows(gate, up, first, of_gate, of_up, v, COLS, ROWS, 4)
        put_unit(values, out, unit, n_units, ROWS)
        if unit == 0:
            put_choice(place, probability, ids, weights, n_used, normalise, scale, smallest,
                       EXPERTS, MOST)
    else:  # names of its own, since these weights are of another type
        shared_first = (unit - n_used * of_expert) * 32
        shared_rows = shared_first + tl.arange(0, ROWS)
        of_shared_gate = ask_rows(shared_gate, shared_rows, True, 0, U, COLS, KIND)
        of_shared_up = ask_rows(shared_up, shared_rows, True, 0, U, COLS, KIND)
        gdc_wait()
        shared_v = normed(load_half(x, 0, U, 0), load_half(x, 0, U, 1), weights_low, weights_high,
                          eps, U, KIND)
        if not EARLY:
            gdc_launch_dependents()
        of_shared = hidden_rows(shared_gate, shared_up, shared_first, of_shared_gate, of_shared_up,
                                shared_v, COLS, ROWS, KIND)
        put_unit(of_shared, out, unit, n_units, ROWS)


# Units FIRST … of all chosen experts' rows, one expert's after the other's.
@triton.jit
def ask_chosen(w, expert, rows, width, FIRST: tl.constexpr, UNITS: tl.constexpr,
               HIDDEN: tl.constexpr):
    u = (FIRST + tl.arange(0, UNITS)) % (HIDDEN // 32)
    return ask(w, expert[None, :] * width + rows[:, None], u[None, :], True, HIDDEN, 4)


# What a choice says of each of these units.
@triton.jit
def of_units(p, FIRST: tl.constexpr, UNITS: tl.constexpr, HIDDEN: tl.constexpr):
    return tl.load(p + (FIRST + tl.arange(0, UNITS)) // (HIDDEN // 32))


@triton.jit
def load_units(values, FIRST: tl.constexpr, UNITS: tl.constexpr, ALL: tl.constexpr):
    u = FIRST + tl.arange(0, UNITS)
    at = values.to(tl.pointer_type(tl.int32)) + u[:, None] * 4 + tl.arange(0, 4)[None, :]
    scale = tl.load(values.to(tl.pointer_type(tl.float32)) + 8 * ALL + 2 * u)
    return tl.load(at), tl.load(at + 4 * ALL), scale


# The loaded units as dot wants them, times a factor each.
@triton.jit
def vector_of(loaded, factor, KIND: tl.constexpr, UNITS: tl.constexpr):
    low, high, scale = loaded
    return low, high, zero_of(low, KIND, UNITS), zero_of(high, KIND, UNITS), scale * factor


# A program takes ROWS outputs. Units come in powers of two, since tensors do: a head and a tail of
# the experts' USED * HIDDEN / 32 and of the shared one's SHARED / 32.
@triton.jit(do_not_specialize=["width"])
def down(x, w, shared, values, ids, weights, width, KIND: tl.constexpr, HIDDEN: tl.constexpr,
         SHARED: tl.constexpr, HEAD: tl.constexpr, TAIL: tl.constexpr,
         SHARED_HEAD: tl.constexpr, SHARED_TAIL: tl.constexpr, ROWS: tl.constexpr,
         EARLY: tl.constexpr):
    ALL: tl.constexpr = HEAD + TAIL + SHARED_HEAD + SHARED_TAIL
    if EARLY:
        gdc_launch_dependents()
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    shared_head = ask_rows(shared, rows, True, 0, SHARED_HEAD, SHARED, KIND)
    shared_tail = ask_rows(shared, rows, True, SHARED_HEAD, SHARED_TAIL, SHARED, KIND)
    gdc_wait()
    # All that comes from the kernel before is asked for at once.
    expert_head = of_units(ids, 0, HEAD, HIDDEN)
    expert_tail = of_units(ids, HEAD, TAIL, HIDDEN)
    x_head = load_units(values, 0, HEAD, ALL)
    x_tail = load_units(values, HEAD, TAIL, ALL)
    x_shared_head = load_units(values, HEAD + TAIL, SHARED_HEAD, ALL)
    x_shared_tail = load_units(values, HEAD + TAIL + SHARED_HEAD, SHARED_TAIL, ALL)
    weight_head = of_units(weights, 0, HEAD, HIDDEN)
    weight_tail = of_units(weights, HEAD, TAIL, HIDDEN)
    before = tl.load(x + rows, cache_modifier=".cg")
    head = ask_chosen(w, expert_head, rows, width, 0, HEAD, HIDDEN)
    tail = ask_chosen(w, expert_tail, rows, width, HEAD, TAIL, HIDDEN)
    if not EARLY:
        gdc_launch_dependents()
    sums = dot(shared_head, vector_of(x_shared_head, 1.0, KIND, SHARED_HEAD), KIND)
    sums += dot(shared_tail, vector_of(x_shared_tail, 1.0, KIND, SHARED_TAIL), KIND)
    sums += dot(head, vector_of(x_head, weight_head, 4, HEAD), 4)
    sums += dot(tail, vector_of(x_tail, weight_tail, 4, TAIL), 4)
    tl.store(x + rows, before + sums)


KERNELS = {"hidden": hidden, "down": down}
PARAMETERS = {
    "hidden": {"x": "*fp32", "norm": "*fp32", "logits": "*fp32", "bias": "*fp32", "gate": "*u8",
               "up": "*u8", "shared_gate": "*u8", "shared_up": "*u8", "ids": "*i32",
               "weights": "*fp32", "out": "*u8",
               **dict.fromkeys(["n_experts", "n_used", "n_units", "width", "has_bias", "sigmoid",
                                "normalise"], "i32"),
               **dict.fromkeys(["scale", "smallest", "eps"], "fp32")},
    "down": {"x": "*fp32", "w": "*u8", "shared": "*u8", "values": "*u8", "ids": "*i32",
             "weights": "*fp32", "width": "i32"},
}
UNALIGNED = ("logits", "bias", "ids", "weights")
KNOBS = ["ROWS", "EARLY"]  # and the number of warps


def parts_of(units):
    head = 1 << (units.bit_length() - 1)
    assert (units - head) & (units - head - 1) == 0, units
    return head, units - head


def constants_of(shape, chosen):
    role, kind = SHAPES[shape]
    knobs = {"KIND": KINDS[kind], **{knob: chosen[knob] for knob in KNOBS}}
    if role == "hidden":
        return {**knobs, "COLS": COLS, "EXPERTS": MOST_EXPERTS, "MOST": MOST_USED}
    head, tail = parts_of(USED * HIDDEN // 32)
    shared_head, shared_tail = parts_of(SHARED // 32)
    return {**knobs, "HIDDEN": HIDDEN, "SHARED": SHARED, "HEAD": head, "TAIL": tail,
            "SHARED_HEAD": shared_head, "SHARED_TAIL": shared_tail}


def name_of(chosen):
    consumers = "" if chosen["EARLY"] else ", consumers late"
    return f"rows {chosen['ROWS']}, warps {chosen['warps']}{consumers}"


def write_ptx(way, shape, chosen):
    """Symbol, row of the header's table, and how many scratch pointers the kernel has."""
    role, kind = SHAPES[shape]
    ptx, shared, scratch = compiled(KERNELS[role], PARAMETERS[role], constants_of(shape, chosen),
                                    chosen["warps"], 1, UNALIGNED)
    assert shared <= 32 * 1024, f"{shape} needs {shared} bytes of shared memory"
    symbol, sha256 = SCRIPT.write_ptx(f"{way}_{shape}", ptx, f"{way}, {shape}: {name_of(chosen)}")
    rows = 32 if role == "hidden" else chosen["ROWS"]
    row = (f"    {{{symbol},\n     \"{sha256}\",\n"
           f"     Type::{kind}, {rows}, {32 * chosen['warps']}, {shared}}},")
    return symbol, row, scratch


HEADER = """\
{head}// Launch data of the kernels in the PTX files beside this header. For .cu files alone.
#pragma once

#include "kernels/moe_decode/op.h"

{symbols}

namespace steady::cuda {{

// The shapes that have kernels. Hidden values are made for any width of experts.
constexpr int kTritonCols = {cols}, kTritonHidden = {hidden}, kTritonShared = {shared};
constexpr int kTritonUsed = {used}, kTritonMostUsed = {most_used}, kTritonMostExperts = {most};
// Behind our parameters: pointers that Triton adds, for what these kernels do not use.
constexpr int kTritonExpertsScratch = {scratch};

struct TritonExperts {{
    const char* ptx;
    const char* sha256;  // of the file, so that a hash of this header's code tells its kernels too
    Type shared_type;    // of the matrices that it reads
    int rows;            // of a program
    int threads, shared_bytes;
}};

{tables}
}}  // namespace steady::cuda
// clang-format on
"""


def generate():
    SCRIPT.remove_ptx()
    choice = json.loads(SCRIPT.choice.read_text())
    symbols, tables, scratch = [], "", set()
    for way in [way for way in ("autotuner", "chained") if way in choice]:
        for role in KERNELS:
            name = f"kTriton{way.capitalize()}{role.capitalize()}"
            tables += f"constexpr TritonExperts {name}[] = {{\n"
            for shape, chosen in choice[way].items():
                if SHAPES[shape][0] != role:
                    continue
                symbol, row, pointers = write_ptx(way, shape, chosen)
                symbols.append(f'extern "C" const char {symbol}[];')
                scratch.add(pointers)
                tables += row + "\n"
            tables += "};\n"
    assert len(scratch) == 1, scratch
    SCRIPT.header.write_text(HEADER.format(
        head=SCRIPT.head(["clang-format off"]), symbols="\n".join(symbols), scratch=scratch.pop(),
        tables=tables, cols=COLS, hidden=HIDDEN, shared=SHARED, used=USED, most=MOST_EXPERTS,
        most_used=MOST_USED))


if __name__ == "__main__":
    generate()
