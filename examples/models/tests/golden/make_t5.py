"""Writes t5/NAME/ beside itself: small T5 models of every kind with random weights, and what transformers makes of
them.

    nice python3 make_t5.py [NAME...]    all of them, or those named; minutes
    nice python3 make_t5.py changes      what has its own goldens of changed heads; seconds

It takes torch 2.13.0, transformers 4.57.6, sentencepiece and safetensors. Each directory is a model as the library
saves it: config.json, model.safetensors, and spiece.model, which is unigram.model. Of them

    t5_*      relu, tied head, heads x size == d_model
    v1_1_*    gated gelu, a head of its own, heads x size != d_model, more layers in the decoder than in the encoder
    flan_*    the same kind with one head, and with all that such a config.json says

and t5_bf16 is written as the first models were: a config.json without what has a default, and in the file the tied
matrix four times and a relative bias of the cross-attention, which nothing reads.

With transformers 5.24.0 it writes t5/v5/NAME.json, which is config.json of two of those as that library saves them, and
t5/v5/generation_config.json; and finds that it saves the same weights of all, and makes the same ids of them.

golden.safetensors has for text I = 0, 1, ... and search J = 0, 1, ... of it (count up until a name is missing)

    I.text          U8  [bytes]       the whole text, with its prefix; UTF-8
    I.source        I32 [S]           its ids, EOS included
    I.states        F32 [S, d_model]  what the encoder gives
    I.logits        F32 [N, V]        of two texts: the logits of the decoder's first N steps along the ids of I.0
    I.J.options     F32 [5]           beams, max_length, early_stopping (0 or 1), length_penalty, no_repeat_ngram_size
    I.J.ids         I32 [N]           what was generated: without the start token, with EOS if there is one
    I.J.score       F32 [1]           sum of log-probabilities / N^length_penalty
    I.J.output      U8  [bytes]       the text of the ids, without special tokens; UTF-8; may be empty

I.0 is greedy (one beam), I.1 has 2 beams, I.2 has 4; all with max_length 48, which counts the start token, early
stopping, and length penalty 1. What follows differs from I.2 in one option each, early_stopping, length_penalty,
no_repeat_ngram_size, or max_length.

changes.safetensors, of two of the models, has a batch of two texts with C changes of attention's heads (changed_heads)

    ids        I32 [2, L]                   the texts, with zeros past their lengths
    lens       I32 [2]
    tokens     I32 [2, N]                   what the decoder takes in, the start token first
    changes    U8  [C, 3, blocks, heads]    of the encoder, of the decoder, of cross-attention; in each as many blocks
                                            as the larger stack has; 1: zero, 2: uniform. The first are all 0
    states     F32 [C, 2, L, d_model]       zeros past the lengths
    logits     F32 [C, 2, N, V / 16]        each 16th logit, from that of id 0 on

There the oracle is model.float().forward() with zeros in the three head masks, and with a softmax that gives each key
that a query may see the same weight; one that gives none to a head makes the same of it as its mask.

Of golden.safetensors it is model.float().generate(do_sample=False) with the slow tokenizer. Ids are the same however
sums are rounded: every search is done once more from logits computed in f64, and what is compared in it - neighbours
among the best 2 x beams + 1 candidates, finished scores, the score that stops a search - differs by MARGIN at least. A
search that does not is left out, a text that so lacks one of the first three is replaced, and a model whose outputs
show too little gives way to the next seed."""
import contextlib
import json
import math
import os
import shutil
import sys
import tempfile

import numpy as np
import safetensors.torch
import torch
import transformers
from transformers import T5Config, T5ForConditionalGeneration, T5Tokenizer
from transformers.models.t5 import modeling_t5

HERE = os.path.dirname(os.path.abspath(__file__))
PIECES = 1000
VOCABULARY = 1104  # PIECES, 100 sentinels, and some that stand for nothing, as in published models
MAX_LENGTH = 48
MARGIN = 1e-4
LOGITS = 6  # steps of I.logits
CHANGED = ["t5_f32", "v1_1_f32"]  # with changes.safetensors
EVERY = 16  # of changes.safetensors: each how many-th logit
EOS = 1

