"""How fast attn_sdpa is beside PyTorch and ONNX Runtime, which run in turn with it in this one process.

    python3 tests/bench/peers.py build/libbench.so        what `make bench` runs

Needs numpy, and at least one of torch and onnxruntime (with onnx, which writes its models); goes on without the
others. ATTN_BENCH_QUICK in the environment: a few shapes; ATTN_BENCH_TSV: a file to which every figure is appended.

Everything is a ratio of times, the median of ROUNDS rounds in which each implementation has a turn. Every result is
checked against numpy in f64. The peers:
  - scaled_dot_product_attention of PyTorch, as installed; and once more ("memory kept") in a process whose malloc never
    returns freed memory to the system, because each call allocates its result;
  - ONNX Runtime's best operator for the shape: Attention of ONNX itself, MultiHeadAttention, and where every query
    sees what comes before it, or there is one, GroupQueryAttention. Inputs and outputs are bound, so that nothing is
    copied.

Threads that wait for work must not slow down whoever has the next turn. ONNX Runtime's stop spinning when a run ends
(session.force_spinning_stop). Those of PyTorch's OpenMP spin for some milliseconds, so each turn begins with a pause; a
turn of several runs then has one without a clock, which wakes the threads of the one whose turn it is. The library's
threads sleep.
One thread is measured by its own time, which other programs do not add to; two by the clock on the wall."""
import ctypes
import json
import os
import subprocess
import sys
import time

ROUNDS = 11
PAUSE = 0.005  # seconds before a turn
TURN = 0.005  # seconds that it takes, or one run

QUICK = bool(os.environ.get("ATTN_BENCH_QUICK"))
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
    ("one query", 16, 16, 1, 300, 64, False, 0, True),
    ("one query", 8, 8, 1, 1500, 128, False, 0, False),
    ("one query", 12, 12, 1, 700, 96, False, 0, False),
    ("one query", 24, 8, 1, 900, 128, False, 0, False),
    ("one query", 8, 8, 1, 64, 64, False, 0, False),
    ("one query", 8, 8, 1, 256, 64, False, 0, False),
    ("one query", 8, 8, 1, 1024, 64, False, 0, False),
    ("one query", 8, 8, 1, 2048, 64, False, 0, False),
    ("one query", 32, 8, 1, 512, 128, False, 0, False),
    ("one query", 32, 8, 1, 2048, 128, False, 0, False),
    ("one query", 8, 8, 1, 4096, 64, False, 0, True),
    ("one query", 32, 8, 1, 4096, 128, False, 1.5, True),
    ("one query", 32, 8, 1, 32768, 128, False, 1.5, False),
]


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


# ==== One attention ==================================================================================================


