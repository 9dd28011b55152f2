"""How fast 13_generate is beside transformers, llama.cpp and this machine's memory.

    python3 tests/bench/generate.py build/13_generate [--llama-bench PATH] [SHAPE-TYPE... | FILE.gguf...]

That is what `make bench-generate` runs, with the Python that ATTN_BENCH_PYTHON names and the llama-bench that
ATTN_LLAMA_BENCH does, on a quiet machine; half an hour. Needs torch, transformers, safetensors and a C compiler (CC), and
for llama.cpp gguf; where one of these is missing it says so. Disk: 6 GB in a temporary directory, memory as much.
SHAPE-TYPE: 0.5B-f32 0.5B-bf16 0.5B-f16 1B-bf16 1B-f16, or 1B-f32. FILE.gguf (`make bench-generate GGUF=FILE`): a model
that is there, of which 13_generate reads 16 bits for each weight, and llama.cpp the types of the file, which are fewer;
transformers takes no part. ATTN_BENCH_QUICK in the environment: the second alone,
with one round.

Models are Llamas with random weights: of the sizes of Qwen2.5-0.5B, and of Llama-3.2-1B. A prompt of 512 tokens is read
and 128 tokens are written after it, greedily. Each contestant reads the weights as they lie in the file, so does
llama-bench from a GGUF file with the same numbers; transformers is also given the other 16-bit type, and float, and the
fastest of these in a first turn takes part. Speeds of writing leave out the reading before it. Who takes part has a turn
in each round, after a pause in which the threads of the one before go to sleep. Numbers are medians of the rounds,
ratios medians of the rounds' ratios.

The bound is how fast memory gives the weights that are read for each token, which are all but the embedding, and that
too where it makes the logits; keys and values are not counted. The read is that of bench_sdpa: as many streams,
prefetched as far ahead, as are fastest, in the same rounds. The bar: 85 % of the bound, and ahead of both in writing."""
import argparse
import importlib.util
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from translate import Read, ratio

NEEDED = ("torch", "transformers", "safetensors")
QUICK = bool(os.environ.get("ATTN_BENCH_QUICK"))
ROUNDS = 1 if QUICK else 3
PROMPT, WRITTEN = 512, 128
PAUSE = 0.3  # seconds before a turn
SHAPES = {
    "0.5B": dict(hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14,
                 num_key_value_heads=2, head_dim=64, vocab_size=151936),
    "1B": dict(hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32,
               num_key_value_heads=8, head_dim=64, vocab_size=128256),
}
CASES = ["0.5B-f32", "0.5B-bf16", "0.5B-f16", "1B-bf16", "1B-f16"]
TORCH = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}


# ==== A model =========================================================================================================


def tensors(shape, dtype):
    """Names of transformers, names of llama.cpp and tensors, in the order of the layers."""
    import torch

    s = SHAPES[shape]
    torch.manual_seed(1)
    width, wide, head = s["hidden_size"], s["intermediate_size"], s["head_dim"]
    queries, keys = head * s["num_attention_heads"], head * s["num_key_value_heads"]
    products = {
        "self_attn.q_proj": ("attn_q", queries, width), "self_attn.k_proj": ("attn_k", keys, width),
        "self_attn.v_proj": ("attn_v", keys, width), "self_attn.o_proj": ("attn_output", width, queries),
        "mlp.gate_proj": ("ffn_gate", wide, width), "mlp.up_proj": ("ffn_up", wide, width),
        "mlp.down_proj": ("ffn_down", width, wide),
    }
    norms = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}

    def matrix(rows, cols):
        return torch.randn(rows, cols).mul_(0.02).to(getattr(torch, TORCH[dtype]))

    yield "model.embed_tokens.weight", "token_embd.weight", matrix(s["vocab_size"], width)
    for n in range(s["num_hidden_layers"]):
        for name, (other, rows, cols) in products.items():
            yield f"model.layers.{n}.{name}.weight", f"blk.{n}.{other}.weight", matrix(rows, cols)
        for name, other in norms.items():
            yield f"model.layers.{n}.{name}.weight", f"blk.{n}.{other}.weight", torch.ones(width)
    yield "model.norm.weight", "output_norm.weight", torch.ones(width)


