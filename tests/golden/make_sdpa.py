"""Writes sdpa.h: what PyTorch and ONNX Runtime compute for attention.   python3 make_sdpa.py > sdpa.h

A case is the arguments of one attn_sdpa call; its keys are the members of golden_case and attn_opts. The inputs are not
stored: numbers() here and golden_number() in golden.h are one function of seed and index; they give multiples of
1/64, which every dtype holds exactly. Of a peer's result every stride-th element is stored, and one sum over all of
them, weighted with more such numbers.

A peer is believed only where compose(), the plain composition in f64, agrees: this script fails where it does not.
The same composition in f32, one operation after the other, gives the error that the tests' tolerances start from.

Not recorded, because there the peer does not do what its documentation says, leaves it open, or refuses the call:
  - all of them: NaN in a hidden key or value makes the whole item NaN, as 0 times NaN; also past nonpad_kv_seqlen.
  - MultiHeadAttention: where key_padding_mask hides every key, the row comes out as if it hid none, because
    mask_filter_value is added to each; a row whose attention_bias is all -inf is NaN.
  - MultiHeadAttention: unidirectional with Lq != Lk and no past follows neither corner.
  - Attention: qk_matmul_output_mode 2 shows hidden scores as the lowest float; -inf by the definition.
  - Attention: masks with Lq or Lk of 1 or a short last dimension, and a negative scale, are refused.
  - GroupQueryAttention: qk_output 1 leaves hidden scores zero; several queries after a past with B > 1, and
    local_window_size without causal, are refused. What is recorded: local_window_size counts the query's own key.
"""
import io
import math
import warnings
import zlib

import numpy as np
import onnx
import onnxruntime
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper
from torch.nn.attention import bias as torch_bias
from torch.nn.attention import flex_attention as flex

Q, K, V, MASK, BIAS, HIDDEN, SUM = range(7)  # which numbers of a case
SAMPLES = 64
UPPER, LOWER, OFFSET = "UPPER_LEFT", "LOWER_RIGHT", "OFFSET"


def bits(seed, tag, count):
    """splitmix64 of (seed, tag, index)"""
    z = np.uint64((seed * 8 + tag) << 32) + np.arange(count, dtype=np.uint64)
    z = (z + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) >> np.uint64(40)


def numbers(seed, tag, *shape):
    """-127/64 .. 127/64"""
    return ((bits(seed, tag, math.prod(shape)) % np.uint64(255)).astype(np.float64).reshape(shape) - 127) / 64


# ---- cases ----

