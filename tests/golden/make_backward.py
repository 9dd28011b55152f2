"""Writes backward.h: the gradients that PyTorch's autograd and transformers find for attention.
python3 make_backward.py > backward.h

Inputs, samples and sums are as in make_sdpa.py and make_state.py, beside which this script must lie; everything is in
f64. A peer is believed only where gradients(), the formulas of the backward pass written out in f64, agrees: this
script fails where it does not. The same formulas in f32, one operation after the other, give the error that the tests'
tolerances start from; where rounding happened to be kind to them, 2^-24 (1 + the largest score) times the largest sum
of the magnitudes of the terms of an element stands in for it.

  - flex_attention refuses gradients on a CPU before it looks at anything else; without that check its eager backward
    pass runs, and is right. It is the peer for softcap, ALiBi, windows, documents, and for the gradient of lse.
  - T5 takes its softmax in f32, whatever the model's type; here in f64.
  - gpt-oss is the peer for sinks. What no peer has (lengths of queries, sinks with a gradient of lse, mixtures) is the
    plain composition under autograd.
  - MultiheadAttention: a row that sees nothing is NaN, and is not recorded.
"""
import copy
import math
import warnings

import numpy as np
import torch
import torch.nn.functional as F
import transformers
from torch.nn.attention import flex_attention as flex
from transformers.models.gpt_oss import modeling_gpt_oss
from transformers.models.gptj import modeling_gptj
from transformers.models.llama import modeling_llama
from transformers.models.t5 import modeling_t5

import make_sdpa
from make_sdpa import (LOWER, MODS, OFFSET, UPPER, Case, Writer, compose, compound, flat, heads, numbers, option,
                       tensor, wrapped)
from make_state import Layer, Rope, product, rotate, seed_of, t5_module

make_sdpa.SAMPLES = 6
DOUT = 7  # the numbers of dout; those of dlse are of seed + 4
F64 = torch.float64


# ---- score modifiers, and what the gradient passes through ----

def mod_square(s, b, h, i, j):
    return s + s * s / 16


MODS["square"] = mod_square

MOD_GRADS = {"relative": lambda ds, s, b, h: ds,
             "heads": lambda ds, s, b, h: ds * ((h + 1 + b) / 4).astype(ds.dtype),
             "square": lambda ds, s, b, h: ds * (1 + s / 8)}


# ---- the formulas ----

class Task(Case):
    """A Case with the gradients that reach out and, if lse, lse. table: the bias is one of distances,
    H x (Lq + Lk - 1). shared: which of "qkv" the whole batch shares."""

    def __init__(self, name, lse=False, table=False, shared="", **how):
        super().__init__(name, **how)
        self.lse, self.shared = lse, shared
        self.dout = numbers(self.seed, DOUT, self.B, self.H, self.Lq, self.Dv)
        self.dlse = numbers(self.seed + 4, 0, self.B, self.H, self.Lq, 1) if lse else None
        self.table = numbers(self.seed, make_sdpa.BIAS, self.H, self.Lq + self.Lk - 1) if table else None
        for m in shared:
            setattr(self, m, np.repeat(getattr(self, m)[:1], self.B, 0))
        if table:
            self.bias = self.table[None, :, self.places()]

    def places(self):
        """Which element of the table query i and key j meet"""
        return np.arange(self.Lk)[None, :] - np.arange(self.Lq)[:, None] + self.Lq - 1


def added(x, axis):
    """The sum along an axis, from left to right"""
    return np.take(np.cumsum(x, axis, x.dtype), [-1], axis) if x.shape[axis] else x.sum(axis, x.dtype, keepdims=True)


def times(a, b):
    """a b, every sum from left to right"""
    out = np.zeros(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + (a.shape[-2], b.shape[-1]), a.dtype)
    for n in range(a.shape[-1]):
        out = out + a[..., :, n, None] * b[..., None, n, :]
    return out


