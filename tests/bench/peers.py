"""How fast attn_sdpa, and attn_matmul for x w^T of a few rows, are beside PyTorch and ONNX Runtime, which run in turn
with them in this one process.

    python3 tests/bench/peers.py build/libbench.so        what `make bench` runs

Needs numpy, and at least one of torch and onnxruntime (with onnx, which writes its models); goes on without the
others. ATTN_BENCH_QUICK in the environment: a few shapes; ATTN_BENCH_ONLY: those rows in whose name a word begins so,
such as bf16; ATTN_BENCH_ISA: the instruction set of attn.h, as attn_isa_string names it, in place of the best one;
ATTN_BENCH_TSV: a file to which every figure is appended.

Everything is a ratio of times, the median of ROUNDS rounds in which each implementation has a turn, or of one round,
as it says then, where a call takes longer than TOO_LONG. Every result is
checked against numpy in f64. All arguments and the result have one type. Rows of 16 bits also say how far the result of
attn.h is from f64, relative to how far that of PyTorch is: both are roots of mean squares. The peers:
  - PyTorch, as installed: linear, matmul, or scaled_dot_product_attention, with a mask where a few queries are the
    newest of a longer causal call, which is_causal does not mean;
  - "PyTorch, folded", where a few queries are in groups of heads: the same with a group's heads as further queries of
    their key/value head, which its callers can do and its enable_gqa does not;
  - for forward and backward, TRAINING: PyTorch's scaled_dot_product_attention, confined to its fused kernel for CPUs
    (SDPBackend.FLASH_ATTENTION), and the gradients of q, k and v by autograd; attn.h is attn_sdpa with lse, then
    attn_sdpa_backward;
  - "PyTorch, texts", of packed texts, TEXTS: the fastest of nested tensors, for which its CPU kernels know no causal
    rule, and of scaled_dot_product_attention for buckets of texts of similar length, padded to the longest one with a
    mask, or with is_causal, which hides the padding as well. Padding and nesting are done before the clock runs, and
    nothing is undone;
  - "memory kept", of the first SHAPES and of TRAINING: PyTorch in a process whose malloc never returns freed memory to
    the system, because each call allocates its results;
  - ONNX Runtime's best operator for the shape: MatMul, for x w^T with a constant w; or Attention of ONNX itself,
    MultiHeadAttention, and where every query sees what comes before it, or there is one, GroupQueryAttention. Inputs
    and outputs are bound, so that nothing is copied. Of 16 bits, those operators that take the type; some of them have
    no kernel for it, and ONNX Runtime casts to f32 before and back after. The run says which do what.
A bar is how much faster than each peer attn.h must be; than PyTorch folded, no more than as fast. Bars of TRAINING are
those of the CPU; of many there are none.

Threads that wait for work must not slow down whoever has the next turn. ONNX Runtime's stop spinning when a run ends
(session.force_spinning_stop). Those of PyTorch's OpenMP spin for some milliseconds, so each turn begins with a pause; a
turn of several runs then has one without a clock, which wakes the threads of the one whose turn it is. The library's
threads sleep.
One thread is measured by its own time, which other programs do not add to; two by the clock on the wall."""
import ctypes
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import nullcontext
from functools import lru_cache

ROUNDS = 11
TOO_LONG = 2  # seconds of one call: it has one round
PAUSE = 0.005  # seconds before a turn
TURN = 0.005  # seconds that it takes, or one run

QUICK = bool(os.environ.get("ATTN_BENCH_QUICK"))
ONLY = os.environ.get("ATTN_BENCH_ONLY", "").lower()
MEMORY_KEPT = "--memory-kept" in sys.argv  # PyTorch alone; figures go to stdout as JSON

# work, heads, kv_heads, queries, keys, size, causal, least ratio to the fastest peer, part of the quick run
SHAPES = [
    ("small", 12, 12, 128, 128, 64, False, 1.1, True),
    ("prefill", 8, 8, 512, 512, 64, False, 1.1, False),
    ("prefill", 8, 8, 1024, 1024, 64, False, 1.1, True),
    ("prefill", 8, 8, 2048, 2048, 64, False, 1.1, False),
    ("prefill", 8, 8, 4096, 4096, 64, False, 1.1, False),
    ("prefill", 8, 8, 1024, 1024, 128, False, 1.1, False),
    ("prefill", 8, 8, 2048, 2048, 128, False, 1.1, False),
    ("causal", 12, 12, 128, 128, 64, True, 1.3, False),
    ("causal", 8, 8, 512, 512, 64, True, 1.3, True),
    ("causal", 8, 8, 1024, 1024, 64, True, 1.3, False),
    ("causal", 8, 8, 2048, 2048, 64, True, 1.3, False),
    ("causal", 8, 8, 4096, 4096, 64, True, 1.3, False),
    ("causal", 8, 8, 1024, 1024, 128, True, 1.2, False),
    ("causal", 8, 8, 2048, 2048, 128, True, 1.2, False),
    ("one query", 16, 16, 1, 300, 64, False, 1.5, True),
    ("one query", 8, 8, 1, 1500, 128, False, 1.5, False),
    ("one query", 12, 12, 1, 700, 96, False, 1.5, False),
    ("one query", 24, 8, 1, 900, 128, False, 1.5, False),
    ("one query", 8, 8, 1, 64, 64, False, 1.5, False),
    ("one query", 8, 8, 1, 256, 64, False, 1.5, False),
    ("one query", 8, 8, 1, 1024, 64, False, 1.5, False),
    ("one query", 8, 8, 1, 2048, 64, False, 1.5, False),
    ("one query", 32, 8, 1, 512, 128, False, 1.5, False),
    ("one query", 32, 8, 1, 2048, 128, False, 1.5, False),
    ("one query", 8, 8, 1, 4096, 64, False, 1.5, True),
    ("one query", 32, 8, 1, 4096, 128, False, 1.5, True),
    ("one query", 32, 8, 1, 32768, 128, False, 1.5, False),
]

