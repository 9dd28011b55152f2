"""Writes sample.h beside itself: what the logits processors of transformers 4.57.6 make of logits that are a hash.

    python3 make_sample.py [CASES [SEED [FILE]]]        (transformers, torch, numpy)

The processors are those that generate() would use, in its order: _get_logits_processor of a model says so. Logits
follow from a seed and the token; test_sample.c computes the same, exactly. A case is stored only if top-p decides
clearly: sums that are compared with p are at least MARGIN away from it, and the last token kept is not as likely as the
first that is not."""
import os
import random
import sys

import numpy as np
import torch
import transformers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

MARGIN = 2e-5
PROBES = 6
here = os.path.dirname(os.path.abspath(__file__))


def mixed(z):
    """splitmix64's output function, of an array of uint64."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def hashed(seed, count, stream):
    """[count] numbers of 24 bits: test_sample.c has the same."""
    z = np.arange(count, dtype=np.uint64) + np.uint64(seed * 4 + stream) * np.uint64(1 << 32)
    return (mixed(z * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)).astype(np.int64)


def logits_of(case):
    """Multiples of width / steps in -width .. width: few steps make many ties."""
    units = hashed(case["seed"], case["vocab"], 0) % (2 * case["steps"] + 1) - case["steps"]
    return (units * case["width"] / case["steps"]).astype(np.float32)


def draw_case(rng, seed):
    vocab = rng.choice([1, 2, 7, 40, 40, 300, 300, 5000, 60000 if seed % 8 == 0 else 300])
    return {"seed": seed, "vocab": vocab, "width": rng.choice([1, 4, 8, 30]), "steps": rng.choice([4, 64, 4096, 4096]),
            "history": rng.choice([0, 0, 1, 5, 50]), "temperature": rng.choice([1, 1, 0.125, 0.5, 0.7, 1.3, 2, 10]),
            "top_k": rng.choice([0, 0, 1, 2, 5, 20, 50, 1000]), "top_p": rng.choice([1, 1, 0.95, 0.9, 0.5, 0.1, 0.01]),
            "penalty": rng.choice([1, 1, 1.1, 1.5, 0.8, 3])}


def process(model, case):
    config = GenerationConfig(do_sample=True, temperature=float(case["temperature"]), top_k=case["top_k"],
                              top_p=float(case["top_p"]), repetition_penalty=float(case["penalty"]))
    processors = model._get_logits_processor(config, input_ids_seq_length=max(case["history"], 1), device="cpu")
    ids = torch.from_numpy(hashed(case["seed"], case["history"], 1) % case["vocab"])[None]
    scores = torch.from_numpy(logits_of(case))[None]
    if case["history"] == 0:  # the penalty's processor gathers nothing
        processors = [p for p in processors if not isinstance(p, transformers.RepetitionPenaltyLogitsProcessor)]
    for processor in processors:
        before = scores
        scores = processor(ids, scores)
        if isinstance(processor, transformers.TopPLogitsWarper) and not clear(before[0], scores[0], case["top_p"]):
            return None
    return torch.softmax(scores[0].double(), 0).numpy()


def clear(before, after, p):
    order = torch.argsort(before, descending=True, stable=True)
    sums = torch.cumsum(torch.softmax(before.double(), 0)[order], 0).numpy()
    kept = int((after > -float("inf")).sum())
    ties = kept < len(order) and before[order[kept - 1]] == before[order[kept]]
    return not ties and np.abs(sums - p).min() > MARGIN


def make(count, seed):
    model = LlamaForCausalLM(LlamaConfig(vocab_size=8, hidden_size=8, intermediate_size=8, num_hidden_layers=1,
                                         num_attention_heads=1))
    rng, made, unclear = random.Random(seed), [], 0
    while len(made) < count:
        case = draw_case(rng, len(made) + unclear)
        p = process(model, case)
        if p is None:
            unclear += 1
            continue
        kept = np.nonzero(p)[0] if case["top_k"] or case["top_p"] < 1 else np.arange(case["vocab"])
        probes = rng.sample(list(kept), min(PROBES - 1, len(kept))) + [int(p.argmax())]
        made.append((case, len(kept), int(kept.sum()), [(int(i), p[i]) for i in probes]))
    print(f"{count} cases, {unclear} more not clear", file=sys.stderr)
    return made


def write(path, made):
    with open(path, "w") as out:
        out.write(f"/* Written by make_sample.py with transformers {transformers.__version__} and PyTorch "
                  f"{torch.__version__.split('+')[0]}, for test_sample.c. */\n/* clang-format off */\n\n"
                  "/* seed, vocab, steps, width, history; temperature, top_k, top_p, penalty, seed; how many tokens stay "
                  "and the sum of\n   their ids; the probabilities of some. */\n"
                  "static const sample_golden sample_goldens[] = {\n")
        rows = []
        for c, kept, total, probes in made:
            rows.append(f"    {{{c['seed']}, {c['vocab']}, {c['steps']}, {c['width']}, {c['history']}, "
                        f"{{{c['temperature']}, {c['top_k']}, {c['top_p']}, {c['penalty']}, 0}}, {kept}, {total}, "
                        f"{{{', '.join(f'{{{i}, {p:.9g}}}' for i, p in probes)}}}}}")
        out.write(",\n".join(rows) + "};\n")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    np.seterr(over="ignore")
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    write(arguments[2] if len(arguments) > 2 else os.path.join(here, "sample.h"),
          make(int(arguments[0]) if arguments else 300, int(arguments[1]) if len(arguments) > 1 else 1))
