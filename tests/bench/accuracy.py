"""How far attn_sdpa and PyTorch are from double precision, in f32.

    python3 tests/bench/accuracy.py HEADERDIR [SEEDS]      HEADERDIR: where attn.h is; ten seeds unless told

Needs numpy, torch and a C compiler (CC in the environment, else cc). Inputs are standard normal. Each figure is the
root mean square, over all elements and seeds, of what an f32 result differs from the same attention of the same inputs
in f64: of attn.h with each instruction set of this CPU, of scaled_dot_product_attention as PyTorch chooses to compute
it, and of its "math" backend, which holds the scores. / PyTorch: the RMS of attn.h over that of the former; below 1
attn.h is the more accurate. The bar: at most 1.00 with every instruction set."""
import ctypes
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

LIBRARY = r"""
#define ATTN_IMPLEMENTATION
#include "attn.h"

/* shape: heads, queries, keys, size */
int accuracy_sdpa(float *out, const float *q, const float *k, const float *v, const size_t *shape, int isa)
{
    size_t heads = shape[0], queries = shape[1], keys = shape[2], size = shape[3];
    attn_ctx ctx = {0};
    ctx.isa = (attn_isa)isa;
    return (int)attn_sdpa(
        attn_bhld(out, ATTN_F32, 1, heads, queries, size), attn_bhld(q, ATTN_F32, 1, heads, queries, size),
        attn_bhld(k, ATTN_F32, 1, heads, keys, size), attn_bhld(v, ATTN_F32, 1, heads, keys, size), NULL, &ctx);
}
"""

# heads, queries, keys, size; more heads where a call is small, for figures as steady
SHAPES = [
    (4096, 4, 4, 8),
    (64, 64, 64, 64),
    (8, 512, 512, 64),
    (2, 2048, 2048, 64),
    (8, 512, 512, 128),
    (4, 512, 512, 256),
] + [(heads if size < 256 else heads // 2, 1, keys, size)
     for size in (64, 128, 256) for heads, keys in ((256, 64), (128, 512), (64, 4096), (32, 16384))]
ISAS = range(1, 5)  # enum attn_isa


def build(headers, directory):
    source, library = os.path.join(directory, "accuracy.c"), os.path.join(directory, "accuracy.so")
    with open(source, "w") as file:
        file.write(LIBRARY)
    command = os.environ.get("CC", "cc").split() + ["-O2", "-fPIC", "-shared", "-I", headers, "-o", library, source]
    subprocess.run(command + ["-lm"], check=True)
    return ctypes.CDLL(library)


def attn(library, isa, q, k, v):
    out = np.empty_like(q)
    shape = (ctypes.c_size_t * 4)(q.shape[0], q.shape[1], k.shape[1], q.shape[2])
    status = library.accuracy_sdpa(*(x.ctypes.data_as(ctypes.c_void_p) for x in (out, q, k, v)), shape, isa)
    if status:
        sys.exit(f"accuracy: attn_sdpa returned {status}")
    return out


def pytorch(q, k, v, *backend):
    arguments = [torch.from_numpy(x)[None] for x in (q, k, v)]
    with torch.inference_mode(), sdpa_kernel(backend[0]) if backend else torch.inference_mode():
        return torch.nn.functional.scaled_dot_product_attention(*arguments)[0].numpy()


def double(q, k, v):
    """One head after another: the scores of all of them together are large."""
    out = np.empty(q.shape)
    for h in range(len(q)):
        scores = q[h].astype(np.float64) @ k[h].astype(np.float64).T / np.sqrt(q.shape[2])
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        out[h] = weights @ v[h].astype(np.float64) / weights.sum(axis=1, keepdims=True)
    return out


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    seeds = int(sys.argv[2]) if len(sys.argv) == 3 else 10
    with tempfile.TemporaryDirectory() as directory:
        library = build(sys.argv[1], directory)
    library.attn_isa_string.restype = ctypes.c_char_p
    who = {library.attn_isa_string(i).decode(): lambda *x, i=i: attn(library, i, *x)
           for i in ISAS if library.attn_isa_available(i)}
    isas = list(who)
    default = f"PyTorch {torch.__version__.split('+')[0]}"
    who[default] = pytorch
    who["math"] = lambda *x: pytorch(*x, SDPBackend.MATH)

    print(f"RMS error in f32 against f64, standard normal inputs, {seeds} seeds; attn.h with each instruction set\n")
    print(f"{'queries x keys x size':<24}" + "".join(f"{name:>16}" for name in who) +
          "".join(f"{name + ' / PyTorch':>20}" for name in isas))
    rows_met = 0
    for heads, queries, keys, size in SHAPES:
        squares = dict.fromkeys(who, 0)
        for seed in range(seeds):
            numbers = np.random.default_rng(seed)
            q, k, v = (numbers.standard_normal((heads, n, size), dtype=np.float32) for n in (queries, keys, keys))
            right = double(q, k, v)
            for name, run in who.items():
                squares[name] += np.square(run(q, k, v) - right).mean() / seeds
        rms = {name: np.sqrt(x) for name, x in squares.items()}
        ratios = [rms[name] / rms[default] for name in isas]
        met = round(max(ratios), 2) <= 1
        rows_met += met
        print(f"{f'{queries} x {keys} x {size}':<24}" + "".join(f"{x:16.3e}" for x in rms.values()) +
              "".join(f"{x:20.2f}" for x in ratios) + f"  (<= 1.00: {'met' if met else 'MISSED'})", flush=True)
    print(f"\n{rows_met} of {len(SHAPES)} bars met")


main()