# For each text what may stand in its place.
LONG = """translate English to French: Attention weights the values by how well their keys match the query; every query
attends to every key. You don't need to understand every word to translate a well-known sentence into English or
French or German. New York is not a small town, and its newspapers are read in many houses.""".replace("\n", " ")
TEXTS = [
    [f"translate English to French: The {a} is {b}." for a in ("house", "weather") for b in ("wonderful", "nice")],
    ["cat", "house", "translation", "Attention", "query"],
    [f"translate English to German: The <extra_id_0> is {a} today, and the <extra_id_1> has seen {b}."
     for a in ("nice", "small") for b in ("me", "them")],
    [f"{LONG}{a}" for a in ("", " The machines were slow.", " The cat has seen me.", " I have seen it.")],
    [f"The {a} of {b} were {c}." for a in ("machines", "newspapers") for b in ("1998", "1912")
     for c in ("slow", "read")],
]

# beams, max_length, early_stopping, length_penalty, no_repeat_ngram_size
FIRST = [(1, MAX_LENGTH, 1, 1.0, 0), (2, MAX_LENGTH, 1, 1.0, 0), (4, MAX_LENGTH, 1, 1.0, 0)]
VARIANTS = {
    "search on": (4, MAX_LENGTH, 0, 1.0, 0),
    "penalty 0.4": (4, MAX_LENGTH, 1, 0.4, 0),
    "penalty 2": (4, MAX_LENGTH, 1, 2.0, 0),
    "no 2-gram": (4, MAX_LENGTH, 1, 1.0, 2),
    "limit": (4, 6, 1, 1.0, 0),
}

RELU = dict(d_model=16, d_kv=4, num_heads=4, d_ff=40, num_layers=2, feed_forward_proj="relu")
GATED = dict(d_model=20, d_kv=8, num_heads=3, d_ff=28, num_layers=2, num_decoder_layers=3,
             feed_forward_proj="gated-gelu", tie_word_embeddings=False)
ONE_HEAD = dict(d_model=13, d_kv=11, num_heads=1, d_ff=31, num_layers=3, num_decoder_layers=2,
                feed_forward_proj="gated-gelu", tie_word_embeddings=False)
MODELS = {
    "t5_f32": (torch.float32, RELU),
    "t5_f16": (torch.float16, dict(RELU, layer_norm_epsilon=0.03)),
    "t5_bf16": (torch.bfloat16, RELU),
    "v1_1_f32": (torch.float32, dict(GATED, relative_attention_num_buckets=10, relative_attention_max_distance=20)),
    "v1_1_f16": (torch.float16, GATED),
    "v1_1_bf16": (torch.bfloat16, dict(GATED, relative_attention_num_buckets=27, relative_attention_max_distance=45)),
    "flan_bf16": (torch.bfloat16, ONE_HEAD),
}
STYLES = {"t5_bf16": "first", "flan_bf16": "gated"}  # of config.json
FULL = ["t5_f32"]  # every option changes something here, and some greedy search takes 25 steps


# ---- weights ----


def random_model(config, seed):
    """Weights of such sizes that attention has peaks, the relative bias is seen, and one token seldom follows itself:
    what the layers add outweighs the embedding, and no row of the embedding or the head is longer than another."""
    torch.manual_seed(seed)
    model = T5ForConditionalGeneration(config).eval()
    inner = config.num_heads * config.d_kv
    peak = (2.5 / math.sqrt(config.d_kv)) ** 0.5
    normal = {
        ".q.weight": peak / math.sqrt(config.d_model),
        ".k.weight": peak / math.sqrt(config.d_model),
        ".v.weight": 1 / math.sqrt(config.d_model),
        ".o.weight": 2 / math.sqrt(inner),
        ".wi.weight": 1 / math.sqrt(config.d_model),
        ".wi_0.weight": 1 / math.sqrt(config.d_model),
        ".wi_1.weight": 1 / math.sqrt(config.d_model),
        ".wo.weight": (2.5 if config.tie_word_embeddings else 1.7) / math.sqrt(config.d_ff),
        "relative_attention_bias.weight": 1.5,
        "shared.weight": 1,
        "lm_head.weight": 1 if config.tie_word_embeddings else 1 / math.sqrt(config.d_model),
    }
    with torch.no_grad():
        for name, x in model.named_parameters():
            scale = [s for end, s in normal.items() if name.endswith(end)]
            if scale:
                x.normal_(0, scale[0])
            else:
                assert "layer_norm" in name, name
                x.uniform_(0.7, 1.3)
        shared, head = model.shared.weight, model.lm_head.weight
        shared *= 0.3 * math.sqrt(config.d_model) / shared.norm(dim=1, keepdim=True)
        model.decoder.final_layer_norm.weight.uniform_(2, 4)
        if config.tie_word_embeddings:
            model.decoder.final_layer_norm.weight /= 0.3
        else:
            head /= head.norm(dim=1, keepdim=True)
        for block in model.decoder.block:
            block.layer[0].SelfAttention.o.weight *= 3 if config.tie_word_embeddings else 1.5
            block.layer[1].EncDecAttention.o.weight *= 0.7
            wo = block.layer[2].DenseReluDense.wo.weight
            wo -= wo.mean(1, keepdim=True)
    # The library's cache has as many layers as the encoder.
    model.generation_config.use_cache = config.num_decoder_layers <= config.num_layers
    return model