# The same; then the type, and whether the heads of a key or value lie side by side: [L,H,D]
MORE_SHAPES = [
    (f"{queries} queries", heads, heads // 8, queries, 8192, 128, True, 1.0, False)
    for heads in (64, 8) for queries in (2, 4, 8)
] + [
    ("one query, [L,H,D]", 16, 16, 1, 300, 64, False, 1.5, False, "f32", True),
    ("one query, [L,H,D]", 8, 8, 1, 1500, 128, False, 1.5, False, "f32", True),
    ("one query, [L,H,D]", 32, 8, 1, 4096, 128, False, 1.5, False, "f32", True),
]

# The same of 16 bits; a least ratio of 0 is none
HALF_SHAPES = [
    (f"{work}, {dtype}", *shape, quick, dtype) for dtype in ("bf16", "f16") for work, *shape, quick in (
        ("prefill", 8, 8, 1024, 1024, 64, False, 0, True),
        ("prefill", 8, 8, 2048, 2048, 128, False, 0, False),
        ("causal", 8, 8, 1024, 1024, 64, True, 0, False),
        ("causal", 8, 8, 2048, 2048, 128, True, 0, False),
        ("causal", 32, 8, 1024, 1024, 128, True, 0, False),
        ("one query", 8, 8, 1, 1024, 64, False, 1.5, True),
        ("one query", 32, 8, 1, 4096, 128, False, 1.5, False),
        ("one query", 32, 8, 1, 32768, 128, False, 1.5, False),
    )
]


def cpu_info():
    """What Linux says of the CPU."""
    try:
        with open("/proc/cpuinfo") as lines:
            return dict([part.strip() for part in line.split(":", 1)] for line in lines if ":" in line)
    except OSError:
        return {}


def about_cpu():
    """Its name, and which instructions it has that multiply numbers of 16 or 8 bits."""
    about = cpu_info()
    if "Features" in about:  # Arm
        has, wanted = about["Features"], ("bf16", "i8mm")
        name = f"CPU of implementer {about.get('CPU implementer')}, part {about.get('CPU part')}"
    else:
        has, wanted = about.get("flags", ""), ("avx512_bf16", "amx_bf16", "avx_vnni")
        name = f"{about.get('model name', platform.machine())}, family {about.get('cpu family')}, "
        name += f"model {about.get('model')}"
    return name + ": " + ", ".join(x if x in has.split() else f"no {x}" for x in wanted)


def cpu():
    """Whose bars hold."""
    about = cpu_info()
    zen5 = about.get("vendor_id") == "AuthenticAMD" and about.get("cpu family") == "26"
    return "Zen 5" if zen5 else "Intel" if about.get("vendor_id") == "GenuineIntel" else ""


# Forward and backward: heads, keys, size, causal, part of the quick run; least ratios, full and causal
TRAINING = [
    (8, 1024, 64, False, True),
    (8, 2048, 128, False, False),
    (8, 1024, 64, True, True),
    (8, 2048, 128, True, False),
]
TRAINING_BARS = {"Zen 5": (1.8, 2.0), "Intel": (1.1, 1.2)}

# x w^T: type, rows of x, their size and as many rows of w, least ratio, part of the quick run
PRODUCTS = [
    (dtype, rows, size, 1.0, (rows, size) == (1, 512))
    for dtype in ("f32", "bf16") for size in (512, 1024, 2048, 4096) for rows in (1, 4, 16)
]

# a b, square: type, size, part of the quick run
SQUARES = [(dtype, size, size == 512) for dtype in ("bf16", "f16") for size in (512, 2048)]

# Packed texts of 12 heads, each attended for itself: size, heads of a token side by side, causal, part of the quick run
TEXTS = [
    (32, False, False, False),
    (64, False, False, False),
    (32, True, False, False),
    (64, True, False, False),
    (32, False, True, False),
    (64, False, True, True),
]

FOLDED, OF_TEXTS = "PyTorch, folded", "PyTorch, texts"

OF_ERROR = "error of PyTorch"


def error_bar(case):
    """Our error may be no larger than that of PyTorch. Both are of a sample of so many numbers, and the ratio of two
    such roots of mean squares has a standard deviation of 1 / sqrt(numbers): two of those are chance."""
    return 1 + 2 / np.sqrt(case.right.size)


def load(name):
    try:
        return __import__(name)
    except ImportError:
        print(f"{name} not found, skipped.", file=sys.stderr)
        return None


np = load("numpy")
torch = load("torch")
ort = None if MEMORY_KEPT else load("onnxruntime")
onnx = load("onnx") if ort else None


# ==== Numbers of each type: bf16, which numpy lacks, as its bits ====================================================

ATTN_DTYPE = {"f32": 0, "f16": 2, "bf16": 3}
# At most, of the largest error relative to the largest element, and of the mean error relative to the mean element
ERROR = {"f32": 1e-5, "f16": 2e-3, "bf16": 1e-2}


def random(numbers, dtype, *shape):
    x = numbers.uniform(-1, 1, shape).astype(np.float32)
    if dtype == "bf16":
        return (x.view(np.uint32) >> 16).astype(np.uint16)
    return x.astype(np.float16) if dtype == "f16" else x


def double(x):
    return ((x.astype(np.uint32) << 16).view(np.float32) if x.dtype == np.uint16 else x).astype(np.float64)


def some(count, dtype="f32"):
    """Which ones of so many are checked: of 16 bits more of them, as errors are compared."""
    if dtype != "f32":
        return sorted({i * (count - 1) // 63 for i in range(64)})
    return sorted({0, count // 3, count // 2, count - 1})


def as_arrays(out):
    """Of a PyTorch result, or several."""
    if isinstance(out, tuple):
        return tuple(as_arrays(x) for x in out)
    return (out.view(torch.uint16) if out.dtype == torch.bfloat16 else out).numpy()


def tensor(x):
    return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16) if x.dtype == np.uint16 else torch.from_numpy(x)


def check(out, right, dtype, who):
    """Returns the error: roots of mean squares, that of what is wrong relative to that of what is right."""
    largest = np.abs(out - right).max() / np.abs(right).max()
    error = np.sqrt(np.square(out - right).mean() / np.square(right).mean())
    if not max(largest, error) <= ERROR[dtype]:
        sys.exit(f"peers: {who}: wrong result, off by {max(largest, error):.1e}")
    return error


# ==== What is computed: its arguments, what some of it must come to, and how each peer is asked for it ===============


class Attention:
    def __init__(self, work, heads, kv_heads, queries, keys, size, causal, bar, quick, dtype="f32", by_token=False):
        self.work, self.bar, self.quick, self.dtype, self.by_token = work, bar, quick, dtype, by_token
        self.heads, self.kv_heads, self.queries, self.keys, self.size = heads, kv_heads, queries, keys, size
        self.causal, self.newest = causal, causal and queries < keys
        self.errors = {}
        self.name = f"{heads if heads == kv_heads else f'{heads}/{kv_heads}'} x {keys} x {size}"

    def prepare(self):
        """Every array is 1 x heads x length x size; of keys and values [L,H,D] that is a view."""
        numbers = np.random.default_rng(1)
        kv_shape = (1, self.keys, self.kv_heads, self.size) if self.by_token else (
            1, self.kv_heads, self.keys, self.size)
        self.q = random(numbers, self.dtype, 1, self.heads, self.queries, self.size)
        self.k, self.v = (random(numbers, self.dtype, *kv_shape) for _ in "kv")
        if self.by_token:
            self.k, self.v = self.k.transpose(0, 2, 1, 3), self.v.transpose(0, 2, 1, 3)
        self.rows, self.checked = (some(count, self.dtype) for count in (self.queries, self.heads))
        group = self.heads // self.kv_heads
        self.right = np.stack([self.reference(h, h // group) for h in self.checked])

    def visible(self, rows):
        """Whether these queries, the last of which is the newest, see each key."""
        return np.arange(self.keys)[None, :] <= np.array(rows)[:, None] + self.keys - self.queries

    def reference(self, head, kv_head):
        q, k, v = (double(x) for x in (self.q[0, head, self.rows], self.k[0, kv_head], self.v[0, kv_head]))
        weights = np.exp(q @ k.T / np.sqrt(self.size))
        if self.causal:
            weights *= self.visible(self.rows)
        return weights @ v / weights.sum(axis=1, keepdims=True)

    def check(self, out, who):
        """out: 1 x heads x queries x size, or 1 x queries x (heads * size)."""
        if out.ndim == 3:
            out = out.reshape(1, self.queries, self.heads, self.size).transpose(0, 2, 1, 3)
        self.errors[who] = check(double(out[0, self.checked][:, self.rows]), self.right, self.dtype, who)

    def library(self, calls, threads):
        """The result, and a function that computes it."""
        out = np.empty_like(self.q)
        shape = (ctypes.c_size_t * 5)(self.heads, self.kv_heads, self.queries, self.keys, self.size)
        data = [x.ctypes.data_as(ctypes.c_void_p) for x in (out, self.q, self.k, self.v)]
        return out, lambda: calls.bench_sdpa(*data, shape, ATTN_DTYPE[self.dtype], self.by_token, self.causal, threads)

    def pytorch(self):
        """Names, and functions that compute it."""
        q, k, v = (tensor(x) for x in (self.q, self.k, self.v))
        group = self.heads // self.kv_heads
        attend = torch.nn.functional.scaled_dot_product_attention
        mask = torch.from_numpy(self.visible(range(self.queries))) if self.newest else None
        more = {"attn_mask": mask, "is_causal": self.causal and not self.newest}
        if group > 1:
            more["enable_gqa"] = True
        yield "PyTorch", lambda: attend(q, k, v, **more)
        if group > 1 and self.queries < self.keys and not MEMORY_KEPT:
            folded = q.reshape(1, self.kv_heads, group * self.queries, self.size)
            masks = mask.repeat(group, 1) if self.newest else None
            yield FOLDED, lambda: attend(folded, k, v, attn_mask=masks).reshape(q.shape)

    def operators(self):
        """Name, inputs, constants, shape of the result, outputs, node of every operator of ONNX Runtime that can do
        it. An output named present_* is the input past_*, in place."""
        make, heads, causal = onnx.helper.make_node, self.heads, int(self.causal and not self.newest)
        whole = {"q": self.q, "k": self.k, "v": self.v}
        rows = {name: joined(x) for name, x in whole.items()}
        mask = {"mask": self.visible(range(self.queries))} if self.newest else {}
        names, of_whole, of_rows = [*whole, *mask], self.q.shape, rows["q"].shape
        if not self.by_token:
            yield ("Attention", {**whole, **mask}, {}, of_whole, ["out"],
                   make("Attention", names, ["out"], is_causal=causal))
        extra = {"q_num_heads": heads, "kv_num_heads": self.kv_heads, "is_causal": causal}
        if self.dtype == "f32":  # in f16 it takes seconds
            yield "Attention", {**rows, **mask}, {}, of_rows, ["out"], make("Attention", names, ["out"], **extra)
        if heads == self.kv_heads and not self.newest:
            extra = {"domain": "com.microsoft", "num_heads": heads, "unidirectional": causal}
            node = make("MultiHeadAttention", ["q", "k", "v"], ["out"], **extra)
            yield "MultiHeadAttention", rows, {}, of_rows, ["out"], node
            if not self.by_token:
                mixed = {"q": rows["q"], "k": self.k, "v": self.v}
                yield "MultiHeadAttention", mixed, {}, of_rows, ["out"], node
        if (self.causal or self.queries == 1) and not self.by_token:
            inputs = {  # a cache that holds all keys but those of the queries, which it appends
                "q": rows["q"],
                "k": rows["k"][:, -self.queries:],
                "v": rows["v"][:, -self.queries:],
                "past_k": self.k,
                "past_v": self.v,
                "last": np.array([self.keys - 1], np.int32),
                "total": np.array(self.keys, np.int32),
            }
            extra = {"domain": "com.microsoft", "num_heads": heads, "kv_num_heads": self.kv_heads}
            outputs = ["out", "present_k", "present_v"]
            node = make("GroupQueryAttention", list(inputs), outputs, **extra)
            yield "GroupQueryAttention", inputs, {}, of_rows, outputs, node


class Training(Attention):
    """Forward and backward: the gradients of q, k and v."""

    def __init__(self, heads, keys, size, causal, quick):
        bar = TRAINING_BARS.get(cpu(), (0, 0))[causal]
        work = "forward + backward"
        super().__init__(f"{work}, causal" if causal else work, heads, heads, keys, keys, size, causal, bar, quick)

    def prepare(self):
        self.dout = random(np.random.default_rng(2), "f32", 1, self.heads, self.queries, self.size)
        super().prepare()

    def reference(self, head, kv_head):
        """dq, dk and dv, some rows of each."""
        q, k, v, dout = (double(x[0, head]) for x in (self.q, self.k, self.v, self.dout))
        weights = np.exp(q @ k.T / np.sqrt(self.size))
        if self.causal:
            weights *= self.visible(range(self.queries))
        weights /= weights.sum(axis=1, keepdims=True)
        dscores = dout @ v.T
        dscores -= (weights * dscores).sum(axis=1, keepdims=True)
        dscores *= weights / np.sqrt(self.size)
        return np.stack([x[self.rows] for x in (dscores @ k, dscores.T @ q, weights.T @ dout)])

    def check(self, out, who):
        for x, right, name in zip(out, self.right.swapaxes(0, 1), ("dq", "dk", "dv")):
            check(double(x[0, self.checked][:, self.rows]), right, "f32", f"{who}, {name}")

    def library(self, calls, threads):
        out, lse = np.empty_like(self.q), np.empty(self.q.shape[:-1], np.float32)
        grads = tuple(np.empty_like(x) for x in (self.q, self.k, self.v))
        shape = (ctypes.c_size_t * 5)(self.heads, self.kv_heads, self.queries, self.keys, self.size)

        arrays = out, lse, *grads, self.q, self.k, self.v, self.dout
        data = [x.ctypes.data_as(ctypes.c_void_p) for x in arrays]  # each keeps its array
        pointers = (ctypes.c_void_p * len(data))(*data)
        return grads, lambda kept=data: calls.bench_training(pointers, shape, self.causal, threads)

    def pytorch(self):
        q, k, v = (tensor(x).requires_grad_() for x in (self.q, self.k, self.v))
        dout, fused = tensor(self.dout), torch.nn.attention.SDPBackend.FLASH_ATTENTION

        def compute():
            with torch.nn.attention.sdpa_kernel(fused):
                out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
            return torch.autograd.grad(out, (q, k, v), dout)

        yield "PyTorch", compute

    def operators(self):
        return ()


class Texts:
    """Packed texts, of the lengths that bench_sparse.c has too. A text is heads x length x size."""

    def __init__(self, size, by_token, causal, quick):
        self.size, self.by_token, self.causal, self.quick = size, by_token, causal, quick
        self.heads, self.count, self.bar, self.dtype = 12, 64, 1.0, "f32"
        self.work = "packed" + ", [L,H,D]" * by_token + ", causal" * causal
        self.name = f"{self.heads} x {self.count} texts x {size}"

    def prepare(self):
        state, starts = 1, [0]
        for _ in range(self.count):
            state = (state * 1664525 + 1013904223) % 2**32
            starts.append(starts[-1] + 20 + (state * 481 >> 32))
        self.starts = np.array(starts, np.uintp)
        self.by_length = np.argsort(np.diff(self.starts), kind="stable")
        numbers = np.random.default_rng(1)
        shape = (starts[-1], self.heads, self.size) if self.by_token else (self.heads, starts[-1], self.size)
        self.q, self.k, self.v = (random(numbers, self.dtype, *shape) for _ in "qkv")
        self.checked = some(self.count)
        self.right = [self.reference(s) for s in self.checked]

    def text(self, x, s):
        return (x.transpose(1, 0, 2) if self.by_token else x)[:, self.starts[s]:self.starts[s + 1]]

    def reference(self, s):
        q, k, v = (double(self.text(x, s)) for x in (self.q, self.k, self.v))
        weights = np.exp(q @ k.swapaxes(1, 2) / np.sqrt(self.size))
        if self.causal:
            weights = np.tril(weights)
        return weights @ v / weights.sum(axis=2, keepdims=True)

    def check(self, out, who):
        """out: packed as q; or a tuple of what holds the texts by their length, in buckets or one by one."""
        if isinstance(out, tuple):
            texts = [x for part in out for x in (part if part.ndim == 4 else [part])]
            texts = dict(zip(self.by_length, texts))
        else:
            texts = {s: self.text(out, s) for s in self.checked}
        for s, right in zip(self.checked, self.right):
            check(double(texts[s][:, :right.shape[1]]), right, self.dtype, who)

    def library(self, calls, threads):
        out = np.empty_like(self.q)
        shape = (ctypes.c_size_t * 4)(self.heads, self.starts[-1], self.size, self.count)
        data = [x.ctypes.data_as(ctypes.c_void_p) for x in (out, self.q, self.k, self.v)]
        starts = self.starts.ctypes.data_as(ctypes.c_void_p)
        return out, lambda: calls.bench_texts(*data, shape, starts, self.by_token, self.causal, threads)

    def pytorch(self):
        buckets = 1
        while buckets <= self.count:
            yield f"{buckets} buckets", self.padded(buckets)
            buckets *= 2
        if not self.causal:
            yield "nested", self.nested()

    def padded(self, buckets):
        calls = []
        for texts in np.array_split(self.by_length, buckets):
            lengths = np.diff(self.starts)[texts]
            longest, q_k_v = int(lengths.max()), []
            for x in (self.q, self.k, self.v):
                shape = (len(texts), longest, self.heads, self.size)
                padded = np.zeros(shape, x.dtype).swapaxes(1, 2) if self.by_token else np.zeros(
                    (shape[0], shape[2], shape[1], shape[3]), x.dtype)
                for to, s, length in zip(padded, texts, lengths):
                    to[:, :length] = self.text(x, s)
                q_k_v.append(tensor(padded))
            mask = None
            if not self.causal and lengths.min() < longest:
                mask = tensor(np.arange(longest) < lengths[:, None])[:, None, None, :]
            calls.append((q_k_v, mask))
        attend = torch.nn.functional.scaled_dot_product_attention
        return lambda: tuple(attend(*q_k_v, attn_mask=mask, is_causal=self.causal) for q_k_v, mask in calls)

    def nested(self):
        """Of tokens whose heads lie side by side the jagged layout, of others the strided one."""
        warnings.filterwarnings("ignore", "The PyTorch API of nested tensors")  # is a prototype, it says
        q_k_v = []
        for x in (self.q, self.k, self.v):
            texts = [tensor(np.ascontiguousarray(self.text(x, s))) for s in self.by_length]
            if self.by_token:
                rows = [text.transpose(0, 1) for text in texts]
                ends = torch.tensor([0] + [len(row) for row in rows]).cumsum(0)
                q_k_v.append(torch.nested.nested_tensor_from_jagged(torch.cat(rows), ends).transpose(1, 2))
            else:
                q_k_v.append(torch.nested.as_nested_tensor(texts))
        attend = torch.nn.functional.scaled_dot_product_attention
        return lambda: tuple(attend(*q_k_v).unbind())

    def operators(self):
        return ()


def joined(x):
    """1 x heads x length x size as 1 x length x (heads * size)."""
    return np.ascontiguousarray(x.transpose(0, 2, 1, 3)).reshape(1, x.shape[2], -1)


class Product:
    """x w^T of x, rows x size, and w, size x size; or x w."""

    def __init__(self, dtype, rows, size, bar, quick, transposed=True):
        self.dtype, self.rows, self.size, self.bar, self.quick = dtype, rows, size, bar, quick
        self.transposed, self.errors = transposed, {}
        self.work = f"{dtype} x w^T" if transposed else f"{dtype} a b"
        self.name = f"{rows} x {size} x {size}"

    def prepare(self):
        numbers = np.random.default_rng(1)
        self.x, self.w = (random(numbers, self.dtype, rows, self.size) for rows in (self.rows, self.size))
        self.right = double(self.x) @ (double(self.w).T if self.transposed else double(self.w))

    def check(self, out, who):
        self.errors[who] = check(double(out), self.right, self.dtype, who)

    def library(self, calls, threads):
        out = np.empty_like(self.x)
        shape = (ctypes.c_size_t * 3)(self.rows, self.size, self.size)
        data = [x.ctypes.data_as(ctypes.c_void_p) for x in (out, self.x, self.w)]
        return out, lambda: calls.bench_product(*data, shape, ATTN_DTYPE[self.dtype], self.transposed, threads)

    def pytorch(self):
        x, w = tensor(self.x), tensor(self.w)
        yield "PyTorch", lambda: torch.nn.functional.linear(x, w) if self.transposed else torch.matmul(x, w)

    def operators(self):
        node = onnx.helper.make_node("MatMul", ["x", "w"], ["out"])
        if self.transposed:
            yield "MatMul", {"x": self.x}, {"w": np.ascontiguousarray(self.w.T)}, self.x.shape, ["out"], node
        else:
            yield "MatMul", {"x": self.x, "w": self.w}, {}, self.x.shape, ["out"], node


# ==== Contestants: each is a function that runs once =================================================================


def library(case, threads):
    out, call = case.library(ctypes.CDLL(os.path.abspath(sys.argv[1])), threads)

    def run():
        if call():
            sys.exit("peers: attn.h failed")

    run()
    case.check(out, "attn.h")
    return run


def pytorch(case, threads):
    """Names, and functions that make contestants."""
    def maker(name, compute):
        def run():
            torch.set_num_threads(threads)
            return compute()

        def make():
            case.check(as_arrays(run()), name)
            return run

        return make

    return {name: maker(name, compute) for name, compute in case.pytorch()}


def session(threads, inputs, constants, shape, outputs, node, optimized=""):
    """A bound session of one operator, and a function that returns its output. optimized: a file for the model that
    ONNX Runtime makes of it."""
    kinds = {"float32": onnx.TensorProto.FLOAT, "float16": onnx.TensorProto.FLOAT16,
             "uint16": onnx.TensorProto.BFLOAT16, "int32": onnx.TensorProto.INT32, "bool": onnx.TensorProto.BOOL}
    info = onnx.helper.make_tensor_value_info
    dtype = next(iter(inputs.values())).dtype
    given = [info(name, kinds[x.dtype.name], x.shape) for name, x in inputs.items()]
    made = [info(name, kinds[dtype.name], None) for name in outputs]
    opsets = [onnx.helper.make_opsetid("", 23), onnx.helper.make_opsetid("com.microsoft", 1)]
    constants = [onnx.numpy_helper.from_array(x, name) for name, x in constants.items()]
    graph = onnx.helper.make_graph([node], "work", given, made, constants)
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.force_spinning_stop", "1")
    options.optimized_model_filepath = optimized
    at_work = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    values = {name: ort.OrtValue.ortvalue_from_numpy_with_onnx_type(x, kinds[x.dtype.name])
              for name, x in inputs.items()}
    values["out"] = ort.OrtValue.ortvalue_from_shape_and_type(list(shape), kinds[dtype.name])
    binding = at_work.io_binding()
    for name in inputs:
        binding.bind_ortvalue_input(name, values[name])
    for name in outputs:
        binding.bind_ortvalue_output(name, values[name.replace("present_", "past_")])

    def run():
        at_work.run_with_iobinding(binding)

    def output():  # which numpy() does not return of bf16
        if dtype != np.uint16:
            return values["out"].numpy()
        return np.ctypeslib.as_array((ctypes.c_uint16 * int(np.prod(shape))).from_address(
            values["out"].data_ptr())).reshape(shape)

    return run, output


@lru_cache(maxsize=None)
def operators_of(dtype):
    """ONNX Runtime's operators that take the type: whether they have a kernel for it, by name. The others work by casts
    to f32."""
    found = {}
    for case in (Attention("", 2, 2, 1, 8, 16, False, 0, False, dtype), Product(dtype, 16, 16, 0, False, False)):
        case.prepare()
        for name, *operator in case.operators():
            with tempfile.TemporaryDirectory() as directory:
                path = os.path.join(directory, "optimized.onnx")
                try:
                    run, output = session(1, *operator, path)
                    run()
                    case.check(output(), name)
                except Exception:  # is not implemented
                    continue
                found[name] = all(node.op_type != "Cast" for node in onnx.load(path).graph.node)
    return found


def about_operators(dtype):
    kernels, casts = ([name for name, has in operators_of(dtype).items() if has == kernel] for kernel in (True, False))
    parts = [f"kernels of {', '.join(kernels)}"] * bool(kernels) + [f"by casts to f32 {', '.join(casts)}"] * bool(casts)
    return f"ONNX Runtime, {dtype}: " + ("; ".join(parts) or "none of these operators takes it, left out")


def onnx_runtime(case, threads):
    """Names, and functions that make contestants."""
    def maker(name, operator):
        def make():
            run, output = session(threads, *operator)
            run()
            case.check(output(), name)
            return run

        return make

    return [(name, maker(name, operator)) for name, *operator in case.operators()
            if case.dtype == "f32" or name in operators_of(case.dtype)]


def fastest(who, makers, threads):
    """Of what there are functions to make, the fastest and its name."""
    best = None
    for name, make in makers:
        try:
            run = make()
        except Exception as error:  # a version that lacks it, or this use of it
            print(f"{who} {name}: {str(error).splitlines()[0][:100]}", file=sys.stderr)
            continue
        seconds = turn(run, 1, threads)
        if best is None or seconds < 2 * best[0]:
            seconds = min([seconds] + [turn(run, 1, threads) for _ in range(2)])
            best = min(best or (seconds, run, name), (seconds, run, name), key=lambda x: x[0])
    return best[1:] if best else (None, "")


# ==== Turns ==========================================================================================================


def turn(run, runs, threads):
    """Seconds of one run. A single one is long: it needs no other before it."""
    now = time.thread_time if threads == 1 else time.perf_counter
    time.sleep(PAUSE)
    if runs > 1:
        run()
    start = now()
    for _ in range(runs):
        run()
    return (now() - start) / runs


def race(contestants, threads):
    """The first one's speed relative to each of the others, by name."""
    seconds = {name: turn(run, 1, threads) for name, run in contestants.items()}
    runs = {name: (run, max(1, int(TURN / seconds[name]))) for name, run in contestants.items()}
    count = ROUNDS if max(seconds.values()) < TOO_LONG else 1
    rounds = [{name: turn(run, n, threads) for name, (run, n) in runs.items()} for _ in range(count)]
    first, *others = contestants
    return {name: sorted(r[name] / r[first] for r in rounds)[count // 2] for name in others}, count


def memory_kept():
    """Ratios to a PyTorch whose malloc keeps its memory: that is settled when a process starts."""
    if not torch or MEMORY_KEPT or QUICK:
        return {}
    keep = {"MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(64 << 20), "MALLOC_MMAP_MAX_": "0"}
    command = [sys.executable, os.path.abspath(__file__), sys.argv[1], "--memory-kept"]
    child = subprocess.run(command, env={**os.environ, **keep}, stdout=subprocess.PIPE, check=True)
    return {(work, shape, threads): x for work, shape, threads, x in json.loads(child.stdout)}


def compare(case, threads):
    """Speed relative to each peer that can do it, by name; of the peer with several ways, which was the fastest."""
    operator = ""
    with torch.inference_mode() if torch and not isinstance(case, Training) else nullcontext():
        contestants = {"attn.h": library(case, threads)}
        if torch and isinstance(case, Texts):
            best, operator = fastest("PyTorch", pytorch(case, threads).items(), threads)
            contestants.update({OF_TEXTS: best} if best else {})
        elif torch:
            contestants.update((name, make()) for name, make in pytorch(case, threads).items())
        if onnx and not isinstance(case, Texts):
            best, operator = fastest("ONNX Runtime", onnx_runtime(case, threads), threads)
            contestants.update({"ONNX Runtime": best} if best else {})
        ratios, rounds = race(contestants, threads)
        return ratios, operator if rounds > 1 else f"{operator} one round".strip()


def is_wanted(case):
    return re.search(r"(?<![a-z0-9])" + re.escape(ONLY), case.work.lower()) and (case.quick or not QUICK)


def main():
    if not np or not (torch or (ort and onnx)):
        print("No Python peers: numpy and torch or onnxruntime are needed.")
        return
    isa = os.environ.get("ATTN_BENCH_ISA")
    if ctypes.CDLL(os.path.abspath(sys.argv[1])).bench_isa() < 0:
        sys.exit(f"ATTN_BENCH_ISA: no instruction set is called {isa!r}")
    cases = [Attention(*shape) for shape in SHAPES] + [Training(*shape) for shape in TRAINING]
    if MEMORY_KEPT:
        figures = []
        for case in filter(is_wanted, cases):
            case.prepare()
            figures += [(case.work, case.name, threads, compare(case, threads)[0]["PyTorch"]) for threads in (1, 2)]
        print(json.dumps(figures))
        return
    cases += [Attention(*shape) for shape in MORE_SHAPES + HALF_SHAPES] + [Product(*product) for product in PRODUCTS]
    cases += [Product(dtype, size, size, 0, quick, False) for dtype, size, quick in SQUARES]
    cases += [Texts(*texts) for texts in TEXTS]
    cases = sorted(filter(is_wanted, cases), key=lambda case: case.dtype != "f32")
    kept = memory_kept()
    names = {"PyTorch": f"PyTorch {torch.__version__.split('+')[0]}"} if torch else {}
    names.update({FOLDED: FOLDED, OF_TEXTS: OF_TEXTS} if torch else {})
    names.update({"memory kept": "memory kept"} if kept else {})
    names.update({"ONNX Runtime": f"ONNX Runtime {ort.__version__}"} if onnx else {})
    tsv = open(os.environ["ATTN_BENCH_TSV"], "a") if os.environ.get("ATTN_BENCH_TSV") else None
    bars = met = 0
    halves = False
    print("\nattn_sdpa; attn_sdpa_backward; attn_matmul: speed relative to peers in one process"
          + (f"; attn.h with {isa}" if isa else ""))
    print(f"{'work':<28}{'heads x keys x size':<20}{'':<10}" + "".join(f"{name:>20}" for name in names.values()))
    for case in cases:
        if case.dtype != "f32" and not halves:
            print(f"\nOf 16 bits. {about_cpu()}")
            print("".join(about_operators(dtype) + "\n" for dtype in ("bf16", "f16")) if onnx else "")
            halves = True
        case.prepare()
        for threads in (1, 2):
            which = "1 thread" if threads == 1 else "2 threads"
            ratios, operator = compare(case, threads)
            if (case.work, case.name, threads) in kept:
                ratios["memory kept"] = kept[case.work, case.name, threads]
            if not ratios:  # ONNX Runtime alone does not train, and not all types are taken
                continue
            bar = {name: min(case.bar, 1) if name == FOLDED else case.bar for name in ratios}
            ahead = all(x >= bar[name] for name, x in ratios.items())
            bars, met = bars + (case.bar > 0), met + (ahead and case.bar > 0)
            cells = "".join(f"{ratios[name]:18.2f} x" if name in ratios else f"{'':20}" for name in names)
            verdict = f"(>= {case.bar:.2f}: {'met' if ahead else 'MISSED'})" if case.bar > 0 else ""
            figures = [(names[name], f"{ratios[name]:.4g}", f">={bar[name]}" if case.bar > 0 else "")
                       for name in names if name in ratios]
            if case.dtype != "f32" and torch:
                error, most = case.errors["attn.h"] / case.errors["PyTorch"], error_bar(case)
                bars, met = bars + 1, met + (error <= most)
                verdict += f"  error {case.errors['attn.h']:.1e}, {error:.3f} of PyTorch's "
                verdict += f"(<= {most:.3f}: {'met' if error <= most else 'MISSED'})"
                figures.append((OF_ERROR, f"{error:.4g}", f"<={most:.4g}"))
            print(f"{case.work:<28}{case.name:<20}{which:<10}{cells}  {verdict}  {operator}", flush=True)
            for against, value, limit in figures if tsv else ():
                print(case.work, case.name, which, against, "x", value, limit, sep="\t", file=tsv, flush=True)
    print(f"\n{met} of {bars} bars met")


main()