class Case:
    """Arguments, and what some queries must come to."""

    def __init__(self, shape):
        self.work, self.heads, self.kv_heads, self.queries, self.keys, self.size, self.causal, self.bar, _ = shape
        numbers = np.random.default_rng(1)
        self.q = self.random(numbers, self.heads, self.queries)
        self.k = self.random(numbers, self.kv_heads, self.keys)
        self.v = self.random(numbers, self.kv_heads, self.keys)
        self.rows = sorted({0, self.queries // 3, self.queries // 2, self.queries - 1})
        group = self.heads // self.kv_heads
        self.right = np.stack([self.reference(h, h // group) for h in range(self.heads)])

    def random(self, numbers, heads, length):
        return numbers.uniform(-1, 1, (1, heads, length, self.size)).astype(np.float32)

    def reference(self, head, kv_head):
        parts = self.q[0, head, self.rows], self.k[0, kv_head], self.v[0, kv_head]
        q, k, v = (x.astype(np.float64) for x in parts)
        weights = np.exp(q @ k.T / np.sqrt(self.size))
        if self.causal:
            weights *= np.arange(self.keys)[None, :] <= np.array(self.rows)[:, None]
        return weights @ v / weights.sum(axis=1, keepdims=True)

    def check(self, out, who):
        """out: heads x queries x size."""
        error = np.abs(out[:, self.rows] - self.right).max()
        if not error <= 1e-5:
            sys.exit(f"peers: {who}: wrong attention, off by {error:.1e}")

    def shape(self):
        heads = self.heads if self.heads == self.kv_heads else f"{self.heads}/{self.kv_heads}"
        return f"{heads} x {self.keys} x {self.size}"


# ==== Contestants: each is a function that runs once =================================================================


def library(case, threads):
    call = ctypes.CDLL(os.path.abspath(sys.argv[1])).bench_sdpa
    out = np.empty_like(case.q)
    shape = (ctypes.c_size_t * 5)(case.heads, case.kv_heads, case.queries, case.keys, case.size)
    arguments = [x.ctypes.data_as(ctypes.c_void_p) for x in (out, case.q, case.k, case.v)]
    arguments += [shape, ctypes.c_int(case.causal), ctypes.c_int(threads)]

    def run():
        if call(*arguments):
            sys.exit("peers: attn_sdpa failed")

    run()
    case.check(out[0], "attn_sdpa")
    return run


def pytorch(case, threads):
    q, k, v = (torch.from_numpy(x) for x in (case.q, case.k, case.v))
    attend = torch.nn.functional.scaled_dot_product_attention
    more = {"enable_gqa": True} if case.heads != case.kv_heads else {}

    def run():
        torch.set_num_threads(threads)
        return attend(q, k, v, is_causal=case.causal, **more)

    with torch.inference_mode():
        case.check(run().numpy()[0], "PyTorch")
    return run


def joined(x):
    """1 x heads x length x size as 1 x length x (heads * size)."""
    return np.ascontiguousarray(x.transpose(0, 2, 1, 3)).reshape(1, x.shape[2], -1)


def operators(case):
    """Name, inputs, outputs, node of every operator of ONNX Runtime that can do it. An output named present_* is the
    input past_*, in place."""
    make = onnx.helper.make_node
    whole = {"q": case.q, "k": case.k, "v": case.v}
    rows = {name: joined(x) for name, x in whole.items()}
    causal = int(case.causal)
    yield "Attention", whole, ["out"], make("Attention", ["q", "k", "v"], ["out"], is_causal=causal)
    heads = {"q_num_heads": case.heads, "kv_num_heads": case.kv_heads}
    yield "Attention", rows, ["out"], make("Attention", ["q", "k", "v"], ["out"], is_causal=causal, **heads)
    if case.heads == case.kv_heads:
        extra = {"domain": "com.microsoft", "num_heads": case.heads, "unidirectional": causal}
        yield "MultiHeadAttention", rows, ["out"], make("MultiHeadAttention", ["q", "k", "v"], ["out"], **extra)
        mixed = {"q": rows["q"], "k": case.k, "v": case.v}
        yield "MultiHeadAttention", mixed, ["out"], make("MultiHeadAttention", ["q", "k", "v"], ["out"], **extra)
    if case.causal or case.queries == 1:  # a cache that holds all keys but those of the queries, which it appends
        inputs = {
            "q": rows["q"],
            "k": rows["k"][:, -case.queries:],
            "v": rows["v"][:, -case.queries:],
            "past_k": case.k,
            "past_v": case.v,
            "last": np.array([case.keys - 1], np.int32),
            "total": np.array([case.keys], np.int32),
        }
        extra = {"domain": "com.microsoft", "num_heads": case.heads, "kv_num_heads": case.kv_heads}
        outputs = ["out", "present_k", "present_v"]
        yield "GroupQueryAttention", inputs, outputs, make("GroupQueryAttention", list(inputs), outputs, **extra)


def session(case, threads, inputs, outputs, node):
    """A bound session of one operator, and its output."""
    kinds = {np.dtype(np.float32): onnx.TensorProto.FLOAT, np.dtype(np.int32): onnx.TensorProto.INT32}
    info = onnx.helper.make_tensor_value_info
    given = [info(name, kinds[x.dtype], x.shape if name != "total" else []) for name, x in inputs.items()]
    made = [info(name, onnx.TensorProto.FLOAT, None) for name in outputs]
    opsets = [onnx.helper.make_opsetid("", 23), onnx.helper.make_opsetid("com.microsoft", 1)]
    graph = onnx.helper.make_graph([node], "attention", given, made)
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.force_spinning_stop", "1")
    at_work = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    values = {name: ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(x)) for name, x in inputs.items()}
    values["total"] = ort.OrtValue.ortvalue_from_numpy(np.array(case.keys, np.int32))
    out = case.q if inputs["q"].ndim == 4 else inputs["q"]
    values["out"] = ort.OrtValue.ortvalue_from_shape_and_type(list(out.shape), np.float32)
    binding = at_work.io_binding()
    for name in inputs:
        binding.bind_ortvalue_input(name, values[name])
    for name in outputs:
        binding.bind_ortvalue_output(name, values[name.replace("present_", "past_")])

    def run():
        at_work.run_with_iobinding(binding)

    return run, values["out"]


def onnx_runtime(case, threads):
    """The fastest operator and its name."""
    best = None
    for name, inputs, outputs, node in operators(case):
        try:
            run, out = session(case, threads, inputs, outputs, node)
            run()
        except Exception as error:  # a version that lacks the operator, or this use of it
            print(f"ONNX Runtime {name}: {str(error).splitlines()[0][:100]}", file=sys.stderr)
            continue
        if inputs["q"].ndim == 4:
            result = out.numpy()[0]
        else:
            result = out.numpy().reshape(case.queries, case.heads, case.size).transpose(1, 0, 2)
        case.check(result, name)
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
    """The first one's speed relative to each of the others."""
    runs = [max(1, int(TURN / turn(run, 1, threads))) for run in contestants]
    rounds = [[turn(run, n, threads) for run, n in zip(contestants, runs)] for _ in range(ROUNDS)]
    return [sorted(r[i] / r[0] for r in rounds)[ROUNDS // 2] for i in range(1, len(contestants))]


def memory_kept():
    """Ratios to a PyTorch whose malloc keeps its memory: that is settled when a process starts."""
    if not torch or MEMORY_KEPT or QUICK:
        return {}
    keep = {"MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(64 << 20), "MALLOC_MMAP_MAX_": "0"}
    command = [sys.executable, os.path.abspath(__file__), sys.argv[1], "--memory-kept"]
    child = subprocess.run(command, env={**os.environ, **keep}, stdout=subprocess.PIPE, check=True)
    return {(work, shape, threads): x for work, shape, threads, x in json.loads(child.stdout)}


def main():
    if not np or not (torch or (ort and onnx)):
        print("No Python peers: numpy and torch or onnxruntime are needed.")
        return
    kept = memory_kept()
    names = ([f"PyTorch {torch.__version__.split('+')[0]}"] if torch else []) + (["memory kept"] if kept else [])
    names += [f"ONNX Runtime {ort.__version__}"] if onnx else []
    tsv = open(os.environ["ATTN_BENCH_TSV"], "a") if os.environ.get("ATTN_BENCH_TSV") and not MEMORY_KEPT else None
    figures, bars, met = [], 0, 0
    if not MEMORY_KEPT:
        print("\nattn_sdpa: speed relative to peers in one process")
        print(f"{'work':<12}{'heads x keys x size':<22}{'':<12}" + "".join(f"{name:>20}" for name in names))
    for shape in SHAPES:
        if QUICK and not shape[-1]:
            continue
        case = Case(shape)
        for threads in (1, 2):
            which = "1 thread" if threads == 1 else "2 threads"
            contestants, operator = [library(case, threads)], ""
            if torch:
                contestants.append(pytorch(case, threads))
            if onnx:
                best, operator = onnx_runtime(case, threads)
                contestants += [best] if best else []
            with torch.inference_mode() if torch else open(os.devnull):
                ratios = race(contestants, threads)
            if MEMORY_KEPT:
                figures.append((case.work, case.shape(), threads, ratios[0]))
                continue
            if kept:
                ratios.insert(1, kept[case.work, case.shape(), threads])
            line = f"{case.work:<12}{case.shape():<22}{which:<12}" + "".join(f"{x:18.2f} x" for x in ratios)
            slowest = min(ratios)
            if case.bar:
                bars, met = bars + 1, met + (slowest >= case.bar)
                line += f"  (>= {case.bar:.2f}: {'met' if slowest >= case.bar else 'MISSED'})"
            print(f"{line}  {operator}", flush=True)
            for name, x in zip(names, ratios) if tsv else ():
                bar = f">={case.bar}" if case.bar else ""
                print(case.work, case.shape(), which, name, "x", f"{x:.4g}", bar, sep="\t", file=tsv, flush=True)
    print(json.dumps(figures) if MEMORY_KEPT else f"\n{met} of {bars} bars met")


main()