def gradients(case, dtype, sizes=False):
    """All gradients of a case, in dtype; sizes: instead of them the sums of the magnitudes of what they add up, times
    1 + the largest score."""
    some = abs if sizes else lambda x: x
    q, k, v, dout = (some(x.astype(dtype)) for x in (case.q, case.k, case.v, case.dout))
    group = case.H // case.Hkv
    got, see, scale = compose(case, dtype), case.visible(), dtype(some(case.scale()))
    with np.errstate(invalid="ignore"):
        P = np.where(see, np.exp(got["FINAL"] - got["lse"]), dtype(0))
    out = some(got["out"])
    D = added(dout * out, -1)
    if case.dlse is not None:
        D = D + some(case.dlse).astype(dtype) if sizes else D - case.dlse.astype(dtype)
    dP = times(dout, np.repeat(v, group, 1).swapaxes(-1, -2))
    dS = np.where(see, P * (dP + D if sizes else dP - D), dtype(0))
    d = {"dv": times(P.swapaxes(-1, -2), dout)}
    b, h, i, j = np.ogrid[:case.B, :case.H, :case.Lq, :case.Lk]
    far = abs(i + case.offset() - j).astype(dtype)
    s = got["SOFTCAP"]
    if case.bias is not None:
        s = s + np.where(np.isinf(case.bias), 0, case.bias).astype(dtype)
    if "alibi_slopes" in case.opts:
        s = s - np.array(case.opts["alibi_slopes"], dtype).reshape(1, -1, 1, 1) * far
    if case.mod:
        dS = some(MOD_GRADS[case.mod](dS, s, b, h))
    if case.table is not None:
        d["dby_distance"] = np.zeros((case.H, case.Lq + case.Lk - 1), dtype)
        for row in range(case.Lq):
            for item in range(case.B):
                d["dby_distance"][:, case.Lq - 1 - row:case.Lq - 1 - row + case.Lk] += dS[item, :, row]
    elif case.bias is not None:
        db = dS
        for axis in range(4):
            db = added(db, axis) if case.bias.shape[axis] == 1 else db
        d["dbias"] = db
    if "alibi_slopes" in case.opts:
        d["dslopes"] = added(added(added(-dS * far, 3), 2), 0).reshape(-1)
        d["dslopes"] = some(d["dslopes"])
    if "sinks" in case.opts:
        sinks = np.array(case.opts["sinks"], dtype).reshape(1, -1, 1, 1)
        valid = np.arange(case.Lq)[:, None] < case.lens("q_lens", case.Lq)
        d["dsinks"] = some(added(added(np.where(valid, -np.exp(sinks - got["lse"]) * D, dtype(0)), 2), 0).reshape(-1))
    if case.opts.get("softcap"):
        capped = got["SOFTCAP"] / dtype(case.opts["softcap"])
        dS = dS * (1 - capped * capped)
    d["dq"] = scale * times(dS, np.repeat(k, group, 1))
    d["dk"] = scale * times(dS.swapaxes(-1, -2), q)
    for m in ("dk", "dv"):
        x = d[m].reshape(case.B, case.Hkv, group, *d[m].shape[2:])
        d[m] = added(x, 2)[:, :, 0]
    for m in case.shared:
        d["d" + m] = added(d["d" + m], 0)
    assert all(x.dtype == dtype for x in d.values()), {m: x.dtype for m, x in d.items()}
    most = abs(got["FINAL"])[np.isfinite(got["FINAL"])].max(initial=0)
    return {m: x * (1 + most) for m, x in d.items()} if sizes else d


# ---- what is written ----

def four(x):
    """As B x H x L x D"""
    return np.asarray(x).reshape((1,) * (4 - np.ndim(x)) + np.shape(x))


class Gradients(Writer):
    def __init__(self, struct, name):
        super().__init__(name, True)
        self.struct = struct

    def members(self, case, peer, exact, plain, sizes):
        lines = []
        for key, x in peer.items():
            least = 2.0**-24 * sizes[key].max(initial=0)
            worst = max(abs(plain[key] - exact[key]).max(initial=0), least)
            text = self.results(case, key, four(x), {key: four(exact[key])}, {key: four(exact[key] + worst)})
            lines.append(f".{key} = {text}")
        return lines

    def case(self, *members):
        self.cases.append("    {" + wrapped([m for m in members if m], 5).lstrip() + "}")

    def add(self, case, peer):
        peer = {key: x.numpy() if torch.is_tensor(x) else x for key, x in peer.items()}
        exact, plain = gradients(case, np.float64), gradients(case, np.float32)
        sizes = gradients(case, np.float64, sizes=True)
        if set(peer) != set(exact):
            raise SystemExit(f"{case.name}: {sorted(peer)} for {sorted(exact)}")
        members = [f'.name = "{case.name}"', f".seed = {case.seed}"]
        members += [f".{m} = {getattr(case, m)}" for m in ("B", "H", "Hkv", "Lq", "Lk", "D", "Dv")]
        members += [f".{m} = {{SHOW_{p[0]}, {p[1]}, {{{', '.join(str(x) for x in p[2:])}}}}}"
                    for m, p in (("mask", case.mask_pattern), ("bias", case.bias_pattern)) if p]
        members += [".relative = 1"] * (case.table is not None) + [".lse = 1"] * case.lse
        members += [f".shared_{m} = 1" for m in case.shared]
        if case.mod:
            members += [f".opts.score_mod = mod_{case.mod}", f".mod_grad = mod_{case.mod}_grad"]
        members += [option(m, x) for m, x in case.opts.items()]
        self.case(*members, *self.members(case, peer, exact, plain, sizes))

    def write(self):
        print()
        print(self.arrays.getvalue())
        print(f"static const {self.struct} golden_{self.name}[] = {{")
        print(",\n".join(self.cases) + "};")