def greedy_states(model, sources, steps):
    """What the head sees of a greedy search that never ends: (texts x steps) x d_model."""
    seen = []
    handle = model.decoder.final_layer_norm.register_forward_hook(lambda module, args, out: seen.append(out[:, -1]))
    for source in sources:
        model.generate(torch.tensor([source]), max_length=steps + 1, do_sample=False, num_beams=1,
                       suppress_tokens=[EOS])
    handle.remove()
    x = torch.cat(seen)
    return x * model.config.d_model**-0.5 if model.config.tie_word_embeddings else x


def raise_eos(model, sources, below, pieces=PIECES):
    """Moves EOS towards the states that are there, until its logit is on average `below` under the largest. What
    stands for nothing is left no logit."""
    head = model.get_output_embeddings().weight
    with torch.no_grad():
        head[pieces + 100 :] = 0
        x = greedy_states(model, sources, 24)
        mean = x.mean(0)
        most = (x @ head.T).max(1)[0].mean()
        head[EOS] += mean * (most - below - mean @ head[EOS]) / (mean @ mean)


# ---- searches ----


@contextlib.contextmanager
def in_f64():
    """Within: a model in f64 leaves it nowhere, neither in its norms nor before a softmax."""

    def norm(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon))

    forward, to_float = modeling_t5.T5LayerNorm.forward, torch.Tensor.float
    modeling_t5.T5LayerNorm.forward = norm
    torch.Tensor.float = lambda self: self if self.is_floating_point() else to_float(self)
    try:
        yield
    finally:
        modeling_t5.T5LayerNorm.forward, torch.Tensor.float = forward, to_float


def generate(model, source, options):
    """Ids, score (of greedy none), logits of every step: beams x V, running beams from the best on."""
    beams, max_length, early, penalty, ngram = options
    out = model.generate(torch.tensor([source]), num_beams=beams, max_length=max_length, early_stopping=bool(early),
                         length_penalty=penalty, no_repeat_ngram_size=ngram, do_sample=False, output_logits=True,
                         output_scores=True, return_dict_in_generate=True)
    score = float(out.sequences_scores[0]) if beams > 1 else None
    return out.sequences[0, 1:].tolist(), score, [x.numpy().astype(np.float64) for x in out.logits]


class Margin:
    def __init__(self):
        self.least = math.inf

    def neighbours(self, scores):
        scores = sorted(s for s in scores if s > -1e8)
        for a, b in zip(scores, scores[1:]):
            self.least = min(self.least, b - a)


def log_probabilities(logits, prefix, ngram):
    """Of the next token; -infinity where it would repeat an n-gram of prefix, which begins with the start token."""
    x = logits - logits.max()
    x -= math.log(np.exp(x).sum())
    if ngram and len(prefix) + 1 >= ngram:
        grams = [tuple(prefix[i : i + ngram]) for i in range(len(prefix) - ngram + 1)]
        last = tuple(prefix[len(prefix) - ngram + 1 :])
        x[[g[-1] for g in grams if g[:-1] == last]] = -math.inf
    return x