def write_gguf(path, shape, dtype, weights):
    """The same for llama.cpp. It has no words: llama-bench needs none. Rows of queries and keys are not put in its
    order, which changes numbers but no time."""
    import gguf
    import torch

    s = SHAPES[shape]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(4096)
    writer.add_embedding_length(s["hidden_size"])
    writer.add_block_count(s["num_hidden_layers"])
    writer.add_feed_forward_length(s["intermediate_size"])
    writer.add_head_count(s["num_attention_heads"])
    writer.add_head_count_kv(s["num_key_value_heads"])
    writer.add_rope_dimension_count(s["head_dim"])
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(s["vocab_size"])
    writer.add_tokenizer_model("no_vocab")
    types = {"f32": gguf.GGMLQuantizationType.F32, "bf16": gguf.GGMLQuantizationType.BF16,
             "f16": gguf.GGMLQuantizationType.F16}
    for _, name, x in weights:
        if x.dim() == 1:
            writer.add_tensor(name, x.numpy(), raw_dtype=types["f32"])
        elif dtype == "bf16":
            writer.add_tensor(name, x.view(torch.uint8).numpy(), raw_dtype=types["bf16"])
        else:
            writer.add_tensor(name, x.numpy(), raw_dtype=types[dtype])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def build(shape, dtype, folder, with_gguf):
    """A directory for 13_generate and transformers, model.gguf in it. Bytes of weights that are read for each token."""
    import safetensors.torch
    import torch

    weights = list(tensors(shape, dtype))
    size = sum(x.numel() * x.element_size() for _, _, x in weights)
    if with_gguf:
        write_gguf(os.path.join(folder, "model.gguf"), shape, dtype, weights)
    named = {name: x.to(getattr(torch, TORCH[dtype])) for name, _, x in weights}
    safetensors.torch.save_file(named, os.path.join(folder, "model.safetensors"), {"format": "pt"})
    config = dict(SHAPES[shape], architectures=["LlamaForCausalLM"], model_type="llama", hidden_act="silu",
                  max_position_embeddings=4096, rms_norm_eps=1e-5, rope_theta=10000.0, tie_word_embeddings=True,
                  attention_bias=False, mlp_bias=False, bos_token_id=1, torch_dtype=TORCH[dtype])
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)
    # Any tokenizer will do: there are ids alone.
    shutil.copy(os.path.join(HERE, "../../examples/models/tests/golden/generate_model/tokenizer.model"), folder)
    return size


# ==== Those who take part: turn() returns tokens per second of reading and of writing =================================


class Ours:
    def __init__(self, program, folder, prompt, threads):
        self.command = [program, "--greedy", "--ids", "--timing", "--max-tokens", str(WRITTEN), "--cache", "f16",
                        "--threads", str(threads), "--prompt-ids", " ".join(map(str, prompt)), folder]

    def turn(self):
        run = subprocess.run(self.command, capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"generate: {run.stderr}")
        read = re.search(r"read (\d+) tokens [0-9.]+ s ([0-9.]+)", run.stderr)
        wrote = re.search(r"wrote (\d+) tokens [0-9.]+ s ([0-9.]+)", run.stderr)
        self.ids = [int(x) for x in run.stdout.split()]
        if int(read[1]) != PROMPT or len(self.ids) != WRITTEN:
            sys.exit(f"generate: {run.stderr}{len(self.ids)} ids")
        return float(read[2]), float(wrote[2])

    def end(self):
        pass


class Worker:
    """transformers, in a process of its own: this file again."""

    def __init__(self, folder, prompt, threads, dtype):
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
        self.process = subprocess.Popen([sys.executable, __file__, "--worker", folder, str(threads), dtype,
                                         " ".join(map(str, prompt))],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.dtype = dtype
        self.first = self.turn()  # loads

    def turn(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("generate: a worker failed")
        reading, writing, self.ids = json.loads(line)
        return PROMPT / reading, (WRITTEN - 1) / writing

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def fastest_worker(folder, prompt, threads, dtype):
    best = None
    for other in dict.fromkeys([dtype, "bf16", "f32"]):
        if QUICK and other != dtype:
            continue
        worker = Worker(folder, prompt, threads, other)
        if best and best.first[1] >= worker.first[1]:
            worker.end()
            continue
        if best:
            best.end()
        best = worker
    return best


def work(folder, threads, dtype, prompt):
    """What a worker does: one generation for each line, answered by seconds of reading, of writing, and ids."""
    import torch
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(threads)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, TORCH[dtype])).eval()
    prompt = torch.tensor([prompt])
    for _ in sys.stdin:
        with torch.inference_mode():
            start = time.perf_counter()
            out = model(prompt, use_cache=True, logits_to_keep=1)
            ids = [int(out.logits[0, -1].argmax())]
            between = time.perf_counter()
            while len(ids) < WRITTEN:
                out = model(torch.tensor([ids[-1:]]), past_key_values=out.past_key_values, use_cache=True)
                ids.append(int(out.logits[0, -1].argmax()))
            end = time.perf_counter()
        print(json.dumps([between - start, end - between, ids]), flush=True)


class LlamaBench:
    """Writing begins after as many tokens as the prompt has."""

    def __init__(self, path, model, threads):
        self.command = [path, "-m", model, "-t", str(threads), "-r", "1", "-o", "json"]
        self.turn()

    def once(self, *options):
        run = subprocess.run(self.command + list(options), capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"generate: llama-bench: {run.stderr}")
        return json.loads(run.stdout)[0]["avg_ts"]

    def turn(self):
        return (self.once("-p", str(PROMPT), "-n", "0"),
                self.once("-p", "0", "-n", str(WRITTEN), "-d", str(PROMPT)))

    def end(self):
        pass


# ==== The table =======================================================================================================