class Case:
    """One call. `opts` holds members of attn_opts; mask and bias are (pattern, p, batch, heads, Lq, Lk), absent None;
    mod names a score_mod of test_golden.c."""

    def __init__(self, name, B=1, H=1, Hkv=None, Lq=1, Lk=1, D=8, Dv=None, mask=None, bias=None, mod=None, **opts):
        self.name, self.B, self.H, self.Lq, self.Lk, self.D = name, B, H, Lq, Lk, D
        self.Hkv, self.Dv = Hkv or H, Dv or D
        self.mask_pattern, self.bias_pattern, self.mod, self.opts = mask, bias, mod, opts
        self.seed = zlib.crc32(name.encode()) % 2**24
        self.q = numbers(self.seed, Q, B, H, Lq, D)
        self.k = numbers(self.seed, K, B, self.Hkv, Lk, D)
        self.v = numbers(self.seed, V, B, self.Hkv, Lk, self.Dv)
        self.mask = self.shown(MASK, mask) if mask else None
        self.bias = None
        if bias:
            self.bias = np.where(self.shown(HIDDEN, bias), numbers(self.seed, BIAS, *bias[2:]), -np.inf)

    def shown(self, tag, pattern):
        """golden_shown() of golden.h: true = attend"""
        kind, p, *dims = pattern
        i, j = np.arange(dims[2])[:, None], np.arange(dims[3])[None, :]
        if kind == "RANDOM":
            return (bits(self.seed, tag, math.prod(dims)) % np.uint64(256) < np.uint64(p)).reshape(dims)
        plane = {
            "ALL": lambda: i + j >= 0,
            "BAND": lambda: abs(i - j) <= p,
            "OUTSIDE": lambda: abs(i - j) > p,
            "COLUMNS": lambda: (j // p) % 2 + 0 * i == 0,
            "ROWS": lambda: (i // p) % 2 + 0 * j == 0,
            "DOCUMENTS": lambda: i // p == j // p,
            "PREFIX": lambda: (j <= i) | (j < p),
        }[kind]()
        return np.broadcast_to(plane, dims)

    def scale(self):
        return self.opts.get("scale") or 1 / math.sqrt(self.D)

    def lens(self, name, full):
        return np.array(self.opts.get(name, [full] * self.B)).reshape(-1, 1, 1, 1)

    def offset(self):
        """o of `query i sits at position i + o`, B x 1 x 1 x 1"""
        causal = self.opts.get("causal", "NONE")
        if causal == LOWER:
            return self.lens("kv_lens", self.Lk) - self.lens("q_lens", self.Lq)
        if causal == UPPER:
            return np.zeros((1, 1, 1, 1), int)
        return np.array(self.opts.get("causal_offset", [0] * self.B)).reshape(-1, 1, 1, 1)

    def visible(self):
        i = np.arange(self.Lq)[:, None]
        j = np.arange(self.Lk)[None, :]
        at = i + self.offset()
        see = (i < self.lens("q_lens", self.Lq)) & (j < self.lens("kv_lens", self.Lk))
        see = np.repeat(see, self.H, 1)
        if self.opts.get("causal", "NONE") != "NONE":
            see = see & (j <= at)
        if "window" in self.opts:
            left, right = self.opts["window"]
            see = see & ((left < 0) | (j >= at - left)) & ((right < 0) | (j <= at + right))
        if self.mask is not None:
            see = see & self.mask
        if self.bias is not None:
            see = see & (self.bias > -np.inf)
        return see


def mod_relative(s, b, h, i, j):
    return s + (i - j) / 16


def mod_heads(s, b, h, i, j):
    return s * (h + 1 + b) / 4


MODS = {"relative": mod_relative, "heads": mod_heads}


def compose(case, dtype):
    """All of a case's results: step by step, every sum from left to right, each operation in dtype."""
    q, k, v = (x.astype(dtype) for x in (case.q, case.k, case.v))
    group = case.H // case.Hkv
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    got = {}
    s = np.zeros((case.B, case.H, case.Lq, case.Lk), dtype)
    for d in range(case.D):
        s = s + q[..., :, None, d] * k[..., None, :, d]
    s = s * dtype(case.scale())
    got["DOT"] = s
    if case.opts.get("softcap"):
        cap = dtype(case.opts["softcap"])
        s = cap * np.tanh(s / cap)
    got["SOFTCAP"] = s
    see = case.visible()
    b, h, i, j = np.ogrid[:case.B, :case.H, :case.Lq, :case.Lk]
    if case.bias is not None:
        s = s + np.where(np.isinf(case.bias), 0, case.bias).astype(dtype)
    if "alibi_slopes" in case.opts:
        slopes = np.array(case.opts["alibi_slopes"], dtype).reshape(1, -1, 1, 1)
        s = s - slopes * abs(i + case.offset() - j).astype(dtype)
    if case.mod:
        s = MODS[case.mod](s, *(x.astype(dtype) for x in (b, h, i, j)))
    s = np.where(see, s, dtype(-np.inf))
    assert s.dtype == dtype
    got["FINAL"] = s
    most = s.max(-1, keepdims=True)
    if "sinks" in case.opts:
        sinks = np.array(case.opts["sinks"], dtype).reshape(1, -1, 1, 1)
        most = np.maximum(most, sinks)
    with np.errstate(invalid="ignore"):
        e = np.where(see, np.exp(s - most), dtype(0))
    total = np.cumsum(e, -1, dtype)[..., -1:]
    if "sinks" in case.opts:
        total = total + np.exp(sinks - most)
    with np.errstate(divide="ignore"):
        got["lse"] = np.log(total) + np.where(np.isinf(most), dtype(0), most)
    weights = e / np.where(total == 0, dtype(1), total)
    got["weights"] = weights
    out = np.zeros((case.B, case.H, case.Lq, case.Dv), dtype)
    for n in range(case.Lk):
        out = out + weights[..., n, None] * v[..., None, n, :]
    got["out"] = out
    return got


# ---- what is written ----

def number(x):
    return "-HUGE_VAL" if x == -math.inf else f"{x:.17g}".replace("e-0", "e-")


def upwards(x):
    """x with two digits, rounded up"""
    if x == 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(x)) - 1)
    return f"{math.ceil(x / unit) * unit:.1e}".replace("e-0", "e-")


def compound(ctype, values):
    return f"({ctype}[]){{{', '.join(str(x) for x in values)}}}"


def wrapped(items, indent=4):
    lines = [""]
    for item in items:
        if lines[-1] and len(lines[-1]) + len(item) > 110:
            lines.append("")
        lines[-1] += (", " if lines[-1] else "") + item
    return ",\n".join(" " * indent + line for line in lines)


def option(name, x):
    """A member of attn_opts"""
    types = {"causal_offset": "const ptrdiff_t", "q_lens": "const size_t", "kv_lens": "const size_t",
             "alibi_slopes": "const float", "sinks": "const float"}
    if name in types:
        x = compound(types[name], x)
    elif name == "causal":
        x = "ATTN_CAUSAL_" + x
    elif name == "window":
        x = f"{{1, {x[0]}, {x[1]}}}"
    return f".opts.{name} = {x}"


