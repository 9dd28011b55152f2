"""Whether the translator gives transformers' ids with models of the published shapes.

    python3 examples/models/tests/check_t5.py build/05_translate [SHAPE...]        what `make check-t5` runs; minutes

Needs torch, transformers 4.57, sentencepiece and safetensors. Each shape is built with random weights in a temporary
directory, in f32 and in one 16-bit type, and removed again: 2 GB there and 6 GB of memory at most. EOS is raised so
that most outputs end before the limit. Sentences in whose searches some candidates are closer than MARGIN are replaced.
ATTN_T5_MODELS in the environment: a directory with t5-small.spiece.model, the published vocabulary; without it
golden/unigram.model, filled up, takes its place. Exit status 1 if something differs."""
import atexit
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "golden"))

import torch
import transformers
from sentencepiece import sentencepiece_model_pb2
from transformers import T5Config, T5Tokenizer

import make_t5

MAX_LENGTH = 40
MARGIN = 1e-4
SENTENCES = 3
GREEDY, BEAMS = (1, MAX_LENGTH, 1, 1.0, 0), (4, MAX_LENGTH, 1, 1.0, 0)

TEXTS = [f"{prefix}{text}" for text in (
    "The house is wonderful.", "I have seen the cat.", "New York is not a small town.", "The weather is nice today.",
    "Every query attends to every key.", "The machines of 1998 were slow.", "Its newspapers are read in many houses.",
    "Reading and writing are the same machine run twice.") for prefix in (
    "translate English to French: ", "", "translate English to German: ", "translate English to Romanian: ")]

SMALL = dict(d_model=512, d_kv=64)
BASE = dict(d_model=768, d_kv=64, num_heads=12, num_layers=12)
GATED = dict(feed_forward_proj="gated-gelu", tie_word_embeddings=False)
SHAPES = {
    "t5-small": (torch.bfloat16, dict(SMALL, d_ff=2048, num_heads=8, num_layers=6)),
    "t5-base": (torch.float16, dict(BASE, d_ff=3072)),
    "t5-v1_1-small": (torch.float16, dict(SMALL, **GATED, d_ff=1024, num_heads=6, num_layers=8, num_decoder_layers=8)),
    "flan-t5-small": (torch.bfloat16, dict(SMALL, **GATED, d_ff=1024, num_heads=6, num_layers=8, num_decoder_layers=8)),
    "flan-t5-base": (torch.bfloat16, dict(BASE, **GATED, d_ff=2048, num_decoder_layers=12)),
}


def vocabulary():
    """The published vocabulary; or the tests' own, with pieces that no text has up to as many."""
    path = os.path.join(os.environ.get("ATTN_T5_MODELS", ""), "t5-small.spiece.model")
    if os.path.exists(path):
        return path
    model = sentencepiece_model_pb2.ModelProto()
    with open(os.path.join(HERE, "golden", "unigram.model"), "rb") as file:
        model.ParseFromString(file.read())
    for n in range(len(model.pieces), 32000):
        model.pieces.add(piece=f"<unused_{n}>", score=-100, type=model.SentencePiece.UNUSED)
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    path = os.path.join(folder, "spiece.model")
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    return path


def build(config, seed, dtype, tokenizer):
    """A model in f32 whose values are those of dtype, some of whose searches end before the limit."""
    model = make_t5.random_model(config, seed)
    with torch.no_grad():
        model.decoder.final_layer_norm.weight *= 2  # among so many tokens, candidates are close
    sources = [tokenizer(text).input_ids for text in TEXTS[:SENTENCES]]
    below, up, down = 8.0, 0.0, None
    for turn in range(8):
        make_t5.raise_eos(model, sources, below, tokenizer.sp_model.get_piece_size())
        lengths = sorted(len(make_t5.generate(model, source, GREEDY)[0]) for source in sources)
        if 3 <= lengths[1] < MAX_LENGTH - 1:
            break
        if lengths[1] < 3:
            up, below = below, (below + down) / 2 if down else below + 4
        else:
            down, below = below, (below + up) / 2
    return model.to(dtype).float()


def expected(model, tokenizer):
    """Of the first sentences that will do: text, and ids and score of each search."""
    found = []
    for text in TEXTS:
        source, results = tokenizer(text).input_ids, []
        for options in (GREEDY, BEAMS):
            ids, score, logits = make_t5.generate(model, source, options)
            again, total, margin = make_t5.search(logits, options)
            if margin < MARGIN:
                break
            assert again == ids and (score is None or abs(score - total) < 1e-3), (ids, again, score, total)
            results.append((ids, total))
        if len(results) == 2:
            found.append((text, results))
        if len(found) == SENTENCES:
            break
    return found


def translate(program, folder, texts, options):
    """Ids and score of each text, or None."""
    command = [program, "--ids", "--scores", "--threads", "2", "--prefix", "", "--max-length", str(MAX_LENGTH)]
    command += ["--greedy"] if options == GREEDY else ["--beams", str(options[0])]
    run = subprocess.run(command + [folder] + texts, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode != 0:
        print(run.stderr.strip() or f"exit status {run.returncode}")
        return [None] * len(texts)
    rows = [line.split("\t") for line in run.stdout.splitlines()]
    return [([int(x) for x in ids.split()], float(score)) for score, ids in rows]


def check(program, name, seed, dtype, options, folder, tokenizer, path):
    """Prints a line; what passed, what failed."""
    config = T5Config(vocab_size=32128, decoder_start_token_id=0, **options)
    model = build(config, seed, dtype, tokenizer)
    found = expected(model, tokenizer)
    make_t5.save(folder, model, dtype, path, "gated" if config.is_gated_act else "first")
    del model
    passed, wrong, off = 0, [], 0.0
    for n, search in enumerate((GREEDY, BEAMS)):
        got = translate(program, folder, [text for text, results in found], search)
        for k, (text, results) in enumerate(found):
            ids, score = results[n]
            if k < len(got) and got[k] and got[k][0] == ids and abs(got[k][1] - score) < 1e-3:
                passed += 1
                off = max(off, abs(got[k][1] - score))
            else:
                wrong.append(f"    {search[0]} beams: {text}\n        {ids} {score:.6f}\n        "
                             + (f"{got[k][0]} {got[k][1]:.6f}" if k < len(got) and got[k] else "nothing"))
    lengths = " ".join("/".join(str(len(ids)) for ids, score in results) for text, results in found)
    failed = 2 * SENTENCES - passed
    print(f"{name:14}{str(dtype)[6:]:9} {'ok    ' if not failed else 'FAILED'}  {passed} of {2 * SENTENCES} searches, "
          f"lengths {lengths}, scores differ by {off:.0e}", *wrong, sep="\n" if wrong else "", flush=True)
    return passed, failed


def main():
    program = os.path.abspath(sys.argv[1])
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    path = vocabulary()
    tokenizer = T5Tokenizer(path, legacy=True, extra_ids=100)
    print(f"transformers {transformers.__version__}, torch {torch.__version__}, {os.path.basename(path)}; "
          f"lengths: greedy/4 beams")
    passed = failed = 0
    for seed, (name, (half, options)) in enumerate(SHAPES.items()):
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        for dtype in (torch.float32, half):
            with tempfile.TemporaryDirectory() as folder:
                p, f = check(program, name, seed, dtype, options, os.path.join(folder, name), tokenizer, path)
            passed += p
            failed += f
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
