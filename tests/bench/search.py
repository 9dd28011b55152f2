"""Speed of 12_search against transformers with PyTorch, and ONNX Runtime, on all-MiniLM-L6-v2.

    python3 tests/bench/search.py build/12_search [MODEL_DIR]    what `make bench-search` runs; minutes

Without MODEL_DIR a model of the same shape with random weights and the vocabulary of its words stands in for it: that
changes no time. Needs torch and transformers, and for ONNX Runtime onnx and onnxruntime. ATTN_BENCH_QUICK in the
environment: fewer rounds.

1,000 sentences of mixed length become vectors, on one thread and on two. Each program does it in its best way: ours
reads the lines, tokenises them and packs what comes; the others are given tokens, sorted by length and padded to the
longest of a batch, with the batch size that is fastest for them, without a mask where nothing is padded; PyTorch with
sdpa attention and in inference_mode; ONNX Runtime the exported graph, with all its optimisations, and with those of its
tool for BERT. A round runs each once; the numbers are medians, and ratios medians of the rounds' ratios. Seconds are
those of the clock on the wall, on one thread also of the processor, which others cannot take away.

The bars: 1.15 x PyTorch, ahead of ONNX Runtime; products at 88 % of the peak of fused multiply-adds, which is measured
in the same rounds; and all else less than 12 % of the time."""
import ctypes
import importlib.util
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
QUICK = "ATTN_BENCH_QUICK" in os.environ
ROUNDS, COUNT, SEED = (3 if QUICK else 7), 1000, 1
BATCHES = (1, 4, 8, 16, 32, 64)

WORDS = """the of and to in is you that it he was for on are as with his they at be this have from or one had by word
but not what all were we when your can said there use an each which she do how their if will up other about out many
then them these so some her would make like him into time has look two more write go see number no way could people my
than first water been call who oil its now find long down day did get come made may part over new sound take only little
work know place year live me back give most very after thing our just name good sentence man think say great where help
through much before line right too mean old any same tell boy follow came want show also around form three small set put
end does another well large must big even such because turn here why ask went men read need land different home us move
try kind hand picture again change off play spell air away animal house point page letter mother answer found study
still learn should america world attention transformer password subscription refrigerator photosynthesis""".split()


def sentences():
    """Lengths are spread as those of written sentences and paragraphs are: about 5 to 200 tokens, 39 on average."""
    rng = random.Random(SEED)
    out = []
    for _ in range(COUNT):
        n = max(3, min(170, int(rng.lognormvariate(3.25, 0.75))))
        text = [rng.choice(WORDS) for _ in range(n)]
        for i in range(8, n, 9):
            text[i] += ","
        out.append(" ".join(text).capitalize() + ".")
    return out


def stand_in(folder):
    """A model of the shape of all-MiniLM-L6-v2."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(SEED)
    config = BertConfig(vocab_size=30522, hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
                        intermediate_size=1536)
    BertModel(config).save_pretrained(folder)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ","] + WORDS
    with open(os.path.join(folder, "vocab.txt"), "w") as file:
        file.write("".join(word + "\n" for word in dict.fromkeys(words)))
    with open(os.path.join(folder, "sentence_bert_config.json"), "w") as file:
        json.dump({"max_seq_length": 256}, file)
    return folder


# ==== Contestants =====================================================================================================


class Ours:
    def __init__(self, program, folder, path, threads):
        self.command = [program, "--timing", "--threads", str(threads), "--embed", "/dev/null", folder, path]
        self.shares = []
        self.turn()

    def turn(self):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.run(self.command, capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        text = run.stderr
        wall = float(re.search(r"lines ([0-9.]+) s", text)[1])
        products, speed, attention = map(float, re.search(
            r"products ([0-9.]+) s ([0-9.]+) Gflop/s, attention ([0-9.]+) s", text).groups())
        self.tokens = int(re.search(r"embedded (\d+) tokens", text)[1])
        self.flops = products * speed
        self.shares.append((products / wall, attention / wall, speed))
        return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Worker:
    """A process that has loaded a model and is asked for turns."""

    def __init__(self, kind, folder, path, threads):
        command = [sys.executable, os.path.abspath(__file__), "--worker", kind, folder, path, str(threads)]
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment)
        self.how = json.loads(self.process.stdout.readline() or "null")
        if self.how is None:
            sys.exit(f"search: {kind} failed")

    def turn(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def export(model, folder):
    """The graphs to try: as torch exports it, and as ONNX Runtime's tool for BERT rewrites that."""
    import torch

    class States(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask):
            return self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    warnings.filterwarnings("ignore")  # of an export that is to go
    plain = os.path.join(folder, "plain.onnx")
    axes = {0: "batch", 1: "length"}
    example = torch.ones(2, 8, dtype=torch.int64)
    torch.onnx.export(States(), (example, example), plain, input_names=["input_ids", "attention_mask"],
                      output_names=["states"], dynamic_axes={"input_ids": axes, "attention_mask": axes, "states": axes},
                      opset_version=17, dynamo=False)
    graphs = {"exported": plain}
    try:
        from onnxruntime.transformers import optimizer

        fused = os.path.join(folder, "fused.onnx")
        optimizer.optimize_model(plain, "bert", num_heads=model.config.num_attention_heads,
                                 hidden_size=model.config.hidden_size, opt_level=0).save_model_to_file(fused)
        graphs["fused"] = fused
    except Exception as why:  # the tool comes and goes with versions
        print(f"ONNX Runtime's tool for BERT: {why}", file=sys.stderr)
    return graphs