def search(logits, options, eos=EOS):
    """The search again, from the logits that generate() met. Ids, score, the least margin."""
    beams, max_length, early, penalty, ngram = options
    margin = Margin()
    if beams == 1:
        ids, total = [], 0
        for step in logits:
            x = log_probabilities(step[0], [0] + ids, ngram)
            margin.neighbours(np.partition(x, -2)[-2:])
            ids.append(int(x.argmax()))
            total += x.max()
        return ids, total / len(ids) ** penalty, margin.least

    running, finished = [(0.0, [])] + [(-1e9, [])] * (beams - 1), []
    for length, step in enumerate(logits, 1):
        x = np.stack([total + log_probabilities(step[b], [0] + ids, ngram) for b, (total, ids) in enumerate(running)])
        size = x.shape[1]
        best = np.argsort(-x, axis=None)[: 2 * beams + 1]
        margin.neighbours(x.flat[best])
        best = [(float(x.flat[n]), running[n // size][1] + [int(n % size)]) for n in best[: 2 * beams]]
        ends = [ids[-1] == eos or length == max_length - 1 for total, ids in best]

        running = [b for b, end in zip(best, ends) if not end][:beams]
        finished += [(b[0] / length**penalty, b[1]) for b, end in zip(best[:beams], ends) if end]
        margin.neighbours(f[0] for f in finished)
        finished = sorted(finished, key=lambda f: -f[0])[:beams]
        if length == max_length - 1 or (early and len(finished) == beams):
            break
        if len(finished) == beams:
            hope, worst = running[0][0] / length**penalty, finished[-1][0]
            margin.least = min(margin.least, abs(hope - worst))
            if hope <= worst:
                break
    assert length == len(logits), "the search would have stopped elsewhere"
    return finished[0][1], finished[0][0], margin.least


# ---- one model ----


class Unfit(Exception):
    pass


def need(fine, why):
    if not fine:
        raise Unfit(why)


def run(model, source, options):
    """Ids and score of one search, or None where something in it is too close, or too much the same."""
    ids, score, logits = generate(model, source, options)
    again, total, margin = search(logits, options)
    if margin < MARGIN or (len(ids) >= 12 and len(set(ids)) < 5):
        return None
    assert ids == again and (score is None or abs(score - total) < 1e-4), (ids, again, score, total)
    return ids, total if score is None else score


def check(model, exact, source, options, ids, score, worst):
    """The same search in f64."""
    logits = generate(model, source, options)[2]
    with in_f64():
        ids_exact, score_exact, logits_exact = generate(exact, source, options)
    again, total, margin = search(logits_exact, options)
    need(margin >= MARGIN, "margin in f64")
    assert ids == ids_exact == again, (ids, ids_exact, again)
    assert abs(score - total) < 1e-4 and (score_exact is None or abs(score_exact - total) < 1e-4)
    worst["logits"] = max([worst["logits"]] + [np.abs(a - b).max() for a, b in zip(logits, logits_exact)])
    worst["score"] = max(worst["score"], abs(score - total))
    worst["margin"] = min(worst["margin"], margin)


def fit(lengths, full):
    """Whether greedy searches end where they show something."""
    return len(set(lengths)) >= 3 and sum(x >= 5 for x in lengths) >= 3 and (max(lengths) >= 25 or not full)


def attempt(model, tokenizer, full):
    """Tensors of golden.safetensors and a line about them, if the model shows enough."""
    texts, sources, results = [], [], []  # of each text: options -> ids, score
    for places in TEXTS:
        for text in places:
            source = tokenizer(text).input_ids
            found = {}
            for options in FIRST:
                golden = run(model, source, options)
                if not golden:
                    break
                found[options] = golden
            if len(found) == len(FIRST):
                break
        need(len(found) == len(FIRST), f"margins or variety of text {len(texts)}")
        texts.append(text)
        sources.append(source)
        results.append(found)
    assert len(sources[3]) > 60 and PIECES + 99 in sources[2] and len(sources[1]) < 5
    lengths = [len(r[FIRST[0]][0]) for r in results]
    need(fit(lengths, full), f"lengths {lengths}")
    for options in VARIANTS.values():
        for n in range(len(sources)):
            found = run(model, sources[n], options)
            if found:
                results[n][options] = found

    outputs = [ids for r in results for ids, score in r.values()]
    need(sum(len(set(ids)) >= 5 for ids in outputs) >= len(outputs) / 3, "few outputs with 5 distinct ids")
    need(len({len(r[FIRST[2]][0]) for r in results}) >= 3, "beams all of one length")
    need(all(max(ids) < PIECES + 100 for ids in outputs), "an id that stands for nothing")
    differ = {"4 beams": sum(r[FIRST[0]][0] != r[FIRST[2]][0] for r in results),
              "2 beams": sum(r[FIRST[1]][0] != r[FIRST[2]][0] for r in results)}
    for name, options in VARIANTS.items():
        differ[name] = sum(options in r and r[options][0] != r[FIRST[2]][0] for r in results)
    need(all(differ[x] for x in ("4 beams", "2 beams", "no 2-gram")), f"{differ}")
    need(differ["penalty 0.4"] or differ["penalty 2"], f"{differ}")
    need(differ["search on"] and differ["penalty 2"] or not full, f"{differ}")
    need(any(ids[-1] != EOS for ids in outputs), "no search that meets the limit")

    exact = T5ForConditionalGeneration(model.config).eval().double()
    exact.load_state_dict(model.state_dict())
    exact.generation_config = model.generation_config
    worst = {"logits": 0.0, "score": 0.0, "margin": math.inf, "states": 0.0}
    for source, found in zip(sources, results):
        for options, (ids, score) in found.items():
            check(model, exact, source, options, ids, score, worst)

    golden = {}
    short = sorted(range(len(sources)), key=lambda n: abs(len(results[n][FIRST[0]][0]) - LOGITS))[:2]
    for n, source in enumerate(sources):
        golden[f"{n}.text"] = torch.tensor(list(texts[n].encode()), dtype=torch.uint8)
        golden[f"{n}.source"] = torch.tensor(source, dtype=torch.int32)
        ids = results[n][FIRST[0]][0]
        batch = {"input_ids": torch.tensor([source]), "decoder_input_ids": torch.tensor([[0] + ids[:-1]])}
        with torch.no_grad():
            out = model(**batch)
            with in_f64():
                out_exact = exact(**batch)
        off = (out.encoder_last_hidden_state - out_exact.encoder_last_hidden_state).abs().max()
        worst["states"] = max(worst["states"], float(off))
        worst["logits"] = max(worst["logits"], float((out.logits - out_exact.logits).abs().max()))
        assert out.logits[0].argmax(1).tolist() == ids
        golden[f"{n}.states"] = out.encoder_last_hidden_state[0].contiguous()
        if n in short:
            golden[f"{n}.logits"] = out.logits[0, :LOGITS].contiguous()
        for k, (options, (ids, score)) in enumerate(results[n].items()):
            text = tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
            golden[f"{n}.{k}.options"] = torch.tensor(options, dtype=torch.float32)
            golden[f"{n}.{k}.ids"] = torch.tensor(ids, dtype=torch.int32)
            golden[f"{n}.{k}.score"] = torch.tensor([score], dtype=torch.float32)
            golden[f"{n}.{k}.output"] = torch.tensor(list(text.encode()), dtype=torch.uint8)

    # Texts of one batch do not see each other's padding.
    length = max(map(len, sources))
    padded = torch.tensor([s + [0] * (length - len(s)) for s in sources])
    for options in (FIRST[0], FIRST[2]):
        out = model.generate(padded, attention_mask=(padded != 0).long(), num_beams=options[0], do_sample=False,
                             max_length=MAX_LENGTH, early_stopping=True)
        for n, row in enumerate(out[:, 1:].tolist()):
            ids = results[n][options][0]
            assert row[: len(ids)] == ids and not set(row[len(ids) :]) - {0, EOS}, (row, ids)

    need(max(worst["logits"], worst["states"]) < MARGIN * 0.4, f"f32 {worst}")
    searches = "/".join(str(len(r)) for r in results)
    lines = ["lengths " + " ".join(f"{'/'.join(str(len(r[o][0])) for o in FIRST)}" for r in results),
             f"searches {searches}, which differ: " + ", ".join(f"{k} {v}" for k, v in differ.items()),
             f"f32 - f64: logits {worst['logits']:.1e}, states {worst['states']:.1e}, score {worst['score']:.1e}; "
             f"least margin {worst['margin']:.1e}"]
    return golden, lines


# ---- changed heads ----


def changed_heads(config):
    """C x 3 x blocks x heads: single heads, whole blocks, and mixtures."""
    stacks = (config.num_layers, config.num_decoder_layers, config.num_decoder_layers)
    blocks, heads = max(stacks), config.num_heads
    out = [np.zeros((3, blocks, heads), np.uint8)]

    def add(part, block, head, change):
        out.append(np.zeros_like(out[0]))
        out[-1][part, block, head] = change

    for part, count in enumerate(stacks):
        add(part, count - 1, part, 1)
        add(part, 0, slice(None), 1)
        add(part, count - 1, 0, 2)
        add(part, 0, slice(1, None), 2)
    random = np.random.default_rng(5)
    out += [random.integers(0, 3, out[0].shape, np.uint8) for n in range(2)]
    return np.stack(out)


@contextlib.contextmanager
def changed(model, changes, zeros):
    """Within: uniform heads, and with zeros those that are 1, have other weights of attention."""
    inside, handles, softmax = [], [], torch.nn.functional.softmax

    def with_changes(scores, dim):
        p = softmax(scores, dim=dim)
        seen = (scores > torch.finfo(torch.float32).min / 2).to(p)
        for head, change in enumerate(inside[-1]):
            if change == 2:
                p[:, head] = (seen / seen.sum(-1, keepdim=True))[:, head]
            if change == 1 and zeros:
                p[:, head] = 0
        return p

    def watch(module, of):
        handles.append(module.register_forward_pre_hook(lambda module, args: inside.append(of)))
        handles.append(module.register_forward_hook(lambda module, args, out: inside.pop() and None))

    for n, block in enumerate(model.encoder.block):
        watch(block.layer[0].SelfAttention, changes[0, n].tolist())
    for n, block in enumerate(model.decoder.block):
        watch(block.layer[0].SelfAttention, changes[1, n].tolist())
        watch(block.layer[1].EncDecAttention, changes[2, n].tolist())
    torch.nn.functional.softmax = with_changes
    try:
        yield
    finally:
        torch.nn.functional.softmax = softmax
        for handle in handles:
            handle.remove()


def run_changed(model, batch, changes, masks=True):
    """States and logits; zero heads by the library's masks, or by weights that are zeros."""
    mask = torch.tensor(changes != 1).to(model.dtype)
    config = model.config
    names = {"head_mask": mask[0, : config.num_layers], "decoder_head_mask": mask[1, : config.num_decoder_layers],
             "cross_attn_head_mask": mask[2, : config.num_decoder_layers]}
    with torch.no_grad(), changed(model, changes, not masks):
        out = model(**batch, **(names if masks else {}), use_cache=False)
    return out.encoder_last_hidden_state * batch["attention_mask"][..., None], out.logits


def make_changes(name):
    path = os.path.join(HERE, "t5", name)
    model = T5ForConditionalGeneration.from_pretrained(path, dtype=torch.float32).eval()
    exact = T5ForConditionalGeneration.from_pretrained(path, dtype=torch.float32).eval().double()
    texts = safetensors.torch.load_file(os.path.join(path, "golden.safetensors"))
    sources = [texts[f"{n}.source"].tolist() for n in (4, 1)]
    lens = [len(source) for source in sources]
    assert lens[0] > lens[1] > 1
    ids = torch.tensor([source + [0] * (max(lens) - len(source)) for source in sources])
    tokens = torch.randint(3, PIECES, (2, 5), generator=torch.Generator().manual_seed(7))
    tokens[:, 0] = 0
    batch = {"input_ids": ids, "decoder_input_ids": tokens, "attention_mask": (ids != 0).long()}
    every, results, off = changed_heads(model.config), [], 0
    for changes in every:
        states, logits = run_changed(model, batch, changes)
        again = run_changed(model, batch, changes, masks=False)
        assert torch.equal(states, again[0]) and torch.equal(logits, again[1])
        with in_f64():
            wanted = run_changed(exact, batch, changes)
        off = max([off] + [float((a - b).abs().max()) for a, b in zip((states, logits), wanted)])
        results.append((states, logits[..., ::EVERY].contiguous()))
    states, logits = (torch.stack(x) for x in zip(*results))
    apart = min(float((logits[a] - logits[b]).abs().amax((1, 2)).min())
                for a in range(len(every)) for b in range(a))  # of each text
    assert off < MARGIN * 0.4 and apart > 100 * MARGIN, (off, apart)
    golden = {"ids": ids.int(), "lens": torch.tensor(lens, dtype=torch.int32), "tokens": tokens.int(),
              "changes": torch.tensor(every), "states": states, "logits": logits}
    file = os.path.join(path, "changes.safetensors")
    safetensors.torch.save_file(golden, file)
    os.chmod(file, 0o644)
    print(f"{name}: {len(every)} changes, {os.path.getsize(file)} bytes; f32 - f64: {off:.1e}; apart: {apart:.1e}")


# ---- files ----


def first_config(config):
    """As the first models' files are: what has its default is not there."""
    task = {"early_stopping": True, "max_length": 300, "num_beams": 4}
    names = ("d_ff d_kv d_model dropout_rate initializer_factor is_encoder_decoder layer_norm_epsilon num_heads "
             "num_layers eos_token_id pad_token_id relative_attention_num_buckets vocab_size")
    return {"architectures": ["T5ForConditionalGeneration"], **{n: getattr(config, n) for n in names.split()},
            "decoder_start_token_id": 0, "model_type": "t5", "n_positions": 512, "output_past": True,
            "task_specific_params": {f"translation_en_to_{a}": dict(task, prefix=f"translate English to {b}: ")
                                     for a, b in (("de", "German"), ("fr", "French"), ("ro", "Romanian"))}}


def gated_config(config, dtype):
    """As the gated models' files are."""
    names = ("d_ff d_kv d_model dropout_rate eos_token_id feed_forward_proj initializer_factor is_encoder_decoder "
             "layer_norm_epsilon num_decoder_layers num_heads num_layers pad_token_id "
             "relative_attention_max_distance relative_attention_num_buckets tie_word_embeddings use_cache vocab_size")
    return {"architectures": ["T5ForConditionalGeneration"], **{n: getattr(config, n) for n in names.split()},
            "decoder_start_token_id": 0, "dense_act_fn": "gelu_new", "is_gated_act": True, "model_type": "t5",
            "n_positions": 512, "output_past": True, "torch_dtype": str(dtype).split(".")[1],
            "transformers_version": "4.23.1"}


def write_json(path, value):
    with open(path, "w") as file:
        json.dump(value, file, indent=2, sort_keys=True)
        file.write("\n")


def save(path, model, dtype, vocabulary=os.path.join(HERE, "unigram.model"), style=None):
    """The model's directory; model is in f32, its values in dtype. Styles: "first", "gated"; else as the library."""
    shutil.rmtree(path, ignore_errors=True)
    model.to(dtype).save_pretrained(path, safe_serialization=True)
    os.remove(os.path.join(path, "generation_config.json"))
    shutil.copy(vocabulary, os.path.join(path, "spiece.model"))
    if style == "first":
        write_json(os.path.join(path, "config.json"), first_config(model.config))
        file = os.path.join(path, "model.safetensors")
        tensors = safetensors.torch.load_file(file)
        for tied in ("encoder.embed_tokens", "decoder.embed_tokens", "lm_head"):
            tensors[tied + ".weight"] = tensors["shared.weight"].clone()
        stale = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
        tensors[stale] = torch.randn(model.config.relative_attention_num_buckets, model.config.num_heads).to(dtype)
        safetensors.torch.save_file(tensors, file, metadata={"format": "pt"})
    if style == "gated":
        write_json(os.path.join(path, "config.json"), gated_config(model.config, dtype))
    for file in os.listdir(path):
        os.chmod(os.path.join(path, file), 0o644)


def check_buckets(config):
    """The library takes logarithms in f32: none of its buckets may hang on how that is rounded."""
    for both in (True, False):
        count = config.relative_attention_num_buckets // (2 if both else 1)
        exact = count // 2
        for d in range(exact, 200):
            x = math.log(d / exact) / math.log(config.relative_attention_max_distance / exact) * (count - exact)
            want = min(count - 1, exact + int(x * (1 + 1e-12)))
            got = modeling_t5.T5Attention._relative_position_bucket(
                torch.tensor([-d]), both, config.relative_attention_num_buckets,
                config.relative_attention_max_distance)
            assert int(got) == want, (both, d, int(got), want)


def make(name, tokenizer):
    dtype, options = MODELS[name]
    config = T5Config(vocab_size=VOCABULARY, decoder_start_token_id=0, dropout_rate=0.1, **options)
    check_buckets(config)
    path = os.path.join(HERE, "t5", name)
    first = 1000 * sorted(MODELS).index(name)
    sources = [tokenizer(places[0]).input_ids for places in TEXTS]
    for seed in range(first, first + 1000):
        model = random_model(config, seed)
        below = 2.5
        for turn in range(4):
            raise_eos(model, sources, below)
            model.to(dtype).float()
            lengths = sorted(len(generate(model, source, FIRST[0])[0]) for source in sources)
            if fit(lengths, name in FULL):
                break
            below += 0.6 if lengths[2] < 5 else -0.4
        else:
            continue
        try:
            golden, lines = attempt(model, tokenizer, name in FULL)
        except Unfit as why:
            if "-v" in sys.argv:
                print(f"{name} {seed}: {why}", file=sys.stderr)
            continue
        save(path, model, dtype, style=STYLES.get(name))
        saved = T5ForConditionalGeneration.from_pretrained(path, dtype=torch.float32).eval()
        for key, x in saved.state_dict().items():
            assert torch.equal(x, model.float().state_dict()[key]), key
        safetensors.torch.save_file(golden, os.path.join(path, "golden.safetensors"))
        os.chmod(os.path.join(path, "golden.safetensors"), 0o644)
        size = sum(os.path.getsize(os.path.join(path, file)) for file in os.listdir(path))
        print(f"{name}: seed {seed}, {size} bytes\n" + "\n".join("    " + line for line in lines), flush=True)
        if name in CHANGED:
            make_changes(name)
        return
    sys.exit(f"{name}: no seed fits")


def make_v5(name):
    """The directory as transformers 5 saves it, whose weights and results must be those that are there."""
    path, new = os.path.join(HERE, "t5", name), os.path.join(HERE, "t5", "v5")
    golden = safetensors.torch.load_file(os.path.join(path, "golden.safetensors"))
    with tempfile.TemporaryDirectory() as folder:
        T5ForConditionalGeneration.from_pretrained(path).save_pretrained(folder)
        weights = [safetensors.torch.load_file(os.path.join(x, "model.safetensors")) for x in (path, folder)]
        assert all(torch.equal(weights[0][key], x) for key, x in weights[1].items())
        if name in ("t5_f16", "v1_1_bf16"):
            shutil.copy(os.path.join(folder, "config.json"), os.path.join(new, name + ".json"))
            shutil.copy(os.path.join(folder, "generation_config.json"), new)
        model = T5ForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
    model.generation_config.use_cache = False  # of 5.24 it lacks layers where the decoder has more than the encoder
    searches = [key[: -len(".options")] for key in golden if key.endswith(".options")]
    for key in searches:
        beams, length, early, penalty, ngram = golden[key + ".options"].tolist()
        source = golden[key.split(".")[0] + ".source"].tolist()
        ids, score, _ = generate(model, source, (int(beams), int(length), early, penalty, int(ngram)))
        assert ids == golden[key + ".ids"].tolist()
        assert score is None or abs(score - float(golden[key + ".score"])) < 1e-5
    print(f"{name}: {len(searches)} searches with the same ids")


def main():
    if transformers.__version__ == "5.24.0":
        transformers.logging.set_verbosity_error()
        os.makedirs(os.path.join(HERE, "t5", "v5"), exist_ok=True)
        for name in sys.argv[1:] or MODELS:
            make_v5(name)
        return
    assert torch.__version__.startswith("2.13.0") and transformers.__version__ == "4.57.6"
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    if sys.argv[1:] == ["changes"]:
        for name in CHANGED:
            make_changes(name)
        return
    tokenizer = T5Tokenizer(os.path.join(HERE, "unigram.model"), legacy=True, extra_ids=100)
    assert tokenizer.sp_model.get_piece_size() == PIECES
    print("Lengths are those of one, two, and four beams; each text's.")
    for name in [a for a in sys.argv[1:] if a != "-v"] or MODELS:
        make(name, tokenizer)
    files = [os.path.join(HERE, "t5", name, "golden.safetensors") for name in MODELS]
    if all(os.path.exists(file) for file in files):
        goldens = [safetensors.torch.load_file(file) for file in files]
        longest = max(len(x) for golden in goldens for name, x in golden.items() if name.endswith(".ids"))
        size = sum(os.path.getsize(os.path.join(folder, file)) for folder, _, files in os.walk(os.path.join(HERE, "t5"))
                   for file in files)
        print(f"longest output {longest}, {size} bytes")
        assert longest >= 40 and size < 1.9e6


if __name__ == "__main__":
    main()