class Writer:
    def __init__(self, name, double):
        self.name, self.double, self.arrays, self.cases = name, double, io.StringIO(), []

    def results(self, case, key, peer, exact, plain):
        """A golden_result of golden.h"""
        peer, exact, plain = (np.asarray(x, np.float64) for x in (peer, exact[key], plain[key]))
        assert peer.shape == exact.shape, (case.name, key, peer.shape, exact.shape)
        finite = np.isfinite(exact)
        same = (peer == exact) | finite
        if not same.all():
            raise SystemExit(f"{case.name}, {key}: {(~same).sum()} infinities differ")
        off = abs(peer - exact)[finite].max(initial=0)
        least = 2.0**-24 * abs(exact)[finite].max(initial=0)
        worst = max(abs(plain - exact)[finite].max(initial=0), least)
        allowed = (2 * worst + 8 * least) * (2.0**-29 if self.double else 1)
        if not off <= allowed:
            at = np.unravel_index(np.argmax(np.where(finite, abs(peer - exact), 0)), peer.shape)
            raise SystemExit(f"{case.name}, {key} {at}: {peer[at]} for {exact[at]}, off by {off}, allowed {allowed}")
        flat = peer.flatten()
        stride = max(1, len(flat) // SAMPLES)
        while math.gcd(stride, peer.shape[-1]) > 1:  # so that every column is met
            stride += 1
        total = math.fsum(np.where(np.isfinite(flat), flat, 0) * numbers(case.seed, SUM, len(flat)))
        name = f"golden_{case.seed:06x}_{key.lower()}"
        values = [number(x) for x in flat[::stride]]
        self.arrays.write(f"static const double {name}[] = {{\n{wrapped(values)}}};\n")
        return f"{{{name}, {len(values)}, {stride}, {upwards(worst)}, {upwards(off)}, {number(total)}}}"

    def add(self, case, **peer):
        """peer: out, and where it tells lse, weights, or a stage of the scores"""
        exact, plain = compose(case, np.float64), compose(case, np.float32)
        members = [f'.name = "{case.name}"', f".seed = {case.seed}"]
        members += [f".{m} = {getattr(case, m)}" for m in ("B", "H", "Hkv", "Lq", "Lk", "D", "Dv")]
        for m in ("mask", "bias"):
            pattern = getattr(case, m + "_pattern")
            if pattern:
                dims = ", ".join(str(x) for x in pattern[2:])
                members.append(f".{m} = {{SHOW_{pattern[0]}, {pattern[1]}, {{{dims}}}}}")
        if case.mod:
            members.append(f".opts.score_mod = mod_{case.mod}")
        members += [option(m, x) for m, x in case.opts.items()]
        for key, x in peer.items():
            text = self.results(case, key, x, exact, plain)
            if key in ("DOT", "SOFTCAP", "FINAL"):
                members += [f".opts.scores_stage = ATTN_STAGE_{key}", f".scores = {text}"]
            else:
                members.append(f".{key} = {text}")
        self.cases.append("    {" + wrapped(members, 5).lstrip() + "}")

    def write(self):
        print()
        print(self.arrays.getvalue())
        print(f"static const golden_case golden_{self.name}_{'f64' if self.double else 'f32'}[] = {{")
        print(",\n".join(self.cases) + "};")


# ---- PyTorch ----

def tensor(x, dtype=None):
    t = torch.tensor(np.ascontiguousarray(x))
    return t if t.dtype == torch.bool else t.to(dtype)


def pytorch(writer, case, **how):
    dtype = torch.float64 if writer.double else torch.float32
    mask = case.mask if case.mask is not None else case.bias
    if "attn_mask" not in how and mask is not None:
        how["attn_mask"] = tensor(mask, dtype)
    out = F.scaled_dot_product_attention(*(tensor(x, dtype) for x in (case.q, case.k, case.v)),
                                         scale=case.opts.get("scale"), enable_gqa=case.H != case.Hkv, **how)
    writer.add(case, out=out.numpy())


def pytorch_cases(w):
    f32 = "" if w.double else ", f32"
    for Lq, Lk, D, H in ((267, 267, 8, 1), (267, 1030, 16, 1), (267, 267, 16, 3), (1030, 267, 8, 1), (267, 1030, 8, 3),
                         (1030, 1030, 8, 1)):
        if w.double or Lq == 267:
            name = f"SDPA {Lq} x {Lk}, D {D}, H {H}{f32}"
            pytorch(w, Case(name, H=H, Lq=Lq, Lk=Lk, D=D))
            pytorch(w, Case(name + ", causal", H=H, Lq=Lq, Lk=Lk, D=D, causal=UPPER), is_causal=True)
    pytorch(w, Case(f"SDPA D 3, Dv 5{f32}", B=2, H=2, Lq=33, Lk=70, D=3, Dv=5))
    pytorch(w, Case(f"SDPA D 72, Dv 40{f32}", H=2, Lq=33, Lk=70, D=72, Dv=40))
    pytorch(w, Case(f"SDPA D 1{f32}", B=2, Lq=17, Lk=19, D=1))
    pytorch(w, Case(f"SDPA D 256{f32}", Lq=17, Lk=130, D=256))
    pytorch(w, Case(f"SDPA one query{f32}", B=3, H=2, Lq=1, Lk=260, D=16))
    pytorch(w, Case(f"SDPA one key{f32}", B=3, H=2, Lq=75, Lk=1, D=16))
    for scale in (0.5, -0.25, -1e4, 1e-3):
        pytorch(w, Case(f"SDPA scale {scale:g}{f32}", H=2, Lq=75, Lk=113, D=16, scale=scale))
    pytorch(w, Case(f"SDPA scale -1e4 267 x 267{f32}", H=3, Lq=267, Lk=267, D=8, scale=-1e4))
    for H, Hkv in ((4, 1), (4, 2), (7, 1), (6, 3)):
        pytorch(w, Case(f"SDPA {H} heads on {Hkv}{f32}", B=2, H=H, Hkv=Hkv, Lq=32, Lk=65, D=8))
    pytorch(w, Case(f"SDPA 6 heads on 2, causal{f32}", B=2, H=6, Hkv=2, Lq=65, Lk=65, D=8, causal=UPPER),
            is_causal=True)
    for Lq, Lk in ((267, 1030), (33, 130), (130, 33), (65, 65)):
        for corner, causal in (("upper_left", UPPER), ("lower_right", LOWER)):
            variant = torch_bias.causal_upper_left if causal == UPPER else torch_bias.causal_lower_right
            case = Case(f"causal_{corner}({Lq}, {Lk}){f32}", H=2, Lq=Lq, Lk=Lk, D=8, causal=causal)
            pytorch(w, case, attn_mask=variant(Lq, Lk))
    if w.double:
        for n in range(16):  # every shape that broadcasts
            dims = [full if n >> (3 - at) & 1 else 1 for at, full in enumerate((2, 3, 67, 103))]
            shape = " x ".join(str(x) for x in dims)
            common = dict(B=2, H=3, Lq=67, Lk=103, D=8)
            pytorch(w, Case(f"SDPA mask {shape}", mask=("RANDOM", 180, *dims), **common))
            pytorch(w, Case(f"SDPA bias {shape}", bias=("ALL", 0, *dims), **common))
            pytorch(w, Case(f"SDPA bias and -inf {shape}", bias=("RANDOM", 180, *dims), **common))
    for kind, p in (("BAND", 20), ("OUTSIDE", 150), ("COLUMNS", 100), ("ROWS", 100), ("DOCUMENTS", 150), ("BAND", 0)):
        if w.double or kind in ("BAND", "ROWS"):
            name = f"SDPA 600 x 600, {kind} {p} of -inf{f32}"
            pytorch(w, Case(name, Lq=600, Lk=600, D=8, bias=(kind, p, 1, 1, 600, 600)))
    for kind, p in (("BAND", 9), ("ROWS", 5), ("PREFIX", 11)):
        pytorch(w, Case(f"SDPA mask {kind} {p}{f32}", B=2, H=2, Lq=75, Lk=75, D=8, mask=(kind, p, 1, 1, 75, 75)))
    pytorch(w, Case(f"SDPA mask ROWS 1 of few{f32}", B=2, H=2, Lq=4, Lk=5, D=8, mask=("ROWS", 1, 1, 1, 4, 1)))


def flex_case(writer, case, score_mod=None, mask_mod=None):
    q, k, v = (tensor(x, torch.float64) for x in (case.q, case.k, case.v))
    block_mask = flex.create_block_mask(mask_mod, case.B, case.H, case.Lq, case.Lk, device="cpu") if mask_mod else None
    out, aux = flex.flex_attention(q, k, v, score_mod=score_mod, block_mask=block_mask, scale=case.opts.get("scale"),
                                   enable_gqa=case.H != case.Hkv, return_aux=flex.AuxRequest(lse=True))
    out, lse = out.numpy(), aux.lse.numpy()[..., None]
    if "sinks" in case.opts:  # as its users add them: one more logit beside the log-sum-exp
        with_sink = np.logaddexp(lse, np.array(case.opts["sinks"], np.float64).reshape(1, -1, 1, 1))
        out, lse = out * np.exp(lse - with_sink), with_sink
    writer.add(case, out=out, lse=lse)


def flex_cases(w):
    def causal(b, h, i, j):
        return i >= j

    def capped(cap):
        return lambda s, b, h, i, j: cap * torch.tanh(s / cap)

    def window(left, right):
        return lambda b, h, i, j: (i - j <= left) & (j - i <= right)

    small = dict(B=2, H=2, Lq=75, Lk=130, D=16)
    square = dict(B=2, H=2, Lq=113, Lk=113, D=16)
    slopes = (0.5, 0.0625)
    alibi = torch.tensor(slopes, dtype=torch.float64)
    flex_case(w, Case("flex plain", **small))
    flex_case(w, Case("flex causal", causal=UPPER, **small), mask_mod=causal)
    for cap in (0.5, 2, 30):
        flex_case(w, Case(f"flex softcap {cap}", softcap=cap, **small), capped(cap))
    flex_case(w, Case("flex softcap 2, scale -2", softcap=2, scale=-2.0, **small), capped(2))
    flex_case(w, Case("flex softcap 20, causal", softcap=20, causal=UPPER, **square), capped(20), causal)
    flex_case(w, Case("flex ALiBi", alibi_slopes=slopes, **small), lambda s, b, h, i, j: s - alibi[h] * abs(i - j))
    flex_case(w, Case("flex ALiBi, causal", alibi_slopes=slopes, causal=UPPER, **square),
              lambda s, b, h, i, j: s + alibi[h] * (j - i), causal)
    shifted = dict(alibi_slopes=slopes, causal=OFFSET, causal_offset=[55, 55])
    flex_case(w, Case("flex ALiBi, offset 55, softcap 3", softcap=3, **shifted, **small),
              lambda s, b, h, i, j: capped(3)(s, b, h, i, j) - alibi[h] * abs(i + 55 - j),
              lambda b, h, i, j: j <= i + 55)
    for left, right in ((7, 7), (0, 3), (20, 0), (1000, 2), (64, 0)):
        flex_case(w, Case(f"flex window {left} {right}", window=(left, right), **small), mask_mod=window(left, right))
    flex_case(w, Case("flex window 16, causal", window=(16, -1), causal=UPPER, **square),
              mask_mod=lambda b, h, i, j: (i >= j) & (i - j <= 16))
    flex_case(w, Case("flex window 16, lower right", window=(16, -1), causal=LOWER, **small),
              mask_mod=lambda b, h, i, j: (i + 55 >= j) & (i + 55 - j <= 16))
    offsets = torch.tensor([-30, 12])
    flex_case(w, Case("flex offsets -30 12", causal=OFFSET, causal_offset=offsets.tolist(), **square),
              mask_mod=lambda b, h, i, j: j <= i + offsets[b])
    lens = torch.tensor([31, 100])
    flex_case(w, Case("flex lengths 31 100", kv_lens=lens.tolist(), **small), mask_mod=lambda b, h, i, j: j < lens[b])
    flex_case(w, Case("flex lengths 31 100, lower right", kv_lens=lens.tolist(), causal=LOWER, **small),
              mask_mod=lambda b, h, i, j: (j < lens[b]) & (j <= i + lens[b] - 75))
    rows = torch.tensor([9, 75])
    flex_case(w, Case("flex lengths of both, lower right", q_lens=[9, 75], kv_lens=[31, 100], causal=LOWER, **small),
              mask_mod=lambda b, h, i, j: (j < lens[b]) & (i < rows[b]) & (j <= i + lens[b] - rows[b]))
    flex_case(w, Case("flex documents", mask=("DOCUMENTS", 40, 1, 1, 113, 113), **square),
              mask_mod=lambda b, h, i, j: i // 40 == j // 40)
    flex_case(w, Case("flex prefix, softcap 5", mask=("PREFIX", 30, 1, 1, 113, 113), softcap=5, **square), capped(5),
              lambda b, h, i, j: (i >= j) | (j < 30))
    flex_case(w, Case("flex relative", mod="relative", **small), mod_relative)
    flex_case(w, Case("flex relative, causal", mod="relative", causal=UPPER, **small), mod_relative, causal)
    flex_case(w, Case("flex heads, window", mod="heads", window=(5, 9), **small), mod_heads, window(5, 9))
    flex_case(w, Case("flex heads, softcap 2, ALiBi", mod="heads", softcap=2, alibi_slopes=slopes, **small),
              lambda s, b, h, i, j: mod_heads(capped(2)(s, b, h, i, j) - alibi[h] * abs(i - j), b, h, i, j))
    flex_case(w, Case("flex bias, softcap 2", bias=("ALL", 0, 1, 1, 1, 130), softcap=2, **small),
              lambda s, b, h, i, j: capped(2)(s, b, h, i, j) + bias_of_keys[j])
    flex_case(w, Case("flex 4 heads on 2, causal, softcap 9", H=4, Hkv=2, Lq=32, Lk=65, D=16, causal=UPPER, softcap=9),
              capped(9), causal)
    grouped = dict(B=2, H=4, Hkv=2, Lq=32, Lk=65, D=16)
    four = torch.tensor([0.5, 0.25, 0.125, 0.0625], dtype=torch.float64)
    flex_case(w, Case("flex 4 heads on 2, heads", mod="heads", **grouped), mod_heads)
    flex_case(w, Case("flex 4 heads on 2, ALiBi", alibi_slopes=four.tolist(), **grouped),
              lambda s, b, h, i, j: s - four[h] * abs(i - j))
    eighth = torch.tensor([1, 0.125], dtype=torch.float64)
    long = dict(H=2, Lq=17, Lk=1030, D=8, causal=LOWER)
    flex_case(w, Case("flex 17 x 1030, sinks, ALiBi", sinks=(1, -2), alibi_slopes=(0.0625, 0.0078125), **long),
              lambda s, b, h, i, j: s - alibi[1] * eighth[h] * abs(i + 1013 - j), lambda b, h, i, j: j <= i + 1013)
    flex_case(w, Case("flex 17 x 1030, window 700, softcap 4", window=(700, -1), softcap=4, **long), capped(4),
              lambda b, h, i, j: (j <= i + 1013) & (j >= i + 1013 - 700))
    flex_case(w, Case("flex sinks", sinks=(0.5, -1.25), **small))
    flex_case(w, Case("flex sinks, empty rows", sinks=(0.5, -1.25), causal=OFFSET, causal_offset=[-30, -30], **square),
              mask_mod=lambda b, h, i, j: j <= i - 30)
    flex_case(w, Case("flex sinks, window 4, causal", sinks=(3, 40), window=(4, -1), causal=UPPER, **square),
              mask_mod=lambda b, h, i, j: (i >= j) & (i - j <= 4))


bias_of_keys = tensor(Case("flex bias, softcap 2", bias=("ALL", 0, 1, 1, 1, 130)).bias[0, 0, 0], torch.float64)


# ---- ONNX Runtime ----

def run_onnx(op, domain, version, inputs, outputs, **attributes):
    """One node on the CPU. inputs: name -> array or None, in their order; outputs: names, "" = not wanted."""
    given = {name: x for name, x in inputs.items() if x is not None}
    names = [name if name in given else "" for name in inputs]
    node = helper.make_node(op, names, outputs, domain=domain, **attributes)
    graph = helper.make_graph(
        [node], "attention",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in given.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs if n])
    opsets = [helper.make_opsetid("", version)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run([n for n in outputs if n], {n: np.ascontiguousarray(x) for n, x in given.items()})


def f32(x):
    return None if x is None else x.astype(np.float32)


def flat(x):
    """B x H x L x D as B x L x (H D)"""
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def heads(x, H):
    """back"""
    return x.reshape(x.shape[0], x.shape[1], H, -1).transpose(0, 2, 1, 3)


def attributes_of(case, **more):
    a = {name: float(case.opts[name]) for name in ("scale", "softcap") if name in case.opts}
    return {**a, **more}


def attention(w, case, opset=24, past=0, three=False, stage=None, lens=None, mask=None, **attributes):
    q, k, v = (f32(x) for x in (case.q, case.k, case.v))
    past_k, past_v, k, v = k[:, :, :past], v[:, :, :past], k[:, :, past:], v[:, :, past:]
    if mask is None:
        mask = case.mask if case.mask is not None else f32(case.bias)
    if three:
        q, k, v = flat(q), flat(k), flat(v)
        attributes.update(q_num_heads=case.H, kv_num_heads=case.Hkv)
    inputs = {"Q": q, "K": k, "V": v, "attn_mask": mask, "past_key": past_k if past else None,
              "past_value": past_v if past else None}
    if lens is not None:
        inputs["nonpad_kv_seqlen"] = np.array(lens, np.int64)
    outputs = ["Y", "present_key" if past else "", "present_value" if past else "", "qk_matmul_output"]
    if stage is None:
        outputs = outputs[:3] if past else outputs[:1]
    else:
        attributes["qk_matmul_output_mode"] = ("DOT", "SOFTCAP", "FINAL", "weights").index(stage)
    got = run_onnx("Attention", "", opset, inputs, outputs, **attributes_of(case, **attributes))
    peer = {"out": heads(got[0], case.H) if three else got[0]}
    if stage:
        peer[stage] = got[-1]
    w.add(case, **peer)


def onnx_cases(w):
    small = dict(B=2, H=2, Lq=33, Lk=70, D=16)
    square = dict(B=2, H=2, Lq=65, Lk=65, D=8)
    attention(w, Case("Attention", **small))
    attention(w, Case("Attention 23", **small), 23)
    attention(w, Case("Attention 25", **small), 25)
    attention(w, Case("Attention 267 x 1030", H=3, Lq=267, Lk=1030, D=16))
    attention(w, Case("Attention 3D", **small), three=True)
    attention(w, Case("Attention 3D, Dv 24", Dv=24, **small), three=True)
    attention(w, Case("Attention Dv 3", Dv=3, **small))
    attention(w, Case("Attention 4 heads on 2", B=2, H=4, Hkv=2, Lq=33, Lk=70, D=8))
    attention(w, Case("Attention 3D, 6 heads on 2, causal", B=2, H=6, Hkv=2, Lq=33, Lk=33, D=8, causal=UPPER),
              three=True, is_causal=1)
    attention(w, Case("Attention 3D, 3 heads on 1", B=2, H=3, Hkv=1, Lq=17, Lk=31, D=8), three=True)
    attention(w, Case("Attention scale 0.05", scale=0.05, **small))
    attention(w, Case("Attention scale 2", scale=2.0, **small))
    attention(w, Case("Attention scale 1e4", scale=1e4, **small))
    attention(w, Case("Attention causal", causal=UPPER, **square), is_causal=1)
    attention(w, Case("Attention causal, 33 x 70", causal=UPPER, **small), is_causal=1)
    for opset in (23, 24):
        name = f"Attention {opset}, "
        for past in (37, 20):
            offset = dict(causal=OFFSET, causal_offset=[past, past])
            attention(w, Case(f"{name}past {past}, causal", **offset, **small), opset, past=past, is_causal=1)
        attention(w, Case(f"{name}softcap 2, bias", softcap=2.0, bias=("ALL", 0, 1, 1, 33, 70), **small), opset)
    attention(w, Case("Attention past 12", **small), past=12)
    attention(w, Case("Attention past 69, one query, 3D", B=2, H=2, Lq=1, Lk=70, D=16, causal=LOWER), past=69,
              three=True, is_causal=1)
    for dims in ((1, 1, 33, 70), (2, 1, 33, 70), (1, 2, 33, 70), (2, 2, 33, 70)):
        shape = " x ".join(str(x) for x in dims)
        attention(w, Case(f"Attention mask {shape}", mask=("RANDOM", 180, *dims), **small))
        attention(w, Case(f"Attention bias {shape}", bias=("ALL", 0, *dims), **small))
    mask = Case("Attention mask of 2 dimensions", mask=("RANDOM", 180, 1, 1, 33, 70), **small)
    attention(w, mask, mask=mask.mask[0, 0])
    mask = Case("Attention mask of 3 dimensions", mask=("RANDOM", 180, 1, 2, 33, 70), **small)
    attention(w, mask, mask=mask.mask[0])
    attention(w, Case("Attention bias and -inf", bias=("RANDOM", 180, 2, 1, 33, 70), **small))
    attention(w, Case("Attention mask, empty rows", mask=("ROWS", 5, 1, 1, 33, 70), **small), stage="weights")
    attention(w, Case("Attention bias, empty rows", bias=("ROWS", 5, 1, 1, 33, 70), **small))
    causal = dict(causal=UPPER, **square)
    attention(w, Case("Attention mask and causal", mask=("RANDOM", 220, 1, 1, 65, 65), **causal), is_causal=1)
    attention(w, Case("Attention bias and causal", bias=("ALL", 0, 1, 2, 65, 65), **causal), is_causal=1)
    attention(w, Case("Attention softcap 1", softcap=1.0, **small))
    attention(w, Case("Attention softcap 20, causal", softcap=20.0, causal=UPPER, **square), is_causal=1)
    attention(w, Case("Attention softcap 1, mask", softcap=1.0, mask=("RANDOM", 128, 2, 1, 33, 70), **small))
    for stage in ("DOT", "SOFTCAP", "FINAL", "weights"):
        case = Case(f"Attention gives {stage}", softcap=2.0, scale=0.5, bias=("ALL", 0, 1, 2, 33, 70), **small)
        attention(w, case, stage=stage)
    attention(w, Case("Attention gives weights, causal", causal=UPPER, **square), stage="weights", is_causal=1)
    attention(w, Case("Attention gives FINAL, past 31", H=4, Hkv=2, Lq=9, Lk=40, D=8, bias=("ALL", 0, 1, 1, 9, 40)),
              stage="FINAL", past=31)
    lens = [31, 64]
    attention(w, Case("Attention lengths 31 64", kv_lens=lens, **small), lens=lens)
    attention(w, Case("Attention lengths 0 33", kv_lens=[0, 33], **small), lens=[0, 33], stage="weights")
    attention(w, Case("Attention lengths 31 64, softcap 3", kv_lens=lens, softcap=3.0, **small), lens=lens)
    lens = [40, 64]
    attention(w, Case("Attention lengths 40 64, causal", kv_lens=lens, causal=LOWER, **small), lens=lens, is_causal=1)
    one = Case("Attention lengths 40 64, causal, one query", B=2, H=2, Lq=1, Lk=70, D=16, kv_lens=lens, causal=LOWER)
    attention(w, one, lens=lens, is_causal=1)
    lens = [20, 33]
    empty = Case("Attention lengths 20 33, causal, empty rows", kv_lens=lens, causal=LOWER, **small)
    attention(w, empty, lens=lens, is_causal=1)


def mha(w, case, past=0, padding=None, **attributes):
    q, k, v = (f32(x) for x in (case.q, case.k, case.v))
    inputs = {"query": flat(q), "key": flat(k[:, :, past:]), "value": flat(v[:, :, past:]),
              "bias": None, "key_padding_mask": padding,
              "attention_bias": f32(case.bias),
              "past_key": k[:, :, :past] if past else None, "past_value": v[:, :, :past] if past else None}
    got = run_onnx("MultiHeadAttention", "com.microsoft", 21, inputs,
                   ["output", "present_key", "present_value"] if past else ["output"],
                   **attributes_of(case, num_heads=case.H, **attributes))
    w.add(case, out=heads(got[0], case.H))


def mha_cases(w):
    small = dict(B=2, H=3, Lq=33, Lk=70, D=16)
    square = dict(B=2, H=2, Lq=65, Lk=65, D=8)
    mha(w, Case("MHA", **small))
    mha(w, Case("MHA 267 x 1030", H=3, Lq=267, Lk=1030, D=8))
    mha(w, Case("MHA Dv 24", Dv=24, **small))
    mha(w, Case("MHA scale", scale=0.75, **small))
    mha(w, Case("MHA scale -0.5", scale=-0.5, **small))
    mha(w, Case("MHA bias and -inf", bias=("RANDOM", 180, 1, 1, 33, 70), **small))
    mha(w, Case("MHA unidirectional", causal=UPPER, **square), unidirectional=1)
    mha(w, Case("MHA past 37", **small), past=37)
    mha(w, Case("MHA past 37, unidirectional", causal=LOWER, **small), past=37, unidirectional=1)
    mha(w, Case("MHA lengths", kv_lens=[9, 64], **small), padding=np.array([9, 64], np.int32))
    for dims in ((2, 1, 1, 70), (2, 1, 33, 70)):
        case = Case(f"MHA padding {dims[2]}", mask=("RANDOM", 180, *dims), **small)
        mha(w, case, padding=case.mask.reshape((2, 70) if dims[2] == 1 else (2, 33, 70)).astype(np.int32))
    for dims in ((1, 1, 33, 70), (2, 1, 33, 70), (1, 3, 33, 70), (2, 3, 33, 70)):
        mha(w, Case(f"MHA bias {dims[0]} {dims[1]}", bias=("ALL", 0, *dims), **small))
    mha(w, Case("MHA bias, unidirectional", bias=("ALL", 0, 1, 2, 65, 65), causal=UPPER, **square),
        unidirectional=1)
    case = Case("MHA padding, unidirectional", mask=("RANDOM", 220, 2, 1, 1, 65), causal=UPPER, **square)
    mha(w, case, padding=case.mask.reshape(2, 65).astype(np.int32), unidirectional=1)


def gqa(w, case, past=0, lens=None, stage=None, **attributes):
    """lens: valid keys of each item, in a buffer of Lk of which `past` rows came before this call"""
    q, k, v = (f32(x) for x in (case.q, case.k, case.v))
    lens = lens or [case.Lk] * case.B
    new_k, new_v = [], []
    for b, n in enumerate(lens):  # the newest Lq rows are the ones handed in
        new_k.append(k[b, :, n - case.Lq:n])
        new_v.append(v[b, :, n - case.Lq:n])
    sinks = case.opts.get("sinks")
    inputs = {"query": flat(q), "key": flat(np.stack(new_k)), "value": flat(np.stack(new_v)),
              "past_key": k[:, :, :past] if past else None, "past_value": v[:, :, :past] if past else None,
              "seqlens_k": np.array(lens, np.int32) - 1, "total_sequence_length": np.array(max(lens), np.int32),
              "cos_cache": None, "sin_cache": None, "position_ids": None,
              "attention_bias": f32(case.bias),
              "head_sink": None if sinks is None or "smooth_softmax" in attributes else np.array(sinks, np.float32)}
    while list(inputs.values())[-1] is None:
        inputs.popitem()
    got = run_onnx("GroupQueryAttention", "com.microsoft", 21, inputs,
                   ["output", "present_key", "present_value"] + (["output_qk"] if stage else []),
                   **attributes_of(case, num_heads=case.H, kv_num_heads=case.Hkv, **attributes))
    peer = {"out": heads(got[0], case.H)}
    if stage:
        peer[stage] = got[3]
    w.add(case, **peer)


def gqa_cases(w):
    prompt = dict(B=2, H=4, Hkv=2, Lq=65, Lk=65, D=16, causal=LOWER)
    chunk = dict(B=1, H=4, Hkv=2, Lq=17, Lk=70, D=16, causal=LOWER)
    decode = dict(B=2, H=4, Hkv=1, Lq=1, Lk=130, D=8, causal=LOWER)
    sinks = (0.5, -1.25, 2, 4)
    gqa(w, Case("GQA", **prompt))
    gqa(w, Case("GQA scale, 3 on 1", B=1, H=3, Hkv=1, Lq=267, Lk=267, D=16, causal=LOWER, scale=0.125))
    gqa(w, Case("GQA chunk", **chunk), past=53)
    gqa(w, Case("GQA decode", **decode), past=129)
    gqa(w, Case("GQA decode, lengths", kv_lens=[50, 130], **decode), past=129, lens=[50, 130])
    for window in (1, 2, 9, 64, 200):
        gqa(w, Case(f"GQA window {window}", window=(window - 1, -1), **prompt), local_window_size=window)
    gqa(w, Case("GQA window 9, chunk", window=(8, -1), **chunk), past=53, local_window_size=9)
    gqa(w, Case("GQA window 9, decode", window=(8, -1), kv_lens=[50, 130], **decode), past=129, lens=[50, 130],
        local_window_size=9)
    gqa(w, Case("GQA softcap 2", softcap=2.0, **prompt))
    gqa(w, Case("GQA softcap 2, window 9, decode", softcap=2.0, window=(8, -1), kv_lens=[50, 130], **decode),
        past=129, lens=[50, 130], local_window_size=9)
    gqa(w, Case("GQA smooth_softmax", sinks=(0, 0, 0, 0), **prompt), smooth_softmax=1)
    gqa(w, Case("GQA head_sink", sinks=sinks, **prompt))
    gqa(w, Case("GQA head_sink, decode", sinks=sinks, kv_lens=[50, 130], **decode), past=129, lens=[50, 130])
    gqa(w, Case("GQA head_sink, window 9, softcap 3", sinks=sinks, window=(8, -1), softcap=3.0, **chunk), past=53,
        local_window_size=9)
    gqa(w, Case("GQA bias", bias=("ALL", 0, 1, 4, 65, 65), **prompt))
    gqa(w, Case("GQA bias, softcap 2", bias=("ALL", 0, 1, 1, 17, 70), softcap=2.0, **chunk), past=53)
    gqa(w, Case("GQA bias and -inf", bias=("RANDOM", 180, 1, 1, 17, 70), **chunk), past=53)
    gqa(w, Case("GQA bias, empty rows", bias=("ROWS", 3, 1, 1, 17, 70), **chunk), past=53)
    gqa(w, Case("GQA causal 0", B=2, H=4, Hkv=2, Lq=65, Lk=65, D=16), causal=0)
    gqa(w, Case("GQA gives weights", **prompt), stage="weights", qk_output=2)
    gqa(w, Case("GQA gives weights, head_sink", sinks=sinks, **chunk), past=53, stage="weights", qk_output=2)


# ---- all of it ----

def main():
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    versions = torch.__version__.split("+")[0], onnxruntime.__version__, onnx.__version__
    print("/* Written by make_sdpa.py with PyTorch %s, ONNX Runtime %s and onnx %s, for test_golden.c. */" % versions)
    print("/* clang-format off */")
    for name, double, *groups in (("pytorch", True, pytorch_cases), ("pytorch", False, pytorch_cases),
                                  ("flex_attention", True, flex_cases), ("attention", False, onnx_cases),
                                  ("microsoft", False, mha_cases, gqa_cases)):
        writer = Writer(name, double)
        for group in groups:
            group(writer)
        writer.write()
    print("\n/* clang-format on */")


if __name__ == "__main__":
    main()
