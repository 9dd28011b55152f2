"""How fast the translator is beside transformers, CTranslate2 and this machine's memory, and how much memory it takes.

    python3 tests/bench/translate.py build/05_translate [SHAPE...]    t5-small and t5-base; minutes, on a quiet machine

That is what `make bench-translate` runs, with the Python that ATTN_BENCH_PYTHON names. Needs torch, transformers,
sentencepiece, safetensors and a C compiler (CC); where one of these modules is missing it says so and ends. Without
ctranslate2 it goes on, and judges nothing: the bar is a ratio to that. Disk: 3 GB in a temporary directory.
ATTN_BENCH_QUICK in the environment: one shape, two rounds.

One text of 128 tokens becomes 128 tokens, greedily, in one batch: with random weights, and an embedding of EOS that is
zero, so that it is never the best. Speeds are 128 tokens over the time of the whole generation, the encoder's included,
without loading. Who takes part has a turn in each round, after a pause in which the threads of the one before go to
sleep; transformers and CTranslate2 each have a process for each number of threads, which keeps its model. Ratios are
those of a round, and everything is the median of the rounds.

The bound is how fast memory gives the weights that the decoder reads for each token; the share is the decoder's own
speed over it. The read is that of bench_sdpa: as many streams, prefetched as far ahead, as are fastest. Memory is the
peak of the process, less the file of weights. A bf16 file is measured beside the others' f32."""
import ctypes
import importlib.util
import json
import mmap
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

NEEDED = ("torch", "transformers", "sentencepiece", "safetensors")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../examples/models/tests"))

QUICK = bool(os.environ.get("ATTN_BENCH_QUICK"))
ROUNDS = 2 if QUICK else 5
TOKENS = 128
PAUSE = 0.3  # seconds before a turn
MIB = 2**20


# ==== A model =========================================================================================================


def text_of(tokenizer, count):
    """A text of so many tokens, EOS included."""
    words, text = "The house is wonderful and the weather is nice today".split(), "The"
    for n in range(1, 10 * count):
        size = len(tokenizer(text).input_ids)
        if size >= count:
            break
        text += " " + (words[n % len(words)] if size < count - 4 else "is")
    if size != count:
        sys.exit(f"translate: a text of {size} tokens")
    return text


def build(shape, folder):
    """Directories of one model in f32 and bf16. The text; bytes that the decoder reads for each token, of each type."""
    import check_t5
    import torch
    from transformers import T5Config, T5ForConditionalGeneration, T5Tokenizer

    path = check_t5.vocabulary()
    torch.manual_seed(1)
    model = T5ForConditionalGeneration(
        T5Config(vocab_size=32128, decoder_start_token_id=0, **check_t5.SHAPES[shape][1])).eval()
    with torch.no_grad():
        model.shared.weight[1] = 0
    once = ("EncDecAttention.k.", "EncDecAttention.v.", "embed_tokens", "relative_attention_bias")
    read = sum(x.numel() for name, x in model.decoder.named_parameters() if not any(o in name for o in once))
    read += model.shared.weight.numel()
    tokenizer = T5Tokenizer(path, legacy=True, extra_ids=100)
    for dtype in (torch.float32, torch.bfloat16):
        here = os.path.join(folder, str(dtype)[6:])
        check_t5.make_t5.save(here, model, dtype, path)
        tokenizer.save_pretrained(here)
    return text_of(tokenizer, TOKENS), {"float32": 4 * read, "bfloat16": 2 * read}


# ==== Those who take part: turn() does it once ========================================================================


class Ours:
    def __init__(self, program, folder, text, threads):
        # A program's peak, as getrusage has it, begins with that of the process that became it: here a small shell's.
        self.command = ["sh", "-c", '"$@"; exit $?', "sh"]
        self.command += [program, "--greedy", "--prefix", "", "--max-length", str(TOKENS + 1), "--timing", "--ids",
                         "--threads", str(threads), folder, text]
        self.weights = os.path.getsize(os.path.join(folder, "model.safetensors"))

    def turn(self):
        run = subprocess.run(self.command, capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"translate: {run.stderr}")
        encoded = re.search(r"encoded (\d+) tokens ([0-9.]+) s", run.stderr)
        decoded = re.search(r"decoded (\d+) tokens ([0-9.]+) s", run.stderr)
        peak = re.search(r"peak memory ([0-9.]+) MiB", run.stderr)
        self.ids = [int(x) for x in run.stdout.split()]
        if int(encoded[1]) != TOKENS or int(decoded[1]) != TOKENS or len(self.ids) != TOKENS:
            sys.exit(f"translate: {run.stderr}{len(self.ids)} ids")
        self.decoder = TOKENS / float(decoded[2])
        self.over = float(peak[1]) - self.weights / MIB
        return TOKENS / (float(encoded[2]) + float(decoded[2]))