def encoders(kind, folder, threads, work):
    """Functions of (ids, mask) by name, which give the states as NumPy or torch has them."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    torch.set_num_threads(threads)
    attention = "eager" if kind == "onnxruntime" else "sdpa"
    model = transformers.BertModel.from_pretrained(folder, dtype=torch.float32, attn_implementation=attention,
                                                   add_pooling_layer=False).eval()
    if kind == "transformers":
        def encode(ids, mask):
            mask = None if mask.all() else mask
            return model(input_ids=ids, attention_mask=mask).last_hidden_state
        return {"sdpa": encode}
    import onnxruntime

    def runner(path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return lambda ids, mask: torch.from_numpy(
            session.run(None, {"input_ids": ids.numpy(), "attention_mask": mask.numpy()})[0])
    return {name: runner(path) for name, path in export(model, work).items()}


def work(kind, folder, path, threads):
    """What a worker does: tries, tells what is best, and then one run for each line, answered by seconds."""
    import torch
    import transformers

    tokenizer = transformers.BertTokenizerFast(os.path.join(folder, "vocab.txt"))
    with open(path) as file:
        texts = sorted(([i, tokenizer(line.rstrip("\n"), truncation=True, max_length=256).input_ids]
                        for i, line in enumerate(file)), key=lambda x: len(x[1]))
    scratch = tempfile.TemporaryDirectory()
    ways = encoders(kind, folder, threads, scratch.name)

    def batches(size):
        out = []
        for first in range(0, len(texts), size):
            some = [ids for _, ids in texts[first : first + size]]
            ids = torch.zeros(len(some), len(some[-1]), dtype=torch.int64)
            mask = torch.zeros_like(ids)
            for i, row in enumerate(some):
                ids[i, : len(row)] = torch.tensor(row)
                mask[i, : len(row)] = 1
            out.append((ids, mask))
        return out

    def run(encode, some):
        with torch.inference_mode():
            vectors = []
            for ids, mask in some:
                weights = mask[:, :, None].float()
                mean = (encode(ids, mask) * weights).sum(1) / weights.sum(1)
                vectors.append(torch.nn.functional.normalize(mean, dim=1))
            return torch.cat(vectors)

    def timed(encode, some):
        wall, cpu = time.perf_counter(), time.process_time()
        run(encode, some)
        return time.perf_counter() - wall, time.process_time() - cpu

    prepared = {size: batches(size) for size in BATCHES}
    tries = {}
    for name, encode in ways.items():
        for size in BATCHES:
            timed(encode, prepared[size][-1:])
            tries[name, size] = min(timed(encode, prepared[size])[threads == 1] for _ in range(1 if QUICK else 2))
    name, size = min(tries, key=tries.get)
    print(json.dumps(f"{name}, batches of {size}"), flush=True)
    for _ in sys.stdin:
        print(json.dumps(timed(ways[name], prepared[size])), flush=True)


class Peak:
    """Flop per second of fused multiply-adds alone, on threads that run side by side: the loop of bench.h."""

    SOURCE = """
        #include <math.h>
        #include "attn.h"
        #include "bench.h"
        double work(void);
        void run(long times);
        static peak best(void)
        {
            peak p;
            size_t i;
            memset(&p, 0, sizeof p);
            p.dtype = ATTN_F32;
            for (i = 0; i < ISA_COUNT && !(lanes_of(p.isa, p.dtype) && attn_isa_available(p.isa)); i++)
                p.isa = ISAS[i];
            return p;
        }
        double work(void)
        {
            peak p = best();
            return lanes_of(p.isa, p.dtype) ? peak_work(&p) : 0;
        }
        void run(long times)
        {
            peak p = best();
            while (times-- > 0)
                run_peak(&p);
        }
    """

    def __init__(self, folder):
        source, library = os.path.join(folder, "peak.c"), os.path.join(folder, "peak.so")
        with open(source, "w") as file:
            file.write(self.SOURCE)
        top = os.path.join(HERE, "..", "..")
        subprocess.run([os.environ.get("CC", "cc"), "-w", "-O2", "-shared", "-fPIC", "-DATTN_IMPLEMENTATION", "-I", top,
                        "-I", HERE, "-o", library, source, "-lm", "-ldl"], check=True)
        self.library = ctypes.CDLL(library)
        self.library.work.restype = ctypes.c_double
        self.library.run.argtypes = [ctypes.c_long]
        self.work = self.library.work()

    def turn(self, threads):
        import threading

        times = 4000
        helpers = [threading.Thread(target=self.library.run, args=(times,)) for _ in range(threads)]
        wall, cpu = time.perf_counter(), time.process_time()
        for helper in helpers:
            helper.start()
        for helper in helpers:
            helper.join()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        return threads * times * self.work / wall / 1e9, threads * times * self.work / cpu / 1e9


# ==== The table =======================================================================================================


def race(program, folder, path, threads, peak):
    ours = Ours(program, folder, path, threads)
    others = {"transformers": Worker("transformers", folder, path, threads)}
    if all(importlib.util.find_spec(name) for name in ("onnx", "onnxruntime")):
        others["onnxruntime"] = Worker("onnxruntime", folder, path, threads)
    times = {name: [] for name in ["ours", *others]}
    peaks = []
    ours.shares.clear()
    for _ in range(ROUNDS):
        times["ours"].append(ours.turn())
        for name, who in others.items():
            times[name].append(who.turn())
        if peak.work:
            peaks.append(peak.turn(threads))
    for who in others.values():
        who.end()
    print(f"{threads} thread{'s' * (threads > 1)}, {COUNT} sentences, {ours.tokens} tokens")
    for clock, kind in enumerate(("wall", "processor")[: 2 if threads == 1 else 1]):
        median = {name: statistics.median(t[clock] for t in times[name]) for name in times}
        print(f"    {kind:9} ours {median['ours']:7.3f} s {COUNT / median['ours']:7.1f} sentences/s "
              f"{ours.tokens / median['ours']:8.0f} tokens/s")
        for name, who in others.items():
            ratio = statistics.median(b[clock] / a[clock] for a, b in zip(times["ours"], times[name]))
            bar = 1.15 if name == "transformers" else 1.0
            print(f"    {kind:9} {name} {median[name]:.3f} s ({who.how}): ours is {ratio:.2f} x as fast, bar {bar} "
                  f"{'met' if ratio >= bar else 'MISSED'}")
    shares = [statistics.median(x) for x in zip(*ours.shares)]
    print(f"    products {100 * shares[0]:.1f} % of the time at {shares[2]:.1f} Gflop/s, attention "
          f"{100 * shares[1]:.1f} %, all but products {100 * (1 - shares[0]):.1f} %, bar 12 % {'met' if shares[0] > 0.88 else 'MISSED'}")
    if peaks:
        best = statistics.median(p[0] for p in peaks)
        share = statistics.median(s[2] / p[0] for s, p in zip(ours.shares, peaks))
        print(f"    peak {best:.1f} Gflop/s on the wall, {statistics.median(p[1] for p in peaks) * threads:.1f} by the "
              f"processor; products at {100 * share:.1f} % of it, bar 88 % {'met' if share >= 0.88 else 'MISSED'}",
              flush=True)


def main():
    missing = [name for name in ("torch", "transformers") if not importlib.util.find_spec(name)]
    if missing:
        print(f"{', '.join(missing)} not found, skipped; ATTN_BENCH_PYTHON names the Python that has them.")
        return
    program = os.path.abspath(sys.argv[1])
    load = os.getloadavg()[0]
    if load > 0.3:
        print(f"Load of the machine before: {load:.1f}. Two threads want a core each.")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "sentences.txt")
        with open(path, "w") as file:
            file.write("".join(line + "\n" for line in sentences()))
        model = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else stand_in(os.path.join(folder, "model"))
        peak = Peak(folder)
        for threads in (1, 2):
            race(program, model, path, threads, peak)


if __name__ == "__main__":
    if sys.argv[1] == "--worker":
        work(*sys.argv[2:5], int(sys.argv[5]))
    else:
        main()
