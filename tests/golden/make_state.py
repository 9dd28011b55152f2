"""Writes state.h: what transformers, PyTorch and ONNX Runtime compute for positions, for the multi-head layer and for
sequences that grow.   python3 make_state.py > state.h

Inputs, samples and sums are as in make_sdpa.py, beside which this script must lie. Here too a peer is believed only
where a plain composition in f64 agrees, and the same composition in f32 gives the error that tolerances start from.

Peers that compute angles in f32 (Llama, GPT-NeoX, GPT-J) are off by about 2^-24 of an angle: their cases stay near the
start, except few that say where they are. Long distances are ONNX Runtime's, whose tables of cosines come from f64.
T5 has its softmax in f32.

Not recorded, because there the peer does not do what its documentation says, leaves it open, or refuses the call:
  - MultiheadAttention: a row that sees nothing is NaN.
  - T5: more buckets than distances up to max_distance, where the logarithm turns around.
  - YaRN: a length in training of so few or so many turns that no pair lies between the betas; its ramp then descends.
  - GroupQueryAttention: do_rotary with D no multiple of 16, several queries after a past with B > 1. A sliding cache
    larger than its window drops several tokens at a time, and leaves the rest of it unset.
"""
import copy
import io
import math
import sys
import warnings
import zlib

import numpy as np
import onnx
import onnxruntime
import torch
import torch.nn.functional as F
import transformers
from onnx.reference.ops.op_rotary_embedding import rotary_embedding
from transformers import cache_utils
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.bloom import modeling_bloom
from transformers.models.gpt_neox import modeling_gpt_neox
from transformers.models.gptj import modeling_gptj
from transformers.models.llama import modeling_llama
from transformers.models.mpt import modeling_mpt
from transformers.models.t5 import modeling_t5
from transformers.models.xlm import modeling_xlm

import make_sdpa
from make_sdpa import (K, LOWER, Q, UPPER, V, Case, Writer, compose, compound, f32, flat, heads, number, numbers, option,
                       run_onnx, tensor, upwards, wrapped)

make_sdpa.SAMPLES = 16
EPS = 2.0**-24


def seed_of(name):
    return zlib.crc32(name.encode()) % 2**24


class States(Writer):
    """Arrays and cases of one struct of test_golden_state.c. A case is anything with a name and a seed."""

    def __init__(self, struct, name, double=False):
        super().__init__(name, double)
        self.struct = struct

    def copied(self, case, key, peer, exact):
        """A golden_result whose numbers the peer has only moved: worst and off are 0"""
        assert peer.shape == exact.shape and (peer == exact).all(), (case.name, key)
        text = self.results(case, key, peer, {key: exact}, {key: exact})
        array, count, stride, _, _, total = text.strip("{}").split(", ")
        return f"{{{array}, {count}, {stride}, 0, 0, {total}}}"

    def listed(self, key, name, values):
        name = f"golden_{seed_of(name):06x}_{key}"
        self.arrays.write(f"static const double {name}[] = {{\n{wrapped([number(float(x)) for x in values])}}};\n")
        return name

    def case(self, *members):
        self.cases.append("    {" + wrapped([m for m in members if m], 5).lstrip() + "}")

    def write(self):
        print()
        print(self.arrays.getvalue())
        print(f"static const {self.struct} golden_{self.name}[] = {{")
        print(",\n".join(self.cases) + "};")


def relative_error(peer, exact, allowed, what):
    off = max(abs(p - e) / abs(e) for p, e in zip(peer, exact))
    if not off <= allowed:
        raise SystemExit(f"{what}: off by {off} of the value, allowed {allowed}")
    return off


# ---- T5: buckets and biases ----

def buckets(w):
    """Which bucket each distance has: runs of equal ones, and where they start."""
    configs = [(32, 128), (32, 64), (16, 128), (8, 20), (4, 3), (64, 1000), (128, 512), (256, 2048), (33, 129), (6, 9)]
    for both in (False, True):
        for count, most in configs + ([] if both else [(2, 2), (3, 100), (5, 7)]):
            first = -5 * most // 2 if most < 1000 else -3 * most
            last = -first
            distances = torch.arange(first, last + 1)
            got = modeling_t5.T5Attention._relative_position_bucket(distances, both, count, most).tolist()
            starts = [n for n in range(len(got)) if n == 0 or got[n] != got[n - 1]]
            w.case(f'.name = "{"encoder" if both else "decoder"}, {count} buckets, {most}"',
                   f".bidirectional = {int(both)}, .buckets = {count}, .max_distance = {most}",
                   f".first = {first}, .last = {last}, .count = {len(starts)}",
                   f".starts = {compound('const ptrdiff_t', [n + first for n in starts])}",
                   f".bucket = {compound('const size_t', [got[n] for n in starts])}")


def t5_module(seed, d_model, D, H, count, most, decoder, dtype=torch.float64):
    config = transformers.T5Config(d_model=d_model, d_kv=D, num_heads=H, relative_attention_num_buckets=count,
                                   relative_attention_max_distance=most, is_decoder=decoder, dropout_rate=0)
    module = modeling_t5.T5Attention(config, has_relative_attention_bias=True, layer_idx=0).to(dtype).eval()
    with torch.no_grad():
        module.relative_attention_bias.weight.copy_(tensor(numbers(seed + 3, 0, count, H), dtype))
    return module


def t5_biases(w):
    for decoder, count, most, H, Lq, Lk, past in ((False, 32, 128, 3, 40, 40, 0), (True, 32, 128, 2, 33, 33, 0),
                                                  (False, 32, 128, 2, 9, 300, 0), (False, 16, 64, 2, 300, 7, 0),
                                                  (True, 32, 128, 4, 1, 1, 0), (True, 32, 128, 4, 1, 200, 199),
                                                  (True, 32, 128, 3, 7, 150, 143), (True, 16, 100, 3, 5, 60, 20),
                                                  (False, 32, 128, 2, 6, 90, 84), (True, 32, 128, 1, 3, 5000, 4997)):
        name = f"{'decoder' if decoder else 'encoder'}, {count} buckets, {most}: {Lq} x {Lk} from {past}"
        case = Case(name, H=H, Lq=Lq, Lk=Lk)
        module = t5_module(case.seed, 8, 8, H, count, most, decoder)
        bias = module.compute_bias(Lq, Lk, cache_position=torch.arange(past, past + Lq) if past else None)
        bias = bias.detach().numpy()
        table = numbers(case.seed + 3, 0, count, H)
        distance = torch.arange(Lk)[None, :] - torch.arange(past, past + Lq)[:, None]
        bucket = module._relative_position_bucket(distance, not decoder, count, most).numpy()
        w.case(f'.name = "{name}", .seed = {case.seed}', f".bidirectional = {int(not decoder)}",
               f".buckets = {count}, .max_distance = {most}", f".H = {H}, .Lq = {Lq}, .Lk = {Lk}, .past = {past}",
               f".bias = {w.copied(case, 'bias', bias, table[bucket].transpose(2, 0, 1)[None])}")


