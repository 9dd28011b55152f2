"""Writes rope.h: frequencies and scales that transformers computes, in float.   python3 make_rope.py > rope.h

"proportional" has come with transformers 5: the two lines of its formula are written here."""
import types

import torch
import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

LONG = [1 + 0.25 * d + (d % 3) for d in range(16)]


def config(dim, base, most, **scaling):
    return types.SimpleNamespace(
        rope_theta=base, partial_rotary_factor=1.0, head_dim=dim, hidden_size=dim, num_attention_heads=1,
        max_position_embeddings=most, original_max_position_embeddings=scaling.get("original_max_position_embeddings"),
        rope_scaling=scaling)


def proportional(c, device):
    dim, s = c.head_dim, c.rope_scaling
    turning = int(s["partial_rotary_factor"] * dim // 2)
    freq = 1 / c.rope_theta ** (torch.arange(0, 2 * turning, 2, dtype=torch.float) / dim)
    return torch.cat((freq, torch.zeros(dim // 2 - turning))) / s["factor"], 1.0


def show(name, kind, base, most, dim=32, **scaling):
    function = proportional if name == "proportional" else ROPE_INIT_FUNCTIONS[name]
    freq, scale = function(config(dim, base, most, rope_type=name, **scaling), torch.device("cpu"))
    fields = {"factor": "factor", "original_max_position_embeddings": "original_len", "beta_fast": "beta_fast",
              "beta_slow": "beta_slow", "high_freq_factor": "beta_fast", "low_freq_factor": "beta_slow",
              "mscale": "mscale", "mscale_all_dim": "mscale_all_dim", "partial_rotary_factor": "share"}
    given = {fields[k]: repr(float(v)) for k, v in scaling.items() if k in fields}
    if name == "longrope":
        given["factor"] = repr(most / scaling["original_max_position_embeddings"])
        given["factors"] = "golden_rope_factors"
    elif name == "yarn" and "original_len" in given:
        given["factor"] = repr(most / scaling["original_max_position_embeddings"])
    if scaling.get("truncate") is False:
        given["no_truncate"] = "1"
    body = ", ".join([f".kind = ATTN_ROPE_{kind}"] + [f".{k} = {v}" for k, v in given.items()])
    numbers = [f"{x:.9g}" for x in freq.tolist()]
    lines = [", ".join(numbers[i:i + 7]) for i in range(0, len(numbers), 7)]
    print(f"    {{{dim}, {base!r},\n     {{{body}}},\n     {float(scale):.9g},\n     {{" + ",\n      ".join(lines) + "}},")


print(f"/* Written by make_rope.py with transformers {transformers.__version__}. */")
print("static const double golden_rope_factors[] = {" + ", ".join(repr(x) for x in LONG) + "};")
print("static const struct golden_rope {\n    size_t dim;\n    double base;\n    attn_rope_scaling scaling;\n"
      "    double scale, freq[32];\n} golden_ropes[] = {")
show("linear", "LINEAR", 10000.0, 4096, factor=4.0)
show("yarn", "YARN", 1e6, 131072, factor=4.0, original_max_position_embeddings=32768)
show("yarn", "YARN", 10000.0, 163840, dim=64, factor=40.0, original_max_position_embeddings=4096, beta_fast=32,
     beta_slow=1, mscale=1.0, mscale_all_dim=0.7)
show("yarn", "YARN", 150000.0, 131072, dim=64, factor=32.0, original_max_position_embeddings=4096, beta_fast=32.0,
     beta_slow=1.0, truncate=False)
show("llama3", "LLAMA3", 500000.0, 131072, dim=64, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
     original_max_position_embeddings=8192)
show("llama3", "LLAMA3", 500000.0, 131072, dim=64, factor=32.0, low_freq_factor=2.0, high_freq_factor=3.0,
     original_max_position_embeddings=2048)
show("longrope", "LONGROPE", 10000.0, 131072, original_max_position_embeddings=4096, long_factor=LONG,
     short_factor=LONG)
show("proportional", "PROPORTIONAL", 1e6, 131072, dim=64, factor=8.0, partial_rotary_factor=0.25)
print("};")
