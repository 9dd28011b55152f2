"""Writes steps.h: what PyTorch and entmax compute for the steps, in f64.   python3 make_steps.py > steps.h

The inputs are not stored: inputs() here and in test_steps.c produce the same numbers, multiples of 1/64 that every
dtype holds exactly. Those of entmax are, for test_sparsemax.c."""
import importlib.metadata

import entmax
import torch
import torch.nn.functional as F


def inputs(seed):
    while True:
        seed = (seed * 1664525 + 1013904223) % 2**32
        yield ((seed >> 16) % 255 - 127) / 64


def matrices(seed, *shapes):
    source = inputs(seed)
    return [torch.tensor([[next(source) for _ in range(c)] for _ in range(r)], dtype=torch.float64) for r, c in shapes]


def show(name, m):
    numbers = [f"{x:.17g}" for x in m.flatten().tolist()]
    lines = [", ".join(numbers[i:i + 5]) for i in range(0, len(numbers), 5)]
    body = ",\n    ".join(lines)
    print(f"\nstatic const double golden_{name}[] = {{\n    {body}}};")


print("/* Written by make_steps.py with PyTorch %s: the results of the steps on its inputs, row by row. */" % torch.__version__.split("+")[0])

a, b = matrices(1, (3, 7), (7, 5))
show("matmul", a @ b)
(x,) = matrices(2, (4, 9))
show("softmax", torch.softmax(x, dim=1))
q, k, w = matrices(3, (3, 4), (5, 6), (4, 6))
show("scores_general", q @ w @ k.T)
q, k, wq, wk, v = matrices(4, (3, 4), (5, 6), (4, 7), (6, 7), (7, 1))
show("scores_additive", (torch.tanh((q @ wq)[:, None, :] + (k @ wk)[None, :, :]) @ v).squeeze(-1))
q, k = matrices(5, (4, 6), (5, 6))
show("scores_cosine", 2.5 * F.cosine_similarity(q[:, None, :], k[None, :, :], dim=-1))
q, k, v = matrices(6, (4, 8), (6, 8), (6, 5))
show("attention", F.scaled_dot_product_attention(q[None], k[None], v[None])[0])
q, k, v = matrices(7, (3, 8), (6, 8), (6, 2))
show("attention_scaled", F.scaled_dot_product_attention(q[None], k[None], v[None], scale=0.1)[0])

version = importlib.metadata.version("entmax")
print(f"\n/* With entmax {version}: rows of few that count, and rows near one another. */")
for name, x in zip(("far", "near"), matrices(8, (6, 9), (3, 40))):
    x = x / 8 if name == "near" else x
    show("sparse_" + name, x)
    show("sparsemax_" + name, entmax.sparsemax(x, dim=1))
    show("entmax15_" + name, entmax.entmax15(x, dim=1))