# ---- PyTorch ----

def leaf(x):
    return torch.tensor(np.ascontiguousarray(x), dtype=F64, requires_grad=True)


class Leaves:
    """What a case differentiates by; q, k, v as the calls take them."""

    def __init__(self, case):
        self.case = case
        self.by = {"d" + m: leaf(getattr(case, m)[:1] if m in case.shared else getattr(case, m)) for m in "qkv"}
        self.q, self.k, self.v = (self.by["d" + m].expand(case.B, -1, -1, -1) for m in "qkv")
        self.bias = self.slopes = self.sinks = None
        if case.table is not None:
            self.by["dby_distance"] = leaf(case.table)
            self.bias = self.by["dby_distance"][None, :, torch.tensor(case.places())]
        elif case.bias is not None:
            self.bias = self.by["dbias"] = leaf(case.bias)
        if "alibi_slopes" in case.opts:
            self.slopes = self.by["dslopes"] = leaf(case.opts["alibi_slopes"])
        if "sinks" in case.opts:
            self.sinks = self.by["dsinks"] = leaf(case.opts["sinks"])

    def gradients(self, out, lse=None):
        results, given = [out], [torch.tensor(self.case.dout)]
        if self.case.lse:
            results, given = results + [lse], given + [torch.tensor(self.case.dlse)]
        return dict(zip(self.by, torch.autograd.grad(results, list(self.by.values()), given)))


def pytorch(w, case, **how):
    x = Leaves(case)
    if "attn_mask" not in how and (case.mask is not None or x.bias is not None):
        how["attn_mask"] = x.bias if case.mask is None else torch.tensor(np.ascontiguousarray(case.mask))
    out = F.scaled_dot_product_attention(x.q, x.k, x.v, scale=case.opts.get("scale"), enable_gqa=case.H != case.Hkv,
                                         **how)
    w.add(case, x.gradients(out))


def pytorch_cases(w):
    small = dict(B=2, H=2, Lq=9, Lk=21, D=8)
    pytorch(w, Task("SDPA", **small))
    pytorch(w, Task("SDPA causal", causal=UPPER, **small), is_causal=True)
    pytorch(w, Task("SDPA 1 x 1", Lq=1, Lk=1))
    pytorch(w, Task("SDPA D 3, Dv 5", B=2, Lq=7, Lk=10, D=3, Dv=5))
    pytorch(w, Task("SDPA D 72, Dv 40", H=2, Lq=33, Lk=70, D=72, Dv=40))
    pytorch(w, Task("SDPA D 130, Dv 1", Lq=5, Lk=18, D=130, Dv=1))
    pytorch(w, Task("SDPA scale 1.5", scale=1.5, **small))
    pytorch(w, Task("SDPA scale -0.5", scale=-0.5, **small))
    pytorch(w, Task("SDPA 267 x 530", Lq=267, Lk=530, D=8))
    pytorch(w, Task("SDPA 300 x 300, causal", H=2, Lq=300, Lk=300, D=16, causal=UPPER), is_causal=True)
    for H, Hkv in ((4, 2), (6, 1), (6, 3)):
        grouped = dict(B=2, H=H, Hkv=Hkv, Lq=17, Lk=33, D=8)
        pytorch(w, Task(f"SDPA {H} heads on {Hkv}", **grouped))
        pytorch(w, Task(f"SDPA {H} heads on {Hkv}, causal", causal=UPPER, **grouped), is_causal=True)
    for m in ("q", "k", "v", "kv"):
        pytorch(w, Task(f"SDPA shared {m}", shared=m, B=3, H=4, Hkv=2, Lq=5, Lk=19, D=8))
    for dims in ((1, 1, 9, 21), (2, 1, 1, 21), (2, 2, 9, 21), (1, 2, 9, 1)):
        shape = " x ".join(str(x) for x in dims)
        pytorch(w, Task(f"SDPA mask {shape}", mask=("RANDOM", 160, *dims), **small))
    pytorch(w, Task("SDPA mask, empty rows", mask=("ROWS", 2, 1, 1, 9, 21), **small))
    for n in range(16):
        dims = [1 if n & 8 >> axis else full for axis, full in enumerate((2, 2, 9, 21))]
        pytorch(w, Task(f"SDPA bias {' x '.join(str(x) for x in dims)}", bias=("ALL", 0, *dims), **small))
    pytorch(w, Task("SDPA bias and -inf", bias=("RANDOM", 160, 2, 2, 9, 21), **small))
    pytorch(w, Task("SDPA bias and -inf of keys", bias=("RANDOM", 160, 2, 1, 1, 21), **small))
    pytorch(w, Task("SDPA bias, 6 heads on 3, 70 x 140", bias=("ALL", 0, 1, 6, 1, 140), B=2, H=6, Hkv=3, Lq=70, Lk=140))
    pytorch(w, Task("SDPA bias by distance", table=True, **small))
    pytorch(w, Task("SDPA bias by distance, 4 heads on 2, 140 x 70", table=True, B=2, H=4, Hkv=2, Lq=140, Lk=70))


