"""Writes beam.h beside itself: what generate() of transformers 4.57.6 finds with a model whose logits are a hash.

    python3 make_beam.py [CASES [SEED [FILE]]]        (transformers, torch, numpy)

The model has no weights: its logits are exact in f32 and follow from a seed, the last token, for some cases the one
before or the step, and the token that they are of; test_beam.c computes the same. A case is stored only if every
decision of the search is clear, that is, if the numbers compared are at least MARGIN apart, and if all of its
candidates are possible: a hypothesis that no-repeat rules leave without continuation scores -infinity, and the order
of several such is nobody's business."""
import os
import random
import sys

import numpy as np
import torch
import transformers
from transformers import GenerationConfig, GenerationMixin, PretrainedConfig, PreTrainedModel

MARGIN = 1e-4
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
TWO_TOKENS, STEP = 1, 2  # kinds: what else logits depend on
here = os.path.dirname(os.path.abspath(__file__))

# ---- the model ----

MASK = (1 << 64) - 1


def mixed(z):
    """splitmix64's output function, of an array of uint64."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def logits_after(case, tokens):
    """f32 [vocab_size]: test_beam.c has the same."""
    kind = case["kind"]
    before = tokens[-2] if kind & TWO_TOKENS and len(tokens) > 1 else 63
    state = ((case["seed"] * 1024 + (len(tokens) if kind & STEP else 0)) * 64 + before) * 64 + tokens[-1]
    first = (state * 64) & MASK
    z = mixed((np.arange(case["vocab"], dtype=np.uint64) + np.uint64(first)) * np.uint64(0x9E3779B97F4A7C15))
    units = (z >> np.uint64(40)).astype(np.int64) % 8193 - 4096
    logits = units * case["width"] / 4096
    logits[case["eos"]] += case["lift"] / 4
    return logits.astype(np.float32)


class Config(PretrainedConfig):
    model_type = "hash"

    def __init__(self, vocab_size=5, **rest):
        super().__init__(**rest)
        self.vocab_size = vocab_size


class Model(PreTrainedModel, GenerationMixin):
    config_class = Config
    main_input_name = "input_ids"

    def __init__(self, cases):
        super().__init__(Config(vocab_size=cases[0]["vocab"]))
        self.nothing = torch.nn.Parameter(torch.zeros(1))
        self.cases = cases
        self.hopes = []

    def prepare_inputs_for_generation(self, input_ids, item=None, **kwargs):
        return {"input_ids": input_ids, "item": item}

    def forward(self, input_ids, item=None, attention_mask=None, **kwargs):
        rows = [logits_after(self.cases[i], row) for i, row in zip(item.tolist(), input_ids.tolist())]
        logits = torch.from_numpy(np.stack(rows))[:, None, :]
        return transformers.modeling_outputs.CausalLMOutput(logits=logits)

    def _check_early_stop_heuristic(self, **named):
        """Notes how far the hope of the running is from the worst of the finished."""
        if bool(named["is_sent_finished"].all()) and float(named["running_beam_scores"][0, 0]) > -1e8:
            length = named["cur_len"] - named["decoder_prompt_len"]
            hope = float(named["running_beam_scores"][0, 0]) / length ** named["length_penalty"]
            worst = float(named["beam_scores"].min())
            self.hopes.append(abs(hope - worst) / min(1, abs(worst)))
        return GenerationMixin._check_early_stop_heuristic(**named)


# ---- one search, or several that are one batch ----


def generate(cases):
    """What transformers finds: for each case the finished hypotheses as (ids, score), and the smallest margin of all
    decisions, -1 if some candidate was impossible."""
    case, margins = cases[0], []
    beams = case["beams"]
    config = GenerationConfig(
        num_beams=beams, num_return_sequences=beams, do_sample=False, use_cache=False,
        no_repeat_ngram_size=case["ngram"], min_length=case["least"], eos_token_id=case["eos"],
        pad_token_id=(case["eos"] + 1) % case["vocab"],
        return_dict_in_generate=True, output_scores=True, output_logits=True)
    if beams > 1:
        config.length_penalty, config.early_stopping = case["penalty"], bool(case["early"])
    topk = torch.topk

    def noting(input, k, **rest):
        values = topk(input[0], k=min(k + 1, input.shape[-1]))[0].double()
        sums = k == 2 * beams
        if sums and float(values[k - 1]) < -1e8:
            margins.append(-1.0)
        values = values[values > -1e8]
        if len(values) > 1:
            gaps = values[:-1] - values[1:]
            margins.append(float((gaps if sums else gaps / values[1:].abs().clamp(max=1)).min()))
        return topk(input, k=k, **rest)

    model = Model(cases)
    start = torch.tensor([[c["start"]] for c in cases])
    torch.topk = noting
    try:
        out = model.generate(start, generation_config=config, max_length=case["max_length"],
                             item=torch.arange(len(cases)), attention_mask=torch.ones_like(start))
    finally:
        torch.topk = topk
    margins += model.hopes
    found = []
    for i, c in enumerate(cases):
        hypotheses = []
        for j in range(i * beams, (i + 1) * beams):
            ids = out.sequences[j].tolist()[1:]
            ids = ids[:ids.index(c["eos"]) + 1] if c["eos"] in ids else ids
            if beams > 1:
                score = float(out.sequences_scores[j])
                if score < -1e8:  # no hypothesis: what stands where one would be
                    continue
            else:
                score = 0.0
                for t, token in enumerate(ids):
                    score += float(torch.log_softmax(out.logits[t][i], -1)[token])
                    best = topk(out.scores[t][i], k=2)[0].tolist()
                    margins.append(best[0] - best[1] if best[0] > -1e8 else -1.0)
                score /= len(ids) ** c["penalty"]
            hypotheses.append((ids, score))
        found.append(hypotheses)
    return found, min(margins, default=1.0)


# ---- cases ----


def draw(r):
    beams = r.choice([1, 2, 2, 3, 4, 4, 8])
    vocab = r.choice([2 * beams, 2 * beams + 1, 5, 9, 16, 23, 40])
    vocab = max(vocab, 2 * beams, 5)
    max_length = r.choice([2, 3, 5, r.randint(4, 20), r.randint(4, 20), r.randint(20, 60)])
    start = r.choice([0, 0, r.randrange(vocab)])
    return {
        "seed": r.randrange(1 << 20), "vocab": vocab, "beams": beams, "max_length": max_length,
        "penalty": r.choice([-1, 0, 0.4, 1, 1, 2]), "early": r.randrange(2), "ngram": r.choice([0, 0, 1, 2, 2, 3]),
        "start": start, "eos": r.choice([1, r.randrange(vocab)]), "kind": r.randrange(4),
        "width": r.choice([1, 2, 4, 4, 8, 12]), "lift": r.choice([-16, -8, -4, 0, 0, 4, 8]),
        "least": r.choice([0, 0, 0, 2, r.randint(1, max_length)])}


def makes_a_difference(case, found, name, value):
    return generate([dict(case, **{name: value})])[0] != found


def make(count, seed):
    r = random.Random(seed)
    cases, drawn, batches, long = [], 0, 0, 0
    while len(cases) < count:
        case = draw(r)
        if len(cases) % 40 == 7:  # longer than any row of tokens was at first
            case.update(max_length=[70, 140][long % 2], lift=-40, width=12, vocab=40, ngram=long % 3)
        drawn += 1
        found, margin = generate([case])
        if margin < MARGIN:
            continue
        long += case["max_length"] > 60
        if len(cases) % 6 == 3:  # again, among others
            batch = [case] + [dict(case, seed=case["seed"] + i, start=(case["start"] + i) % case["vocab"],
                                   lift=case["lift"] - 2 * i) for i in (1, 2)]
            together = generate(batch)[0]
            for c, one in zip(batch, together):
                alone, apart = generate([c])
                if apart >= MARGIN:
                    same = [ids for ids, _ in alone[0]] == [ids for ids, _ in one]
                    assert same and np.allclose([s for _, s in alone[0]], [s for _, s in one], 1e-5, 1e-5), c
                    cases.append((c, alone[0]))
            batches += 1
        else:
            cases.append((case, found[0]))
    print(f"{len(cases)} cases of {drawn} drawn, {batches} batches", file=sys.stderr)
    return cases


def write(file, cases):
    rows, hypotheses = [], []
    for i, (c, found) in enumerate(cases):
        stored = len(found) if i % 3 == 0 and c["max_length"] <= 60 else min(1, len(found))
        rows.append(f"    {{{c['seed']}, {c['vocab']}, {c['kind']}, {c['width']}, {c['lift']}, {{{c['beams']}, "
                    f"{c['max_length']}, {c['penalty']}, {c['early']}, {c['ngram']}, {c['start']}, {c['eos']}, "
                    f"{c['least']}}}, {len(found)}, {stored}}},")
        for ids, score in found[:stored]:
            hypotheses.append(f"    {{{score:.9g}, \"{''.join(DIGITS[t] for t in ids)}\"}},")
    with open(file, "w") as out:
        out.write(f"/* Written by make_beam.py with transformers {transformers.__version__} and PyTorch "
                  f"{torch.__version__.split('+')[0]}, for test_beam.c. */\n/* clang-format off */\n\n"
                  "/* The model: seed, size of the vocabulary, kind, width, lift. The options. How many hypotheses are\n"
                  "   finished, and of how many of these beam_goldens_found has score and ids. */\n")
        out.write("static const beam_golden beam_goldens[] = {\n" + "\n".join(rows)[:-1] + "};\n")
        out.write("static const beam_golden_found beam_goldens_found[] = {\n" + "\n".join(hypotheses)[:-1] + "};\n")


def count_differences(cases):
    """How many of some cases an option changes: those must not be none."""
    for name, value in (("early", None), ("penalty", 1), ("ngram", 0), ("least", 0), ("beams", 1)):
        several = [(c, f) for c, f in cases if c["beams"] > 1][:80]
        changed = sum(makes_a_difference(c, [f], name, 1 - c["early"] if value is None else value) for c, f in several)
        print(f"{name}: {changed} of {len(several)} would differ", file=sys.stderr)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    np.seterr(over="ignore")
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    made = make(int(arguments[0]) if arguments else 420, int(arguments[1]) if len(arguments) > 1 else 1)
    write(arguments[2] if len(arguments) > 2 else os.path.join(here, "beam.h"), made)
    if len(arguments) < 3:
        count_differences(made)