# ---- frequencies and slopes ----

def frequencies_of(dim, base, scaling, original=None):
    """f64, by the formulas of the papers; and the factor of the rotated vectors"""
    kind, factor = scaling.get("rope_type", "default"), scaling.get("factor", 1.0)
    if kind == "dynamic":
        base, factor = base * factor ** (dim / (dim - 2)), 1.0
    d = np.arange(0, dim, 2) / dim
    plain = 1 / base**d
    if kind != "yarn":
        return plain / factor, 1.0

    def bound(turns):
        return dim * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(base))

    low = max(math.floor(bound(scaling.get("beta_fast", 32))), 0)
    high = min(math.ceil(bound(scaling.get("beta_slow", 1))), dim - 1)
    ramp = np.clip((np.arange(dim // 2) - low) / (high - low if high > low else 0.001), 0, 1)
    return plain * (1 - ramp) + plain / factor * ramp, 1 + 0.1 * math.log(factor) if factor > 1 else 1.0


KINDS = {"default": "PLAIN", "linear": "LINEAR", "dynamic": "NTK", "yarn": "YARN"}


def scaling_members(scaling, original=None):
    """Members of attn_rope_scaling"""
    if not scaling:
        return None
    members = [f".scaling.kind = ATTN_ROPE_{KINDS[scaling['rope_type']]}", f".scaling.factor = {scaling['factor']!r}"]
    members += [f".scaling.{m} = {scaling[m]!r}" for m in ("beta_fast", "beta_slow") if m in scaling]
    if original:
        members.append(f".scaling.original_len = {original}")
    return ", ".join(members)


def llama_config(dim, base, scaling, trained, H=1):
    if scaling.get("rope_type") == "yarn":
        scaling = {**scaling, "original_max_position_embeddings": trained}
    return transformers.LlamaConfig(hidden_size=H * dim, num_attention_heads=H, head_dim=dim, rope_theta=base,
                                    max_position_embeddings=trained, rope_scaling=scaling or None)


def frequencies(w):
    def add(name, dim, base, scaling, trained=2048, length=None):
        config = llama_config(dim, base, scaling, trained)
        kind = scaling.get("rope_type", "default")
        peer, scale = ROPE_INIT_FUNCTIONS[kind](config, torch.device("cpu"), seq_len=length)
        if kind == "dynamic":  # factor * length / trained - (factor - 1), of which the base is made
            longer = scaling["factor"] * max(length, trained) / trained - (scaling["factor"] - 1)
            scaling = {"rope_type": "dynamic", "factor": longer}
        exact, exact_scale = frequencies_of(dim, base, scaling, trained)
        peer = peer.to(torch.float64).numpy()
        off = relative_error(peer, exact, (4 + 2 * math.log(base)) * 2 * EPS, name)
        assert abs(scale - exact_scale) <= 2**-50, name
        w.case(f'.name = "{name}"', f".dim = {dim}, .base = {base}", scaling_members(scaling, trained),
               f".scale = {number(scale)}, .off = {upwards(off)}", f".values = {w.listed('freq', name, peer)}")

    for dim, base in ((2, 10000.0), (8, 10000.0), (64, 10000.0), (128, 500000.0), (80, 1e6)):
        add(f"plain, {dim}, base {base:g}", dim, base, {})
    for dim, factor in ((8, 2.0), (64, 8.0), (16, 2.5)):
        add(f"linear, {dim}, factor {factor:g}", dim, 10000.0, {"rope_type": "linear", "factor": factor})
    for dim, base, factor, length in ((64, 10000.0, 2.0, 4096), (64, 10000.0, 4.0, 5000), (8, 500000.0, 2.0, 9000),
                                      (32, 10000.0, 2.0, 100), (4, 10000.0, 8.0, 2049)):
        scaling = {"rope_type": "dynamic", "factor": factor}
        add(f"dynamic NTK, {dim}, factor {factor:g}, length {length}", dim, base, scaling, length=length)
    for dim, base, factor, trained, betas in (
            (64, 10000.0, 4.0, 2048, {}), (128, 10000.0, 16.0, 4096, {}), (128, 1e6, 4.0, 32768, {}),
            (64, 10000.0, 40.0, 4096, {"beta_fast": 32.0, "beta_slow": 1.0}), (64, 150000.0, 32.0, 4096, {}),
            (64, 10000.0, 8.0, 2048, {"beta_fast": 16.0, "beta_slow": 2.0}),
            (64, 10000.0, 8.0, 2048, {"beta_fast": 64.0, "beta_slow": 0.5}),
            (32, 10000.0, 2.0, 512, {"beta_fast": 4.0, "beta_slow": 3.9}), (8, 10000.0, 4.0, 64, {}),
            (16, 10000.0, 4.0, 8, {}), (16, 100.0, 4.0, 100000, {}), (16, 500.0, 3.0, 2000, {}),
            (64, 10000.0, 1.0, 2048, {}), (64, 10000.0, 2.5, 2048, {"beta_slow": 4.0})):
        more = "".join(f", {m} {x:g}" for m, x in betas.items())
        name = f"YaRN, {dim}, base {base:g}, factor {factor:g} of {trained}{more}"
        add(name, dim, base, {"rope_type": "yarn", "factor": factor, **betas}, trained)


def slopes(w):
    def exact(H):
        power = 2 ** math.floor(math.log2(H))
        return [2.0 ** (-8 * (h + 1) / power) if h < power else 2.0 ** (-4 * (2 * (h - power) + 1) / power)
                for h in range(H)]

    for H in (1, 2, 3, 5, 6, 7, 8, 12, 16, 20, 31, 33, 48, 71, 112):
        bloom = modeling_bloom.build_alibi_tensor(torch.ones(1, 2, dtype=torch.long), H, torch.float32)
        mpt = -modeling_mpt.build_mpt_alibi_tensor(H, 2)
        for name, peer in (("Bloom", bloom[:, 0, 1]), ("MPT", mpt[:, 0, 0])):
            name = f"{name}, {H} heads"
            if H > 40 and name[0] == "M" or H in (5, 20) and name[0] == "B":
                continue
            peer = peer.to(torch.float64).numpy()
            off = relative_error(peer, exact(H), (H + 2) * EPS, name)  # a power of a rounded base
            w.case(f'.name = "{name}", .H = {H}', f".off = {upwards(off)}",
                   f".values = {w.listed('slopes', name, peer)}")


def sinusoids(w):
    for D, rows, first in ((8, 40, 0), (64, 33, 0), (2, 70, 0), (512, 9, 0), (24, 20, 1000), (6, 5, 20000)):
        name = f"XLM, {rows} x {D} from {first}"
        case = Case(name)
        table = torch.empty(first + rows, D)
        modeling_xlm.create_sinusoidal_embeddings(first + rows, D, table)
        angle = (first + np.arange(rows))[:, None] / 10000.0 ** (np.arange(0, D, 2) / D)
        exact = np.stack((np.sin(angle), np.cos(angle)), -1).reshape(1, 1, rows, D)
        peer = table[first:].numpy().reshape(exact.shape)
        text = w.results(case, "out", peer, {"out": exact}, {"out": exact.astype(np.float32)})
        w.case(f'.name = "{name}", .seed = {case.seed}', f".D = {D}, .rows = {rows}, .first = {first}",
               f".out = {text}")


# ---- rotations ----

def rotate(x, positions, freq, scale, interleaved, dtype):
    """x: B x H x L x D, positions: B x L. Every operation in dtype."""
    x, freq, scale = x.astype(dtype), freq.astype(dtype), dtype(scale)
    angle = np.asarray(positions)[:, None, :, None].astype(dtype) * freq
    cos, sin = np.cos(angle) * scale, np.sin(angle) * scale
    n = len(freq)
    first = slice(0, 2 * n, 2) if interleaved else slice(0, n)
    second = slice(1, 2 * n, 2) if interleaved else slice(n, 2 * n)
    out = x.copy()
    out[..., first] = x[..., first] * cos - x[..., second] * sin
    out[..., second] = x[..., second] * cos + x[..., first] * sin
    assert out.dtype == dtype
    return out


class Rope:
    """One attn_rope call. positions: a first one, or B lists of L"""

    def __init__(self, name, B=2, H=2, L=9, D=16, dim=0, base=10000.0, at=0, interleaved=0, scaling=None, trained=2048):
        self.name, self.B, self.H, self.L, self.D, self.dim, self.base = name, B, H, L, D, dim, base
        self.seed, self.at, self.interleaved = seed_of(name), at, interleaved
        self.scaling, self.trained = scaling or {}, trained
        self.listed = not isinstance(at, int)
        self.positions = np.array(at if self.listed else [[at + i for i in range(L)]] * B)
        self.x = numbers(self.seed, Q, B, H, L, D)
        self.freq, self.scale = frequencies_of(dim or D, base, self.scaling, trained)

    def add(self, w, peer):
        exact, plain = ({"out": rotate(self.x, self.positions, self.freq, self.scale, self.interleaved, t)}
                        for t in (np.float64, np.float32))
        at = f".opts.offset = {self.at}"
        if self.listed:
            at = f".opts.positions = {compound('const ptrdiff_t', self.positions.flatten().tolist())}"
        w.case(f'.name = "{self.name}", .seed = {self.seed}',
               f".B = {self.B}, .H = {self.H}, .L = {self.L}, .D = {self.D}",
               f".opts.interleaved = {self.interleaved}, .opts.dim = {self.dim}, .opts.base = {self.base}", at,
               scaling_members(self.scaling, self.trained), f".out = {w.results(self, 'out', peer, exact, plain)}")

    def tensors(self):
        return torch.tensor(f32(self.x)), torch.tensor(self.positions)


def places(seed, B, L, most):
    """Positions in any order"""
    return (make_sdpa.bits(seed, V, B * L) % np.uint64(most)).astype(np.int64).reshape(B, L).tolist()


def rotations(w):
    def llama(name, length=None, **how):
        case = Rope(f"Llama {name}", **how)
        scaling = dict(case.scaling)
        if length:  # dynamic NTK: Llama finds the factor from the largest position
            longer = scaling["factor"] * length / case.trained - (scaling["factor"] - 1)
            case.scaling = {"rope_type": "dynamic", "factor": longer}
            case.freq, case.scale = frequencies_of(case.D, case.base, case.scaling)
        module = modeling_llama.LlamaRotaryEmbedding(llama_config(case.D, case.base, scaling, case.trained, case.H))
        x, at = case.tensors()
        q, k = modeling_llama.apply_rotary_pos_emb(x, x, *module(x, at))
        assert torch.equal(q, k)
        case.add(w, q.numpy())

    llama("plain")
    llama("one token at 37", B=1, L=1, at=37)
    llama("64 wide", D=64, H=1, L=5)
    llama("192 wide, base 500000", D=192, H=1, L=4, base=500000.0)
    llama("2 wide", D=2, L=7)
    llama("at 100", at=100)
    llama("at 5000", at=5000)
    llama("in any order", at=places(1, 2, 9, 50))
    llama("linear", scaling={"rope_type": "linear", "factor": 4.0}, at=30)
    llama("dynamic NTK", length=109, scaling={"rope_type": "dynamic", "factor": 2.0}, trained=32, at=100)
    llama("YaRN", D=32, scaling={"rope_type": "yarn", "factor": 4.0}, trained=256, at=40)
    llama("YaRN, betas", D=32, scaling={"rope_type": "yarn", "factor": 8.0, "beta_fast": 8.0, "beta_slow": 2.0},
          trained=256, at=places(2, 2, 9, 80))

    def neox(name, part, **how):
        case = Rope(f"GPT-NeoX {name}", **how)
        config = transformers.GPTNeoXConfig(hidden_size=case.H * case.D, num_attention_heads=case.H, rotary_pct=part,
                                            rotary_emb_base=case.base)
        x, at = case.tensors()
        cos, sin = modeling_gpt_neox.GPTNeoXRotaryEmbedding(config)(x, at)
        q, k = modeling_gpt_neox.apply_rotary_pos_emb(x, x, cos, sin)
        assert torch.equal(q, k)
        case.add(w, q.numpy())

    neox("a quarter", 0.25, D=16, dim=4)
    neox("a quarter of 96", 0.25, D=96, dim=24, L=4)
    neox("half, in any order", 0.5, D=20, dim=10, at=places(3, 2, 9, 60))
    neox("all", 1.0, D=16, dim=16, at=11)

    def gptj(name, **how):
        case = Rope(f"GPT-J {name}", interleaved=1, **how)
        x, at = case.tensors()
        x, dim = x.transpose(1, 2), case.dim or case.D
        table = modeling_gptj.get_embed_positions(modeling_gptj.create_sinusoidal_positions(2048, dim), at)
        sincos = torch.gather(table, 1, at.unsqueeze(-1).repeat(1, 1, dim))
        sin, cos = torch.split(sincos, dim // 2, dim=-1)
        out = torch.cat((modeling_gptj.apply_rotary_pos_emb(x[..., :dim], sin, cos), x[..., dim:]), -1)
        case.add(w, out.transpose(1, 2).numpy())

    gptj("all")
    gptj("6 of 16", dim=6, at=20)
    gptj("64 of 80", D=80, dim=64, H=1, L=5)
    gptj("in any order", D=12, dim=8, at=places(4, 2, 9, 70))

    def tables(case):
        angle = np.arange(case.positions.max() + 1)[:, None] * case.freq
        return f32(np.cos(angle)), f32(np.sin(angle))

    def microsoft(name, three=False, **how):
        case = Rope(f"com.microsoft {name}", **how)
        cos, sin = tables(case)
        at = case.positions if case.listed else np.array([case.at])
        attributes = {"num_heads": case.H, "rotary_embedding_dim": case.dim} if case.dim else {}
        if three:
            attributes["num_heads"] = case.H
        x = f32(flat(case.x) if three else case.x)
        got, = run_onnx("RotaryEmbedding", "com.microsoft", 21,
                        {"input": x, "position_ids": at.astype(np.int64), "cos_cache": cos, "sin_cache": sin}, ["out"],
                        interleaved=case.interleaved, **attributes)
        case.add(w, heads(got, case.H) if three else got)

    def opset23(name, three=False, gathered=False, **how):
        case = Rope(f"opset 23 {name}", **how)
        cos, sin = tables(case)
        at = case.positions.astype(np.int64)
        if gathered:  # without positions the tables have a row for every token
            cos, sin, at = cos[at], sin[at], None
        attributes = {"rotary_embedding_dim": case.dim} if case.dim else {}
        if three:
            attributes["num_heads"] = case.H
        x = f32(flat(case.x) if three else case.x)
        got, = run_onnx("RotaryEmbedding", "", 23, {"X": x, "cos_cache": cos, "sin_cache": sin, "position_ids": at},
                        ["out"], interleaved=case.interleaved, **attributes)
        case.add(w, heads(got, case.H) if three else got)

    for interleaved in (0, 1):
        kind = "interleaved" if interleaved else "halves"
        common = dict(interleaved=interleaved)
        microsoft(f"{kind}", **common)
        microsoft(f"{kind}, at 300, B x L x H D", three=True, at=300, **common)
        microsoft(f"{kind}, at 99991", D=8, at=99991, L=9, **common)
        microsoft(f"{kind}, in any order", B=3, at=places(5, 3, 9, 4000), **common)
        microsoft(f"{kind}, 8 of 24", D=24, dim=8, at=7, **common)
        microsoft(f"{kind}, 16 of 32, in any order, B x L x H D", three=True, D=32, dim=16, base=500000.0,
                  at=places(6, 2, 9, 4000), **common)
        opset23(f"{kind}", at=5, **common)
        opset23(f"{kind}, in any order", at=places(7, 2, 9, 4000), **common)
        opset23(f"{kind}, 8 of 24, B x L x H D", three=True, D=24, dim=8, at=places(8, 2, 9, 50000), **common)
        opset23(f"{kind}, a row for every token, base 100", gathered=True, base=100.0, at=places(9, 2, 9, 3000),
                **common)


# ---- rotations by tables ----

def tables(w):
    """The cases of onnx/backend/test/case/node/rotaryembedding.py, with our numbers."""
    def add(name, three=False, per_token=False, interleaved=0, dim=0):
        name, (B, H, L, D) = f"test_rotary_embedding{name}", (2, 4, 3, 8)
        case = Case(name, B=B, H=H, Lq=L, D=D)
        rows, pairs = B * L if per_token else 50, (dim or D) // 2
        cos, sin = numbers(case.seed, K, rows, pairs), numbers(case.seed, V, rows, pairs)
        at, positions = None, f".rows = {rows}"
        if per_token:
            cos, sin = cos.reshape(B, L, pairs), sin.reshape(B, L, pairs)
        else:
            at = np.array(places(case.seed, B, L, rows))
            positions += f", .opts.positions = {compound('const ptrdiff_t', at.flatten().tolist())}"
        x = flat(case.q) if three else case.q
        how = {"interleaved": interleaved}
        if dim:
            how["rotary_embedding_dim"] = dim
        if three:
            how["num_heads"] = H
        exact, plain = (rotary_embedding(x.astype(t), cos.astype(t), sin.astype(t), position_ids=at, **how)
                        for t in (np.float64, np.float32))
        peer, = run_onnx("RotaryEmbedding", "", 23, {"X": f32(x), "cos_cache": f32(cos), "sin_cache": f32(sin),
                                                     "position_ids": at}, ["out"], **how)
        if three:
            peer, exact, plain = (heads(y, H) for y in (peer, exact, plain))
        w.case(f'.name = "{name}", .seed = {case.seed}',
               f".B = {B}, .H = {H}, .L = {L}, .D = {D}, .three = {int(three)}",
               f".opts.interleaved = {interleaved}, .opts.dim = {dim}", positions,
               f".out = {w.results(case, 'out', peer, {'out': exact}, {'out': plain})}")

    add("")
    add("_3d_input", three=True)
    add("_interleaved", interleaved=1)
    add("_with_rotary_dim", dim=4)
    add("_with_interleaved_rotary_dim", interleaved=1, dim=4)
    add("_no_position_ids", per_token=True)
    add("_no_position_ids_interleaved", per_token=True, interleaved=1)
    add("_no_position_ids_rotary_dim", per_token=True, dim=4)


# ---- the multi-head layer ----

def product(x, w, b, dtype):
    """x w + b, every sum from left to right"""
    x, w = x.astype(dtype), w.astype(dtype)
    out = np.zeros(x.shape[:-1] + w.shape[-1:], dtype)
    for n in range(w.shape[0]):
        out = out + x[..., n, None] * w[n]
    return out if b is None else out + b.astype(dtype)


class Layer:
    """One attn_mha call, q, k and v of B x L x E, Ek and Ev. same: k and v are one tensor, q its last rows.
    t5: buckets, max_distance, decoder. mask and bias as of Case."""

    def __init__(self, name, B=2, H=3, D=8, Lq=17, Lk=29, E=24, Ek=None, Ev=None, same=False, biases=True, t5=None,
                 mask=None, bias=None, **opts):
        self.name, self.seed = name, seed_of(name)
        self.case = Case(name, B, H, H, Lq, Lk, D, D, mask, bias, **opts)
        self.Ek, self.Ev, self.same, self.biases = Ek or E, Ev or E, same, biases
        self.E, self.t5, self.HD = E, t5, H * D
        self.k = numbers(self.seed, K, B, Lk, self.Ek)
        self.v = self.k if same else numbers(self.seed, V, B, Lk, self.Ev)
        self.q = self.k[:, Lk - Lq:] if same else numbers(self.seed, Q, B, Lq, E)
        # as PyTorch keeps them, outputs x inputs
        if self.Ek == self.Ev == E:
            self.wq, self.wk, self.wv = np.split(numbers(self.seed + 1, 0, 3 * self.HD, E) / 8, 3)
        else:
            self.wq, self.wk, self.wv = (numbers(self.seed + 1, n, self.HD, inputs) / 8
                                         for n, inputs in enumerate((E, self.Ek, self.Ev)))
        self.wo = numbers(self.seed + 1, 3, E, self.HD) / 8
        self.bq, self.bk, self.bv = np.split(numbers(self.seed + 2, 0, 3 * self.HD), 3) if biases else (None,) * 3
        self.bo = numbers(self.seed + 2, 1, E) if biases else None

    def compose(self, dtype, bias=None):
        case = copy.copy(self.case)
        H = case.H
        if bias is not None:
            case.bias = bias
        case.q = heads(product(self.q, self.wq.T, self.bq, dtype), H)
        case.k = heads(product(self.k, self.wk.T, self.bk, dtype), H)
        case.v = heads(product(self.v, self.wv.T, self.bv, dtype), H)
        got = compose(case, dtype)
        mean = got["weights"][:, 0]
        for h in range(1, H):
            mean = mean + got["weights"][:, h]
        mean = (mean / dtype(H))[:, None]
        return {"out": product(flat(got["out"]), self.wo.T, self.bo, dtype)[:, None], "weights": got["weights"],
                "mean": mean}

    def add(self, w, peer, bias=None):
        exact, plain = (self.compose(t, bias) for t in (np.float64, np.float32))
        case = self.case
        members = [f'.name = "{self.name}", .seed = {self.seed}']
        members += [f".{m} = {getattr(case, m)}" for m in ("B", "H", "D", "Lq", "Lk")]
        members += [f".E = {self.E}, .Ek = {self.Ek}, .Ev = {self.Ev}",
                    f".same = {int(self.same)}, .biases = {int(self.biases)}"]
        if self.t5:
            members.append(".buckets = {}, .max_distance = {}, .decoder = {}".format(*self.t5))
        for m in ("mask", "bias"):
            pattern = getattr(case, m + "_pattern")
            if pattern:
                dims = ", ".join(str(x) for x in pattern[2:])
                members.append(f".{m} = {{SHOW_{pattern[0]}, {pattern[1]}, {{{dims}}}}}")
        members += [option(m, x) for m, x in case.opts.items()]
        for key, x in peer.items():
            members.append(f".{key} = {w.results(self, key, x, exact, plain)}")
        w.case(*members)


def layers(w):
    dtype = torch.float64 if w.double else torch.float32
    f = "" if w.double else ", f32"

    def add(name, weights=None, padding=None, attn_mask=None, train=False, batch_first=True, **how):
        """weights: None, "mean" or "weights". padding, attn_mask: booleans, true = hidden; or what is added"""
        hint = how.pop("is_causal", False)
        layer = Layer(name + f, **how)
        case = layer.case
        module = torch.nn.MultiheadAttention(layer.E, case.H, bias=layer.biases, kdim=layer.Ek, vdim=layer.Ev,
                                             batch_first=batch_first, dtype=dtype).train(train)
        with torch.no_grad():
            if module.in_proj_weight is not None:
                module.in_proj_weight.copy_(tensor(np.concatenate((layer.wq, layer.wk, layer.wv)), dtype))
            else:
                for m in ("q", "k", "v"):
                    getattr(module, m + "_proj_weight").copy_(tensor(getattr(layer, "w" + m), dtype))
            module.out_proj.weight.copy_(tensor(layer.wo, dtype))
            if layer.biases:
                module.in_proj_bias.copy_(tensor(np.concatenate((layer.bq, layer.bk, layer.bv)), dtype))
                module.out_proj.bias.copy_(tensor(layer.bo, dtype))
            q, k, v = (tensor(x, dtype) for x in (layer.q, layer.k, layer.v))
            if layer.same:  # one object: PyTorch then takes its own fast path
                q = k = v
            if not batch_first:
                q, k, v = (x.transpose(0, 1) for x in (q, k, v))
            out, got = module(q, k, v, need_weights=weights is not None, average_attn_weights=weights == "mean",
                              key_padding_mask=None if padding is None else tensor(padding(case), dtype),
                              attn_mask=None if attn_mask is None else tensor(attn_mask(case), dtype), is_causal=hint)
        out = out if batch_first else out.transpose(0, 1)
        peer = {"out": out.numpy()[:, None]}
        if weights:
            peer[weights] = got.numpy()[:, None] if weights == "mean" else got.numpy()
        layer.add(w, peer)

    def hidden(case):  # a mask of B x 1 x 1 x Lk
        return ~case.mask[:, 0, 0]

    def plane(case):
        return ~case.mask[0, 0]

    def each(case):
        return ~case.mask.reshape(-1, case.Lq, case.Lk)

    def past_lens(case):
        return np.arange(case.Lk) >= np.array(case.opts["kv_lens"])[:, None]

    def upper(case):
        return np.triu(np.ones((case.Lq, case.Lk), bool), 1)

    square = dict(Lq=29, Lk=29)
    own = dict(same=True, **square)
    add("MHA", "mean")
    add("MHA, heads' weights", "weights")
    add("MHA without biases", "mean", biases=False)
    add("MHA, sequence first", "mean", batch_first=False)
    add("MHA of itself", **own)
    add("MHA of itself, weights", "mean", **own)
    add("MHA of itself, training", train=True, **own)
    add("MHA of itself, padding", padding=hidden, mask=("RANDOM", 180, 2, 1, 1, 29), **own)
    add("MHA of itself, causal", attn_mask=upper, is_causal=True, causal=UPPER, **own)
    add("MHA, causal", attn_mask=upper, is_causal=True, causal=UPPER, **square)
    add("MHA, causal, weights", "weights", attn_mask=upper, is_causal=True, causal=UPPER, **square)
    add("MHA, kdim 10, vdim 7", "mean", Ek=10, Ev=7)
    add("MHA, kdim 40, without biases", "weights", Ek=40, biases=False)
    add("MHA, 1 head", "mean", H=1, D=24)
    add("MHA, 4 heads of 1", "weights", H=4, D=1, E=4, Ek=5, Ev=3)
    add("MHA, 1 query, 70 keys", "mean", Lq=1, Lk=70)
    add("MHA, 70 queries, 1 key", Lq=70, Lk=1, B=1)
    add("MHA, padding", "mean", padding=hidden, mask=("RANDOM", 180, 2, 1, 1, 29))
    add("MHA, padding, heads' weights", "weights", padding=hidden, mask=("RANDOM", 100, 2, 1, 1, 29))
    add("MHA, lengths 11 29", "mean", padding=past_lens, kv_lens=[11, 29])
    add("MHA, lengths 1 20, causal", "weights", padding=past_lens, kv_lens=[1, 20], attn_mask=upper, causal=UPPER,
        **square)
    add("MHA, mask", "mean", attn_mask=plane, mask=("RANDOM", 180, 1, 1, 17, 29))
    add("MHA, mask of each head", "mean", attn_mask=each, mask=("RANDOM", 180, 2, 3, 17, 29))
    add("MHA, bias", "weights", attn_mask=lambda case: case.bias[0, 0], bias=("ALL", 0, 1, 1, 17, 29))
    add("MHA, bias of each head and -inf", "mean", attn_mask=lambda case: case.bias.reshape(-1, 17, 29),
        bias=("RANDOM", 180, 2, 3, 17, 29))
    add("MHA, bias and lengths", "mean", padding=lambda case: np.where(past_lens(case), -np.inf, 0),
        attn_mask=lambda case: case.bias[0, 0], bias=("ALL", 0, 1, 1, 17, 29), kv_lens=[9, 22])
    add("MHA, bias and padding", attn_mask=lambda case: case.bias[0, 0], bias=("ALL", 0, 1, 1, 17, 29),
        padding=lambda case: np.where(hidden(case), -np.inf, 0), mask=("RANDOM", 180, 2, 1, 1, 29))
    add("MHA, 70 x 267, E 64", "mean", B=1, H=4, D=16, E=64, Lq=70, Lk=267)


def t5_layers(w):
    def add(name, decoder, t5=(32, 128), past=0, **how):
        layer = Layer(name, same=True, biases=False, t5=(*t5, int(decoder)), scale=1.0,
                      causal=LOWER if decoder else "NONE", **how)
        case = layer.case
        module = t5_module(layer.seed, layer.E, case.D, case.H, *t5, decoder)
        with torch.no_grad():
            for m in "qkvo":
                getattr(module, m).weight.copy_(tensor(getattr(layer, "w" + m)))
            x = torch.tensor(layer.k)
            hide = torch.zeros(1, 1, case.Lk, case.Lk, dtype=torch.float64)
            if decoder:
                later = torch.triu(torch.ones(case.Lk, case.Lk, dtype=torch.bool), 1)
                hide.masked_fill_(later, torch.finfo(hide.dtype).min)
            cache = cache_utils.DynamicCache() if past else None
            first = 0
            for length in (past, case.Lk - past) if past else (case.Lk,):
                last = first + length
                out = module(x[:, first:last], mask=hide[:, :, first:last, :last], past_key_values=cache,
                             use_cache=cache is not None, cache_position=torch.arange(first, last))
                first = last
        distance = torch.arange(case.Lk)[None, :] - torch.arange(case.Lk - case.Lq, case.Lk)[:, None]
        bucket = module._relative_position_bucket(distance, not decoder, *t5).numpy()
        bias = numbers(layer.seed + 3, 0, t5[0], case.H)[bucket].transpose(2, 0, 1)[None]
        layer.add(w, {"out": out[0].numpy()[:, None]}, bias)

    add("T5 encoder", False, Lq=40, Lk=40)
    add("T5 encoder, 200 tokens", False, B=1, Lq=200, Lk=200, E=16)
    add("T5 decoder", True, Lq=40, Lk=40, t5=(16, 30))
    add("T5 decoder, 1 token after 150", True, past=150, Lq=1, Lk=151, H=5, E=16)
    add("T5 decoder, 7 tokens after 30", True, past=30, Lq=7, Lk=37, H=2, D=16)


# ---- sequences that grow ----

class Session:
    """Calls with `steps` rows each, of which item b has lens[call][b] valid ones. Results are by row; k and v, of the
    cache in the end, by token. rope: dim, base, interleaved. capacity: of a ring."""

    def __init__(self, name, steps, B=2, H=4, Hkv=2, D=16, Dv=None, lens=None, rope=None, capacity=0, **opts):
        self.name, self.seed, self.steps, self.lens = name, seed_of(name), steps, lens
        self.rope, self.capacity = rope, capacity
        self.B, self.H, self.Hkv, self.D, self.Dv, self.opts = B, H, Hkv, D, Dv or D, opts
        T = sum(steps)
        self.q = numbers(self.seed, Q, B, H, T, D)
        self.k = numbers(self.seed, K, B, Hkv, T, D)
        self.v = numbers(self.seed, V, B, Hkv, T, self.Dv)
        lens = lens or [[L] * B for L in steps]
        starts = np.cumsum([0] + steps[:-1])
        self.rows = [sum((list(range(s, s + n[b])) for s, n in zip(starts, lens)), []) for b in range(B)]
        self.totals = [np.cumsum([n[b] for n in lens]).tolist() for b in range(B)]
        if rope:
            self.freq, _ = frequencies_of(rope[0], rope[1], {})

    def calls(self):
        """(first row, rows, tokens of each item after the call)"""
        first = 0
        for n, L in enumerate(self.steps):
            yield first, L, [total[n] for total in self.totals]
            first += L

    def compose(self, dtype):
        most = max(len(rows) for rows in self.rows)
        got = {"out": np.zeros((self.B, self.H, sum(self.steps), self.Dv), dtype),
               "k": np.zeros((self.B, self.Hkv, most, self.D), dtype),
               "v": np.zeros((self.B, self.Hkv, most, self.Dv), dtype),
               "weights": np.zeros((self.B, self.H, self.steps[-1], most), dtype)}
        for b, rows in enumerate(self.rows):
            n = len(rows)
            case = Case(self.name, 1, self.H, self.Hkv, n, n, self.D, self.Dv, **{"causal": LOWER, **self.opts})
            case.q, case.k, case.v = (x[b:b + 1, :, rows].astype(dtype) for x in (self.q, self.k, self.v))
            if self.rope:
                case.q, case.k = (rotate(x, [range(n)], self.freq, 1, self.rope[2], dtype) for x in (case.q, case.k))
            one = compose(case, dtype)
            got["out"][b][:, rows] = one["out"][0]
            got["k"][b, :, :n], got["v"][b, :, :n] = case.k[0], case.v[0]
            if n == most:
                got["weights"][b] = one["weights"][0, :, n - self.steps[-1]:]
        if self.capacity:
            got["k"], got["v"] = got["k"][:, :, -self.capacity:], got["v"][:, :, -self.capacity:]
        return got

    def add(self, w, peer):
        exact, plain = self.compose(np.float64), self.compose(np.float32)
        members = [f'.name = "{self.name}", .seed = {self.seed}']
        members += [f".{m} = {getattr(self, m)}" for m in ("B", "H", "Hkv", "D", "Dv")]
        members += [f".calls = {len(self.steps)}", f".steps = {compound('const size_t', self.steps)}"]
        if self.lens:
            members.append(f".lens = {compound('const size_t', sum(self.lens, []))}")
        if self.rope:
            members.append(".rope = 1")
            members += [f".rotary.{m} = {x}" for m, x in zip(("dim", "base", "interleaved"), self.rope)]
        if self.capacity:
            members.append(f".capacity = {self.capacity}")
        members += [option(m, x) for m, x in {"causal": LOWER, **self.opts}.items()]
        for key, x in peer.items():
            x = np.asarray(x, np.float64)
            if key in "kv":  # past the tokens of a short item a peer leaves what it likes
                x = x.copy()
                for b, rows in enumerate(self.rows):
                    x[b, :, len(rows):] = 0
            if key == "v" or key == "k" and not self.rope:
                text = w.copied(self, key, x, exact[key])
            else:
                text = w.results(self, key, x, exact, plain)
            members.append(f".{key} = {text}")
        w.case(*members)


def run_session(session, call):
    """call(q, k, v, past k, past v, tokens) -> out, k, v, more; all B x heads x L x D. Rows not valid become zeros."""
    out, k, v, more = [], None, None, None
    for first, L, tokens in session.calls():
        q, new_k, new_v = (f32(x[:, :, first:first + L]) for x in (session.q, session.k, session.v))
        one, k, v, more = call(q, new_k, new_v, k, v, tokens)
        out.append(one)
    out = np.concatenate(out, 2)
    for b, rows in enumerate(session.rows):
        out[b][:, sorted(set(range(out.shape[2])) - set(rows))] = 0
    return {"out": out, "k": k, "v": v}, more


def gqa_sessions(w):
    def add(name, steps, **how):
        session = Session("GQA " + name, steps, **how)
        opts = session.opts
        attributes = {m: float(opts[m]) for m in ("scale", "softcap") if m in opts}
        if "window" in opts:
            attributes["local_window_size"] = opts["window"][0] + 1  # which counts the query's own key
        cos = sin = None
        if session.rope:
            angle = np.arange(sum(steps))[:, None] * session.freq
            cos, sin = f32(np.cos(angle)), f32(np.sin(angle))
            attributes.update(do_rotary=1, rotary_interleaved=session.rope[2])
        if session.capacity:
            attributes["sliding_window_cache"] = 1

        def call(q, k, v, past_k, past_v, tokens):
            if past_k is None and session.capacity:
                past_k = past_v = np.zeros((session.B, session.Hkv, session.capacity, session.D), np.float32)
            inputs = {"query": flat(q), "key": flat(k), "value": flat(v), "past_key": past_k, "past_value": past_v,
                      "seqlens_k": np.array(tokens, np.int32) - 1,
                      "total_sequence_length": np.array(max(tokens), np.int32), "cos_cache": cos, "sin_cache": sin,
                      "position_ids": None, "attention_bias": None,
                      "head_sink": f32(np.array(opts["sinks"])) if "sinks" in opts else None}
            while list(inputs.values())[-1] is None:
                inputs.popitem()
            out, k, v = run_onnx("GroupQueryAttention", "com.microsoft", 21, inputs,
                                 ["output", "present_key", "present_value"], num_heads=session.H,
                                 kv_num_heads=session.Hkv, **attributes)
            return heads(out, session.H), k, v, None

        session.add(w, run_session(session, call)[0])

    rope, turned, part = (16, 10000.0, 0), (16, 500000.0, 1), (16, 100.0, 0)
    decode = [9] + [1] * 6
    ragged = dict(lens=[[4, 9]] + [[1, 1]] * 6)
    add("decode", decode, H=6)
    add("decode, one head", decode, H=1, Hkv=1, D=8)
    add("decode, scale 0.5", decode, H=6, scale=0.5)
    add("chunks", [5, 1, 7, 20, 1, 3], B=1)
    add("decode after 150", [150, 1, 1, 1], H=8, Hkv=1, D=8)
    add("lengths", decode, **ragged)
    add("rotary", decode, rope=rope)
    add("rotary, interleaved", decode, rope=turned)
    add("rotary, 16 of 32", decode, D=32, rope=part)
    add("rotary, chunks", [5, 1, 7, 20, 1, 3], B=1, rope=rope)
    add("rotary, lengths", decode, rope=rope, **ragged)
    add("rotary, lengths, interleaved, window 5", decode, rope=turned, window=(4, -1), **ragged)
    add("softcap 2", decode, softcap=2.0)
    add("rotary, softcap 1, window 7, chunks", [20, 1, 6, 1, 1, 9], B=1, rope=rope, softcap=1.0, window=(6, -1))
    for window in (1, 2, 5, 16, 100):
        add(f"window {window}", [12] + [1] * 12, B=1 if window % 2 else 2, window=(window - 1, -1))
    add("window 20 after 150", [150, 1, 1, 1, 1], window=(19, -1), D=8)
    add("lengths, window 3", decode, window=(2, -1), **ragged)
    add("sinks", decode, sinks=(0.5, -1.25, 2, 4))
    add("sinks, window 4, lengths", decode, sinks=(0.5, -1.25, 2, 4), window=(3, -1), **ragged)
    add("sliding_window_cache 4", [7] + [1] * 8, window=(3, -1), capacity=4)
    add("sliding_window_cache 5, a prompt alone", [9], window=(4, -1), capacity=5)
    add("sliding_window_cache 8, rotary", [5] + [1] * 9, window=(7, -1), capacity=8, rope=rope)


def attention_sessions(w):
    def add(name, steps, opset=24, weights=False, three=False, **how):
        session = Session(f"Attention {opset} {name}", steps, **how)
        attributes = {m: float(session.opts[m]) for m in ("scale", "softcap") if m in session.opts}
        if session.opts.get("causal", LOWER) != "NONE":
            attributes["is_causal"] = 1
        if three:
            attributes.update(q_num_heads=session.H, kv_num_heads=session.Hkv)
        outputs = ["Y", "present_key", "present_value"]
        if weights:
            outputs.append("qk_matmul_output")
            attributes["qk_matmul_output_mode"] = 3

        def call(q, k, v, past_k, past_v, tokens):
            if past_k is None:
                past_k = np.zeros((session.B, session.Hkv, 0, session.D), np.float32)
                past_v = np.zeros((session.B, session.Hkv, 0, session.Dv), np.float32)
            q, k, v = (flat(x) if three else x for x in (q, k, v))
            got = run_onnx("Attention", "", opset, {"Q": q, "K": k, "V": v, "attn_mask": None, "past_key": past_k,
                                                    "past_value": past_v}, outputs, **attributes)
            return heads(got[0], session.H) if three else got[0], got[1], got[2], got[-1] if weights else None

        peer, more = run_session(session, call)
        if weights:
            peer["weights"] = more
        session.add(w, peer)

    decode = [9] + [1] * 6
    for opset in (23, 24):
        add("decode", decode, opset)
        add("chunks", [5, 1, 7, 20, 1, 3], opset, weights=True, D=8)
    add("B x L x H D", decode, three=True, H=6)
    add("Dv 5, softcap 3", decode, H=2, Hkv=2, Dv=5, softcap=3.0)
    add("scale 2, 1 head of keys", [3, 2, 2, 1], weights=True, H=3, Hkv=1, scale=2.0, D=8)
    add("decode after 140", [140, 1, 1, 1], weights=True, H=3, Hkv=3, D=8)


def microsoft_sessions(w):
    def add(name, steps, **how):
        session = Session("MHA " + name, steps, **how)

        def call(q, k, v, past_k, past_v, tokens):
            got = run_onnx("MultiHeadAttention", "com.microsoft", 21,
                           {"query": flat(q), "key": flat(k), "value": flat(v), "bias": None, "key_padding_mask": None,
                            "attention_bias": None, "past_key": past_k, "past_value": past_v},
                           ["output", "present_key", "present_value"], num_heads=session.H, unidirectional=1)
            return heads(got[0], session.H), got[1], got[2], None

        session.add(w, run_session(session, call)[0])

    add("decode", [9] + [1] * 6, H=3, Hkv=3)
    add("chunks", [5, 1, 7, 20, 1, 3], H=2, Hkv=2, D=8)


def torch_sessions(w):
    """F.scaled_dot_product_attention over keys and values that are concatenated; the cache is transformers' own."""
    def add(name, steps, **how):
        session = Session("PyTorch " + name, steps, **how)
        cache = cache_utils.DynamicCache()
        window = session.opts.get("window")

        def call(q, k, v, past_k, past_v, tokens):
            q, k, v = (torch.tensor(x.astype(np.float64)) for x in (q, k, v))
            k, v = cache.update(k, v, 0)
            i, j = torch.arange(k.shape[2] - q.shape[2], k.shape[2])[:, None], torch.arange(k.shape[2])[None, :]
            see = j <= i
            if window:
                see = see & (i - j <= window[0])
            out = F.scaled_dot_product_attention(q, k, v, see, scale=session.opts.get("scale"), enable_gqa=True)
            return out.numpy(), k.numpy(), v.numpy(), None

        session.add(w, run_session(session, call)[0])

    add("decode", [9] + [1] * 6)
    add("chunks, Dv 24", [5, 1, 7, 20, 1, 3], B=3, Dv=24)
    add("decode after 600", [600, 1, 3, 1], B=1, H=3, Hkv=1, D=8)
    add("scale -0.75, 7 heads", [2, 2, 1, 1, 1, 9], H=7, Hkv=1, scale=-0.75)
    add("window 9", [30, 1, 1, 4, 1, 9, 1], window=(8, -1))
    add("window 300 after 700", [700, 1, 3, 1], B=1, H=2, Hkv=1, D=8, window=(299, -1))


# ---- all of it ----

def main():
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    print("/* Written by make_state.py with transformers %s, PyTorch %s, ONNX Runtime %s, onnx %s and NumPy %s,"
          "\n   for test_golden_state.c. */" % (transformers.__version__, torch.__version__.split("+")[0],
                                               onnxruntime.__version__, onnx.__version__, np.__version__))
    print("/* clang-format off */")
    for struct, name, double, *groups in (
            ("golden_buckets", "t5_buckets", True, buckets), ("golden_t5", "t5_biases", True, t5_biases),
            ("golden_frequencies", "rope_frequencies", False, frequencies),
            ("golden_slopes", "alibi_slopes", False, slopes),
            ("golden_sinusoid", "sinusoids", False, sinusoids), ("golden_rope", "rotations", False, rotations),
            ("golden_layer", "layers_f64", True, layers), ("golden_layer", "layers_f32", False, layers),
            ("golden_layer", "layers_t5", False, t5_layers),
            ("golden_session", "sessions_f64", True, torch_sessions),
            ("golden_session", "sessions_f32", False, gqa_sessions, attention_sessions, microsoft_sessions),
            ("golden_tables", "rotations_by_tables", False, tables)):
        writer = States(struct, name, double)
        for group in groups:
            group(writer)
        writer.write()
        print(name, len(writer.cases), "cases", file=sys.stderr)
    print("\n/* clang-format on */")


if __name__ == "__main__":
    main()