def race_file(program, llama, path, read):
    """The same of a GGUF."""
    import gguf

    rng = random.Random(1)
    found = gguf.GGUFReader(path).tensors
    rows = min(int(t.shape[1]) for t in found if t.name == "token_embd.weight")
    prompt = [rng.randrange(3, rows) for _ in range(PROMPT)]
    size = sum(int(t.n_elements) * (2 if len(t.shape) > 1 else 4) for t in found)
    for threads in (1, 2):
        racers = {"ours": Ours(program, path, prompt, threads)}
        if llama:
            racers["llama.cpp"] = LlamaBench(llama, path, threads)
        run(os.path.basename(path)[:9], threads, size, racers, read)


def race(program, llama, case, read):
    """Prints the rows of a case, for one thread and for two."""
    if case.endswith(".gguf"):
        race_file(program, llama, case, read)
        return
    shape, dtype = case.split("-")
    rng = random.Random(1)
    prompt = [rng.randrange(3, 100000) for _ in range(PROMPT)]
    with tempfile.TemporaryDirectory() as folder:
        size = build(shape, dtype, folder, llama)
        for threads in (1, 2):
            racers = {"ours": Ours(program, folder, prompt, threads),
                      "transformers": fastest_worker(folder, prompt, threads, dtype)}
            if llama:
                racers["llama.cpp"] = LlamaBench(llama, os.path.join(folder, "model.gguf"), threads)
            run(case, threads, size, racers, read)


def run(case, threads, size, racers, read):
    speeds = {name: [] for name in [*racers, "memory"]}
    for _ in range(ROUNDS):
        for name, who in racers.items():
            time.sleep(PAUSE)
            speeds[name].append(who.turn())
        time.sleep(PAUSE)
        speeds["memory"].append(read.turn(threads))
    row(case, threads, size, speeds, racers)
    for who in racers.values():
        who.end()


def row(case, threads, size, speeds, racers):
    written = {name: [x[1] for x in speeds[name]] for name in racers}
    share = ratio([x * size for x in written["ours"]], speeds["memory"])
    ahead = all(ratio(written["ours"], x) > 1 for name, x in written.items() if name != "ours")
    text = f"{case:10}{threads:2}"
    for part in (0, 1):
        for name in ("ours", "transformers", "llama.cpp"):
            if name not in racers:
                text += f"{'-':>9}{'-':>8}"
                continue
            numbers = [x[part] for x in speeds[name]]
            text += f"{statistics.median(numbers):9.1f}"
            if name != "ours":
                text += f"{ratio([x[part] for x in speeds['ours']], numbers):6.2f} x"
        text += " |" if part == 0 else ""
    text += f"{statistics.median(speeds['memory']) / 1e9:7.1f}{100 * share:5.0f} %"
    met = "met" if share >= 0.85 and ahead else "MISSED"
    if "transformers" not in racers:
        print(f"{text}  {met}; ours in 16 bits, llama.cpp in those of the file", flush=True)
        return
    same = [a == b for a, b in zip(racers["ours"].ids, racers["transformers"].ids)]
    print(f"{text}  {met}; transformers in {racers['transformers'].dtype}, "
          f"{same.index(False) if not all(same) else WRITTEN} ids as its", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--llama-bench", default=os.environ.get("ATTN_LLAMA_BENCH"))
    parser.add_argument("case", nargs="*")
    args = parser.parse_intermixed_args()
    missing = [name for name in NEEDED if not importlib.util.find_spec(name)]
    if missing:
        print(f"{', '.join(missing)} not found, skipped; ATTN_BENCH_PYTHON names the Python that has them.")
        return
    llama = args.llama_bench
    if not llama:
        print("no llama-bench, skipped: --llama-bench or ATTN_LLAMA_BENCH names one.")
    elif not importlib.util.find_spec("gguf"):
        print("gguf not found, llama-bench skipped.")
        llama = None
    else:
        llama = os.path.abspath(llama)
    for line in open("/proc/cpuinfo") if os.path.exists("/proc/cpuinfo") else []:
        if line.startswith("model name"):
            print(line.split(":", 1)[1].strip())
            break
    print(f"A prompt of {PROMPT} tokens, {WRITTEN} written. tokens/s; ratios of ours to the other. Medians of {ROUNDS} "
          "rounds.\nThe bar: 85 % of the read of the weights, and ahead of both, in writing.")
    load = os.getloadavg()[0]
    if load > 0.3:
        print(f"Load of the machine before: {load:.1f}. Two threads want a core each.")
    with tempfile.TemporaryDirectory() as folder:
        read = Read(folder)
    print(f"{'':12}{'reading':>9}{'transformers':>17}{'llama.cpp':>17} |{'writing':>9}{'transformers':>17}"
          f"{'llama.cpp':>17}{'memory':>7}{'share':>7}\n"
          f"{'weights':10}{'th':2}{'ours':>9}{'':9}{'ratio':>8}{'':9}{'ratio':>8} |{'ours':>9}{'':9}{'ratio':>8}{'':9}"
          f"{'ratio':>8}{'GB/s':>7}")
    for case in args.case or (["0.5B-bf16"] if QUICK else CASES):
        race(os.path.abspath(args.program), llama, case, read)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        work(sys.argv[2], int(sys.argv[3]), sys.argv[4], [int(x) for x in sys.argv[5].split()])
    else:
        main()