class Worker:
    """One of the others, in a process of its own: this file again."""

    def __init__(self, kind, folder, text, threads):
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
        self.process = subprocess.Popen([sys.executable, __file__, "--worker", kind, folder, text, str(threads)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.turn()  # loads, and generates once

    def turn(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("translate: a worker failed")
        seconds, self.peak, self.ids = json.loads(line)
        return TOKENS / seconds

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def peak_memory():
    """Of this process, in MiB; Linux."""
    with open("/proc/self/status") as file:
        return int(re.search(r"VmHWM:\s*(\d+) kB", file.read())[1]) / 1024


def work(kind, folder, text, threads):
    """What a worker does: one generation for each line, answered by seconds, MiB, ids."""
    if kind == "ctranslate2":
        import ctranslate2
        from transformers import T5Tokenizer

        tokens = T5Tokenizer.from_pretrained(os.path.dirname(folder) + "/float32", legacy=True)
        source = tokens.convert_ids_to_tokens(tokens(text).input_ids)
        translator = ctranslate2.Translator(folder, device="cpu", compute_type="float32", intra_threads=threads)
        vocabulary = {}

        def generate():
            found = translator.translate_batch([source], beam_size=1, max_decoding_length=TOKENS)
            return found[0].hypotheses[0]

        with open(os.path.join(folder, "shared_vocabulary.json")) as file:
            for n, piece in enumerate(json.load(file)):
                vocabulary.setdefault(piece, n)

        def ids_of(found):
            return [vocabulary[piece] for piece in found]
    else:
        import torch
        from transformers import T5ForConditionalGeneration, T5Tokenizer

        torch.set_num_threads(threads)
        model = T5ForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
        source = torch.tensor([T5Tokenizer.from_pretrained(folder, legacy=True)(text).input_ids])

        def generate():
            return model.generate(source, num_beams=1, do_sample=False, max_length=TOKENS + 1)

        def ids_of(found):
            return found[0, 1:].tolist()

    for line in sys.stdin:
        start = time.perf_counter()
        found = generate()
        seconds = time.perf_counter() - start
        ids = ids_of(found)
        if len(ids) != TOKENS:
            sys.exit(f"translate: {kind} generates {len(ids)} tokens")
        print(json.dumps([seconds, peak_memory(), ids]), flush=True)


def convert(folder):
    """A directory for CTranslate2, if it is there."""
    out = os.path.join(os.path.dirname(folder), "ctranslate2")
    if not importlib.util.find_spec("ctranslate2"):
        print("ctranslate2 not found, skipped.")
        return None
    code = "import sys, ctranslate2.converters as c; c.TransformersConverter(sys.argv[1]).convert(sys.argv[2])"
    run = subprocess.run([sys.executable, "-c", code, folder, out], capture_output=True, text=True)
    if run.returncode:
        print(f"ctranslate2 does not convert, skipped: {run.stderr.strip().splitlines()[-1]}")
        return None
    return out


class Read:
    """Bytes of memory per second on one thread or two, with the read of bench_sdpa."""

    SIZE = 512 * MIB

    def __init__(self, folder):
        path = os.path.join(folder, "libread.so")
        subprocess.run([os.environ.get("CC", "cc"), "-std=c99", "-O3", "-ffast-math", "-shared", "-fPIC", "-o", path,
                        os.path.join(HERE, "peer_sdpa.c"), "-lm"], check=True)
        self.read = ctypes.CDLL(path).peer_read
        self.read.restype = ctypes.c_float
        self.read.argtypes = [ctypes.c_void_p] + 4 * [ctypes.c_size_t]
        self.memory = mmap.mmap(-1, self.SIZE)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            self.memory.madvise(mmap.MADV_HUGEPAGE)
        for n in range(0, self.SIZE, MIB):
            self.memory[n : n + MIB] = bytes(MIB)
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.vector = 0
        if os.path.exists("/proc/cpuinfo"):
            with open("/proc/cpuinfo") as file:
                flags = set(file.read().split())
            self.vector = 64 if "avx512f" in flags else 32 if "avx2" in flags else 0
        self.best = {}
        for threads in (1, 2):
            tries = {(s, a): [] for s in (1, 2, 3, 4, 6, 8, 12, 16) for a in (0, 512, 1024, 2048, 4096)}
            for _ in range(1 if QUICK else 3):
                for how in tries:
                    tries[how].append(self.once(threads, *how))
            self.best[threads] = max(tries, key=lambda how: max(tries[how]))

    def once(self, threads, streams, ahead):
        part = self.SIZE // threads
        helpers = [threading.Thread(target=self.read, args=(self.start + n * part, part, streams, ahead, self.vector))
                   for n in range(threads)]
        start = time.perf_counter()
        for helper in helpers:
            helper.start()
        for helper in helpers:
            helper.join()
        return self.SIZE / (time.perf_counter() - start)

    def turn(self, threads):
        return max(self.once(threads, *self.best[threads]) for _ in range(4))


# ==== The table =======================================================================================================


def race(program, shape, read):
    """Prints the rows of a shape."""
    with tempfile.TemporaryDirectory() as folder:
        text, size = build(shape, folder)
        f32 = os.path.join(folder, "float32")
        converted = convert(f32)
        for threads in (1, 2):
            ours = {dtype: Ours(program, os.path.join(folder, dtype), text, threads) for dtype in size}
            others = {"transformers": Worker("transformers", f32, text, threads)}
            if converted:
                others["ctranslate2"] = Worker("ctranslate2", converted, text, threads)
            speeds = {name: [] for name in [*ours, *others, "read"]}
            decoder = {dtype: [] for dtype in ours}
            for _ in range(ROUNDS):
                for name, who in [*ours.items(), *others.items()]:
                    time.sleep(PAUSE)
                    speeds[name].append(who.turn())
                    if name in decoder:
                        decoder[name].append(who.decoder)
                time.sleep(PAUSE)
                speeds["read"].append(read.turn(threads))
            for dtype, who in ours.items():
                row(shape, dtype, threads, who, size[dtype], speeds, decoder[dtype], others)
            same = [a == b for a, b in zip(ours["float32"].ids, others["transformers"].ids)]
            if not all(same):
                print(f"    the first {same.index(False)} ids are those of transformers")
            for other in others.values():
                other.end()


def ratio(a, b):
    return statistics.median(x / y for x, y in zip(a, b))


def row(shape, dtype, threads, who, size, speeds, decoder, others):
    median = {name: statistics.median(x) for name, x in speeds.items()}
    times = ratio(speeds[dtype], speeds["transformers"])
    share = ratio([x * size for x in decoder], speeds["read"])
    c = "ctranslate2"
    peer = f"{median[c]:8.1f} {ratio(speeds[dtype], speeds[c]):5.2f} x" if c in others else f"{'-':>8} {'-':>7}"
    verdict = "-"
    if c in others:
        verdict = "met" if ratio(speeds[dtype], speeds[c]) >= 1.3 and who.over <= 64 else "MISSED"
    print(f"{shape:9}{dtype:9}{threads:2} {median[dtype]:8.1f} {median['transformers']:8.1f} {times:5.2f} x {peer} "
          f"{statistics.median(decoder):8.1f} {median['read'] / 1e9:6.2f} {100 * share:5.0f} % {who.over:8.1f} "
          f"{others['transformers'].peak:8.0f} {others[c].peak if c in others else 0:8.0f}  {verdict}",
          flush=True)


def main():
    missing = [name for name in NEEDED if not importlib.util.find_spec(name)]
    if missing:
        print(f"{', '.join(missing)} not found, skipped; ATTN_BENCH_PYTHON names the Python that has them.")
        return
    program = os.path.abspath(sys.argv[1])
    shapes = sys.argv[2:] or (["t5-small"] if QUICK else ["t5-small", "t5-base"])
    print(f"{TOKENS} tokens in, {TOKENS} out, greedy. tokens/s; ratios of ours to the other; memory in MiB: ours over "
          f"the weights, the others' all. Medians of {ROUNDS} rounds.\n"
          "The bar: 1.3 x CTranslate2 in f32, on one and on two threads, and 64 MiB.")
    load = os.getloadavg()[0]
    if load > 0.3:
        print(f"Load of the machine before: {load:.1f}. Two threads want a core each.")
    with tempfile.TemporaryDirectory() as folder:
        read = Read(folder)
    print(f"{'':18}{'':3}{'':9}{'transformers':>17} {'CTranslate2':>16} {'decoder':>8} {'read':>6} {'share of':>8}"
          f"{'memory':>8} {'trans-':>8} {'CTrans-':>8}")
    print(f"{'shape':9}{'weights':9}{'thr':3}{'ours':>8} {'':>8} {'ratio':>7} {'':>8} {'ratio':>7} {'alone':>8} "
          f"{'GB/s':>6} {'bound':>7} {'ours':>8} {'formers':>8} {'late2':>8}")
    for shape in shapes:
        race(program, shape, read)


if __name__ == "__main__":
    if sys.argv[1] == "--worker":
        work(*sys.argv[2:5], int(sys.argv[5]))
    else:
        main()