def flex_case(w, case, score_mod=None, mask_mod=None):
    """score_mod takes the leaves of the case first"""
    x = Leaves(case)
    block_mask = flex.create_block_mask(mask_mod, case.B, case.H, case.Lq, case.Lk, device="cpu") if mask_mod else None
    mod = (lambda s, b, h, i, j: score_mod(x, s, b, h, i, j)) if score_mod else None
    out, aux = flex.flex_attention(x.q, x.k, x.v, score_mod=mod, block_mask=block_mask, scale=case.opts.get("scale"),
                                   enable_gqa=case.H != case.Hkv, return_aux=flex.AuxRequest(lse=True))
    w.add(case, x.gradients(out, aux.lse[..., None]))


def flex_cases(w):
    def causal(b, h, i, j):
        return i >= j

    def capped(cap):
        return lambda x, s, b, h, i, j: cap * torch.tanh(s / cap)

    def window(left, right):
        return lambda b, h, i, j: (i - j <= left) & (j - i <= right)

    def alibi(x, s, b, h, i, j):
        return s - x.slopes[h] * abs(i - j)

    def mod(name):
        return lambda x, s, b, h, i, j: MODS[name](s, b, h, i, j)

    small = dict(B=2, H=2, Lq=13, Lk=37, D=8)
    square = dict(B=2, H=2, Lq=43, Lk=43, D=8)
    slopes = (0.5, 0.0625)
    flex_case(w, Task("flex with lse", lse=True, **small))
    for cap in (0.5, 2, 30):
        flex_case(w, Task(f"flex softcap {cap}", softcap=cap, **small), capped(cap))
    flex_case(w, Task("flex softcap 2, scale -2, lse", softcap=2, scale=-2.0, lse=True, **small), capped(2))
    flex_case(w, Task("flex softcap 3, causal", softcap=3, causal=UPPER, **square), capped(3), causal)
    flex_case(w, Task("flex ALiBi", alibi_slopes=slopes, **small), alibi)
    flex_case(w, Task("flex ALiBi, causal, lse", alibi_slopes=slopes, causal=UPPER, lse=True, **square), alibi, causal)
    shifted = dict(alibi_slopes=slopes, causal=OFFSET, causal_offset=[20, 20])
    flex_case(w, Task("flex ALiBi, offset 20, softcap 3", softcap=3, **shifted, **small),
              lambda x, s, b, h, i, j: capped(3)(x, s, b, h, i, j) - x.slopes[h] * abs(i + 20 - j),
              lambda b, h, i, j: j <= i + 20)
    flex_case(w, Task("flex ALiBi, 4 heads on 2, 70 x 130", alibi_slopes=[0.5, 0.25, 0.125, 0.0625], H=4, Hkv=2, Lq=70,
                      Lk=130), alibi)
    for left, right in ((7, 7), (0, 3), (20, 0)):
        flex_case(w, Task(f"flex window {left} {right}", window=(left, right), **square), mask_mod=window(left, right))
    flex_case(w, Task("flex window 5, lower right", window=(5, -1), causal=LOWER, **small),
              mask_mod=lambda b, h, i, j: (i + 24 >= j) & (i + 24 - j <= 5))
    flex_case(w, Task("flex 200 x 400, window 150, softcap 4", window=(150, -1), softcap=4, causal=LOWER, Lq=200,
                      Lk=400), capped(4), lambda b, h, i, j: (j <= i + 200) & (j >= i + 50))
    lens = torch.tensor([11, 30])
    flex_case(w, Task("flex lengths 11 30", kv_lens=lens.tolist(), **small), mask_mod=lambda b, h, i, j: j < lens[b])
    offsets = torch.tensor([-9, 5])
    flex_case(w, Task("flex offsets -9 5", causal=OFFSET, causal_offset=offsets.tolist(), **square),
              mask_mod=lambda b, h, i, j: j <= i + offsets[b])
    flex_case(w, Task("flex documents", mask=("DOCUMENTS", 15, 1, 1, 43, 43), **square),
              mask_mod=lambda b, h, i, j: i // 15 == j // 15)
    flex_case(w, Task("flex documents of 60, 2 heads on 1, lse", mask=("DOCUMENTS", 60, 1, 1, 150, 150), lse=True, H=2,
                      Hkv=1, Lq=150, Lk=150), mask_mod=lambda b, h, i, j: i // 60 == j // 60)
    flex_case(w, Task("flex prefix, softcap 5", mask=("PREFIX", 12, 1, 1, 43, 43), softcap=5, **square), capped(5),
              lambda b, h, i, j: (i >= j) | (j < 12))
    for name in ("relative", "heads", "square"):
        flex_case(w, Task(f"flex {name}", mod=name, **small), mod(name))
    flex_case(w, Task("flex heads, 4 heads on 2, causal", mod="heads", causal=UPPER, B=2, H=4, Hkv=2, Lq=17, Lk=33),
              mod("heads"), causal)
    flex_case(w, Task("flex square, softcap 2, ALiBi, window", mod="square", softcap=2, alibi_slopes=slopes,
                      window=(5, 9), **small),
              lambda x, s, b, h, i, j: mod_square(alibi(x, capped(2)(x, s, b, h, i, j), b, h, i, j), b, h, i, j),
              window(5, 9))
    flex_case(w, Task("flex bias of keys, softcap 2, causal", bias=("ALL", 0, 1, 1, 1, 43), softcap=2, causal=UPPER,
                      **square),
              lambda x, s, b, h, i, j: capped(2)(x, s, b, h, i, j) + x.bias[0, 0, 0, j], causal)


def sink_cases(w):
    """gpt-oss"""
    def add(name, **how):
        case = Task(name, **how)
        x = Leaves(case)
        module = torch.nn.Module()
        module.sinks, module.num_key_value_groups = x.sinks, case.H // case.Hkv
        hidden = torch.zeros(case.visible().shape, dtype=F64).masked_fill(~torch.tensor(case.visible()), -math.inf)
        out, _ = modeling_gpt_oss.eager_attention_forward(module, x.q, x.k, x.v, hidden, case.scale())
        w.add(case, x.gradients(out.transpose(1, 2)))

    add("gpt-oss", sinks=(0.5, -1.25), B=2, H=2, Lq=9, Lk=21)
    add("gpt-oss, causal, window 4, 4 heads on 2", sinks=(3, 0, -2, 1), window=(4, -1), causal=UPPER, B=2, H=4, Hkv=2,
        Lq=33, Lk=33)
    add("gpt-oss, empty rows", sinks=(1, -1), causal=OFFSET, causal_offset=[-5, -12], B=2, H=2, Lq=20, Lk=20)
    add("gpt-oss, 40 x 300", sinks=(2,), Lq=40, Lk=300, causal=LOWER)


def composed(w, case):
    """The plain composition under autograd"""
    x, see = Leaves(case), torch.tensor(case.visible())
    group = case.H // case.Hkv
    k, v = x.k.repeat_interleave(group, 1), x.v.repeat_interleave(group, 1)
    s = case.scale() * x.q @ k.transpose(-1, -2)
    if case.opts.get("softcap"):
        s = case.opts["softcap"] * torch.tanh(s / case.opts["softcap"])
    if x.bias is not None:
        s = s + x.bias
    i, j = torch.arange(case.Lq)[:, None], torch.arange(case.Lk)
    if x.slopes is not None:
        s = s - x.slopes[:, None, None] * abs(i + torch.tensor(case.offset()) - j)
    if case.mod:
        b, h = torch.arange(case.B)[:, None, None, None], torch.arange(case.H)[:, None, None]
        s = MODS[case.mod](s, b, h, i, j)
    s = s.masked_fill(~see, -math.inf)
    sinks = [x.sinks.reshape(1, -1, 1, 1).expand(*s.shape[:3], 1)] if x.sinks is not None else []
    something = see.any(-1, keepdim=True) | bool(sinks)
    lse = torch.cat([torch.where(something, s, 0.0)] + sinks, -1).logsumexp(-1, keepdim=True)
    P = torch.where(see, (s.masked_fill(~see, 0) - lse).exp(), 0)
    valid = torch.arange(case.Lq)[:, None] < torch.tensor(case.lens("q_lens", case.Lq))
    w.add(case, x.gradients(P @ v, torch.where(something & valid, lse, 0.0)))


def composed_cases(w):
    small = dict(B=2, H=2, Lq=13, Lk=37, D=8)
    lens = dict(q_lens=[13, 6], kv_lens=[37, 20])
    composed(w, Task("lengths of both, lse", lse=True, **lens, **small))
    composed(w, Task("lengths of both, lower right, bias", causal=LOWER, bias=("ALL", 0, 1, 2, 13, 1), **lens, **small))
    composed(w, Task("lengths 0, shared k and v", q_lens=[0, 5, 9], kv_lens=[12, 0, 7], shared="kv", B=3, Lq=9, Lk=12))
    composed(w, Task("sinks, lse, lengths, empty rows", sinks=(0.5, -1.25), lse=True, causal=OFFSET,
                     causal_offset=[-3, 2], **lens, **small))
    composed(w, Task("sinks, ALiBi, softcap, bias, lse, 4 heads on 2", sinks=(1, 0, 2, -1), softcap=4,
                     alibi_slopes=[0.5, 0.25, 0.125, 0.0625], bias=("RANDOM", 220, 1, 1, 70, 140), lse=True,
                     causal=LOWER, B=2, H=4, Hkv=2, Lq=70, Lk=140))
    composed(w, Task("ALiBi about offsets, lengths", alibi_slopes=(0.25, 0.125), causal_offset=[4, -7], lse=True,
                     **lens, **small))
    composed(w, Task("bias by distance, mask, lower right", table=True, mask=("RANDOM", 200, 2, 1, 13, 37),
                     causal=LOWER, **lens, **small))
    composed(w, Task("window, sinks, square, mask", mod="square", window=(9, 4), sinks=(0.25, 1.5),
                     mask=("RANDOM", 200, 1, 2, 1, 37), **small))
    composed(w, Task("scale 0.02", scale=0.02, lse=True, **small))
    composed(w, Task("nearly one key each", scale=2.0, lse=True, B=1, H=1, Lq=21, Lk=40, D=16))


# ---- T5 ----

class Given(torch.nn.Module):
    """In the place of a projection: gives what it holds"""

    def __init__(self, x):
        super().__init__()
        self.x = x

    def forward(self, _):
        return self.x


def t5_cases(w):
    for decoder, count, most, B, H, Lq, Lk, past in (
            (False, 32, 128, 2, 3, 20, 20, 0), (True, 32, 128, 2, 2, 33, 33, 0), (False, 16, 40, 1, 2, 9, 150, 0),
            (True, 16, 100, 2, 3, 5, 60, 55), (False, 8, 20, 1, 2, 150, 70, 0)):
        name = f"T5 {'decoder' if decoder else 'encoder'}, {count} buckets, {most}: {Lq} x {Lk} from {past}"
        rule = dict(causal=OFFSET, causal_offset=[past] * B) if decoder else {}
        case = Task(name, table=True, B=B, H=H, Lq=Lq, Lk=Lk, D=8, scale=1.0, **rule)
        case.q = case.q / 4  # there is no scale: large scores leave one key to each query
        module = t5_module(case.seed, H * 8, 8, H, count, most, decoder)
        table = numbers(case.seed + 3, 0, count, H)
        distance = np.arange(Lk)[None, :] - np.arange(past, past + Lq)[:, None]
        bucket = module._relative_position_bucket(torch.tensor(distance), not decoder, count, most).numpy()
        case.bias = table[bucket].transpose(2, 0, 1)[None]
        places = {int(p): int(n) for p, n in zip(case.places().flatten(), bucket.flatten())}
        # PyTorch's part
        given = [leaf(flat(x)) for x in (case.q, case.k, case.v)]
        module.q, module.k, module.v = (Given(x) for x in given)
        module.o = torch.nn.Identity()
        bias = module.compute_bias(Lq, Lk, cache_position=torch.arange(past, past + Lq))
        if decoder:
            bias = bias.masked_fill(torch.tensor(distance > 0), -math.inf)
        was, torch.Tensor.float = torch.Tensor.float, lambda self: self  # the softmax in f64
        out = module(torch.zeros(B, Lq, H * 8), key_value_states=torch.zeros(B, Lk, H * 8), position_bias=bias)[0]
        torch.Tensor.float = was
        weight = module.relative_attention_bias.weight
        got = torch.autograd.grad(out, given + [weight], torch.tensor(flat(case.dout)))
        peer = {key: heads(x.numpy(), H) for key, x in zip(("dq", "dk", "dv"), got)}
        peer["dtable"] = got[3].numpy()
        # and the formulas'
        results = []
        for dtype, sizes in ((np.float64, False), (np.float32, False), (np.float64, True)):
            d = gradients(case, dtype, sizes)
            d["dtable"] = np.zeros((count, H), dtype)
            for place in range(Lq + Lk - 1):
                d["dtable"][places[place]] += d["dby_distance"][:, place]
            results.append(d)
        w.case(f'.name = "{name}", .seed = {case.seed}', f".decoder = {int(decoder)}",
               f".buckets = {count}, .max_distance = {most}",
               f".B = {B}, .H = {H}, .Lq = {Lq}, .Lk = {Lk}, .past = {past}", *w.members(case, peer, *results))


# ---- the multi-head layer ----

def layer_gradients(layer, dout, dtype, sizes=False):
    """All gradients of Layer, of matrices as PyTorch keeps them, in dtype; sizes as in gradients()"""
    some = abs if sizes else lambda x: x
    case, x, H = copy.copy(layer.case), {m: layer.__dict__[m].astype(dtype) for m in "qkv"}, layer.case.H
    for m in "qkv":
        setattr(case, m, heads(product(x[m], getattr(layer, "w" + m).T, getattr(layer, "b" + m), dtype), H))
    joined = some(flat(compose(case, dtype)["out"]))
    dout = some(dout.astype(dtype))
    wo = some(layer.wo.astype(dtype))

    def rows(y):
        return y.reshape(-1, y.shape[-1])

    d = {"wo": times(rows(dout).T, rows(joined)), "bo": added(rows(dout), 0)[0]}
    case.dout = heads(times(dout, wo), H)
    got = gradients(case, dtype, sizes)
    for m in "qkv":
        y = flat(got["d" + m])
        d["w" + m], d["b" + m] = times(rows(y).T, rows(some(x[m]))), added(rows(y), 0)[0]
        d[m] = times(y, some(getattr(layer, "w" + m).astype(dtype)))[:, None]
    return {"d" + m: x for m, x in d.items() if m[0] != "b" or layer.biases}


def layer_cases(w):
    def add(name, padding=None, attn_mask=None, **how):
        """padding, attn_mask: booleans, true = hidden; or what is added"""
        layer = Layer(name, **how)
        case = layer.case
        case.table, case.shared, case.dlse = None, "", None
        dout = numbers(layer.seed, DOUT, case.B, case.Lq, layer.E)
        module = torch.nn.MultiheadAttention(layer.E, case.H, bias=layer.biases, kdim=layer.Ek, vdim=layer.Ev,
                                             batch_first=True, dtype=F64)
        packed = module.in_proj_weight is not None
        with torch.no_grad():
            if packed:
                module.in_proj_weight.copy_(tensor(np.concatenate((layer.wq, layer.wk, layer.wv)), F64))
            else:
                for m in "qkv":
                    getattr(module, m + "_proj_weight").copy_(tensor(getattr(layer, "w" + m), F64))
            module.out_proj.weight.copy_(tensor(layer.wo, F64))
            if layer.biases:
                module.in_proj_bias.copy_(tensor(np.concatenate((layer.bq, layer.bk, layer.bv)), F64))
                module.out_proj.bias.copy_(tensor(layer.bo, F64))
        x = {m: leaf(getattr(layer, m)) for m in "qkv"}
        out, _ = module(*x.values(), need_weights=False,
                        key_padding_mask=None if padding is None else tensor(padding(case), F64),
                        attn_mask=None if attn_mask is None else tensor(attn_mask(case), F64))
        out.backward(torch.tensor(dout))
        peer = {"d" + m: t.grad.numpy()[:, None] for m, t in x.items()}
        names = ("q", "k", "v")
        if packed:
            peer.update(zip(("dwq", "dwk", "dwv"), np.split(module.in_proj_weight.grad.numpy(), 3)))
        else:
            peer.update((f"dw{m}", getattr(module, m + "_proj_weight").grad.numpy()) for m in names)
        peer["dwo"] = module.out_proj.weight.grad.numpy()
        if layer.biases:
            peer.update(zip(("dbq", "dbk", "dbv"), np.split(module.in_proj_bias.grad.numpy(), 3)))
            peer["dbo"] = module.out_proj.bias.grad.numpy()
        results = [layer_gradients(layer, dout, *how) for how in ((np.float64,), (np.float32,), (np.float64, True))]
        members = [f'.of.name = "{name}", .of.seed = {layer.seed}']
        members += [f".of.{m} = {getattr(case, m)}" for m in ("B", "H", "D", "Lq", "Lk")]
        members += [f".of.E = {layer.E}, .of.Ek = {layer.Ek}, .of.Ev = {layer.Ev}", f".of.biases = {int(layer.biases)}"]
        members += [f".of.{m} = {{SHOW_{p[0]}, {p[1]}, {{{', '.join(str(x) for x in p[2:])}}}}}"
                    for m, p in (("mask", case.mask_pattern), ("bias", case.bias_pattern)) if p]
        members += [".of" + option(m, x) for m, x in case.opts.items()]
        w.case(*members, *w.members(layer, peer, *results))

    def upper(case):
        return np.triu(np.ones((case.Lq, case.Lk), bool), 1)

    def past_lens(case):
        return np.arange(case.Lk) >= np.array(case.opts["kv_lens"])[:, None]

    add("MHA")
    add("MHA without biases", biases=False)
    add("MHA, kdim 10, vdim 7", Ek=10, Ev=7)
    add("MHA, 1 head of 24, one query", H=1, D=24, Lq=1, Lk=40)
    add("MHA, causal", attn_mask=upper, causal=UPPER, Lq=29, Lk=29)
    add("MHA, padding", padding=lambda case: ~case.mask[:, 0, 0], mask=("RANDOM", 180, 2, 1, 1, 29))
    add("MHA, lengths 11 29", padding=past_lens, kv_lens=[11, 29])
    add("MHA, bias of each head and -inf", attn_mask=lambda case: case.bias.reshape(-1, 17, 29),
        bias=("RANDOM", 200, 2, 3, 17, 29))
    add("MHA, 70 x 140, E 32", B=1, H=4, D=8, E=32, Lq=70, Lk=140)


# ---- steps ----

def softmax_cases(w):
    for rows, cols in ((1, 1), (3, 7), (5, 33), (40, 130), (2, 1030)):
        name = f"softmax {rows} x {cols}"
        case = Case(name, Lq=rows, Lk=cols)
        x, dout = leaf(4 * numbers(case.seed, make_sdpa.Q, rows, cols)), numbers(case.seed, DOUT, rows, cols)
        got, = torch.autograd.grad(torch.softmax(x, -1), [x], torch.tensor(dout))

        def formula(dtype, sizes=False):
            s, d = x.detach().numpy().astype(dtype), dout.astype(dtype)
            e = np.exp(s - s.max(-1, keepdims=True))
            P = e / added(e, -1)
            return {"din": P * (abs(d) + added(abs(d) * P, -1) if sizes else d - added(d * P, -1))}

        w.case(f'.name = "{name}", .seed = {case.seed}', f".rows = {rows}, .cols = {cols}",
               *w.members(case, {"din": got.numpy()}, formula(np.float64), formula(np.float32),
                          formula(np.float64, True)))


def rope_cases(w):
    def add(name, scale=1.0, **how):
        case = Rope(name, **how)
        x, dim = leaf(np.zeros_like(case.x)), case.dim or case.D
        angle = torch.tensor(case.positions[:, :, None] * case.freq)
        cos, sin = scale * torch.cos(angle), scale * torch.sin(angle)
        if case.interleaved:
            out = modeling_gptj.apply_rotary_pos_emb(x[..., :dim].transpose(1, 2), sin, cos).transpose(1, 2)
        else:
            out, _ = modeling_llama.apply_rotary_pos_emb(x[..., :dim], x[..., :dim], torch.cat((cos, cos), -1),
                                                         torch.cat((sin, sin), -1))
        got, = torch.autograd.grad(torch.cat((out, x[..., dim:]), -1), [x], torch.tensor(case.x))

        def formula(dtype):
            return {"din": rotate(case.x, -case.positions, case.freq, scale, case.interleaved, dtype)}

        at = f".opts.offset = {case.at}"
        if case.listed:
            at = f".opts.positions = {compound('const ptrdiff_t', case.positions.flatten().tolist())}"
        w.case(f'.name = "{name}", .seed = {case.seed}', f".B = {case.B}, .H = {case.H}, .L = {case.L}, .D = {case.D}",
               f".opts.interleaved = {case.interleaved}, .opts.dim = {case.dim}, .opts.base = {case.base}",
               f".opts.scale = {scale}", at,
               *w.members(case, {"din": got.numpy()}, formula(np.float64), formula(np.float32),
                          {"din": abs(formula(np.float64)["din"])}))

    add("gradient through Llama's rotation")
    add("gradient through Llama's rotation at 1000, scale 0.5", at=1000, scale=0.5)
    add("gradient through Llama's rotation of 10 of 20", D=20, dim=10, at=[[9, 3, 4, 4, 0, 77, 5, 8, 1]] * 2)
    add("gradient through GPT-J's rotation", interleaved=1)
    add("gradient through GPT-J's rotation of 6 of 16, base 100", interleaved=1, dim=6, at=20, base=100.0)


# ---- all of it ----

def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    warnings.filterwarnings("ignore")
    flex._validate_device = lambda *tensors: None
    versions = torch.__version__.split("+")[0], transformers.__version__
    print("/* Written by make_backward.py with PyTorch %s, transformers %s, for test_golden_backward.c. */" % versions)
    print("/* clang-format off */")
    for struct, name, *groups in (("golden_backward", "backward_pytorch", pytorch_cases),
                                  ("golden_backward", "backward_flex", flex_cases),
                                  ("golden_backward", "backward_sinks", sink_cases),
                                  ("golden_backward", "backward_composed", composed_cases),
                                  ("golden_t5_backward", "backward_t5", t5_cases),
                                  ("golden_layer_backward", "backward_layers", layer_cases),
                                  ("golden_softmax_backward", "backward_softmax", softmax_cases),
                                  ("golden_rope_backward", "backward_rotations", rope_cases)):
        writer = Gradients(struct, name)
        for group in groups:
            group(writer)
        writer.write()
    print("\n/* clang-format on */")


if __name__ == "__main__":
    main()
