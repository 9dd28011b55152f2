"""Trains the model in ../model: a T5 of 0.7 million weights that translates the English of grammar.py into French.

    python3 train.py [DIRECTORY]    writes config.json, model.safetensors and spiece.model there; minutes

It takes torch 2.13.0, transformers 4.57.6, sentencepiece and safetensors. held_out.tsv is not learnt: `make train` runs
this, and scores what it wrote. Weights start from a seed, so that they come out alike where sums are rounded alike, and
as good elsewhere."""
import io
import math
import os
import random
import re
import sys
import tempfile
import time

import sentencepiece
import torch
from sentencepiece import sentencepiece_model_pb2
from transformers import T5Config, T5ForConditionalGeneration

import grammar

HERE = os.path.dirname(os.path.abspath(__file__))
SEED = 2017
PREFIX = "translate English to French: "
PIECES = 900
MODEL = dict(d_model=96, d_kv=24, num_heads=4, d_ff=224, num_layers=3, feed_forward_proj="relu", dropout_rate=0.0)
STEPS = 6000
BATCH = 64  # sentences
RATE, WARMUP = 2e-3, 300  # of learning: up to it in WARMUP steps, then a cosine down to 0

PAD, EOS = 0, 1


# ---- the vocabulary ----


def rules():
    """What is rewritten before a text is cut, a line each of code points, a tab, code points: accents become part of
    their letters, other apostrophes ', other spaces and ends of lines a space."""
    composed = {0x300: ("aeu", "àèù"), 0x301: ("e", "é"), 0x302: ("aeiou", "âêîôû"), 0x308: ("eiu", "ëïü"),
                0x327: ("c", "ç")}
    lines = []
    for accent, (letters, wholes) in composed.items():
        for letter, whole in zip(letters + letters.upper(), wholes + wholes.upper()):
            lines.append(f"{ord(letter):x} {accent:x}\t{ord(whole):x}")
    lines += [f"{c:x}\t27" for c in (0x60, 0xB4, 0x2018, 0x2019, 0x2BC, 0x2032)]
    lines += [f"{c:x}\t20" for c in (0x9, 0xA, 0xD, 0xA0, 0x2009, 0x200A, 0x202F, 0x3000)]
    return "".join(line + "\n" for line in lines)


def make_vocabulary(corpus):
    """Unigram pieces of both languages, with the ids of T5: 0 is <pad>, 1 </s>, 2 <unk>. Returns the model's bytes."""
    sentences = [PREFIX + e for e, _ in corpus] + [f for _, f in corpus]
    # The trainer considers what it finds in two different words: here that makes every word a piece it considers.
    sentences += sorted({word + mark for s in sentences for word in re.findall(r"\w+", s) for mark in ".,"})
    trained = io.BytesIO()
    with tempfile.TemporaryDirectory() as directory:
        table = os.path.join(directory, "rules.tsv")
        with open(table, "w", encoding="utf-8") as file:
            file.write(rules())
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences), model_writer=trained, model_type="unigram", vocab_size=PIECES,
            character_coverage=1.0, pad_id=PAD, eos_id=EOS, unk_id=2, bos_id=-1, normalization_rule_tsv=table,
            num_threads=1, minloglevel=2)
    model = sentencepiece_model_pb2.ModelProto.FromString(trained.getvalue())
    model.normalizer_spec.ClearField("normalization_rule_tsv")  # a path of this machine
    return model.SerializeToString()


# ---- training ----


def batches(examples, chance):
    """Endless batches of sentences of like length: source, its mask, labels (-100 where there is none)."""
    while True:
        order = sorted(examples, key=lambda x: len(x[0]) + len(x[1]) + 4 * chance.random())
        groups = [order[i : i + BATCH] for i in range(0, len(order), BATCH)]
        chance.shuffle(groups)
        for group in groups:
            sources = [torch.tensor(s) for s, _ in group]
            targets = [torch.tensor(t) for _, t in group]
            source = torch.nn.utils.rnn.pad_sequence(sources, batch_first=True, padding_value=PAD)
            labels = torch.nn.utils.rnn.pad_sequence(targets, batch_first=True, padding_value=-100)
            yield source, (source != PAD).long(), labels


def rate(step):
    if step < WARMUP:
        return (step + 1) / WARMUP
    return 0.5 + 0.5 * math.cos(math.pi * (step - WARMUP) / (STEPS - WARMUP))


def train(model, examples):
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    start, total = time.time(), 0.0
    model.train()
    for step, (source, mask, labels) in enumerate(batches(examples, random.Random(SEED)), 1):
        logits = model(input_ids=source, attention_mask=mask, labels=labels).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        total += loss.item()
        if step % 200 == 0:
            print(f"step {step} of {STEPS}: loss {total / 200:.4f}, {time.time() - start:.0f} s", flush=True)
            total = 0.0
        if step == STEPS:
            break
    model.eval()


def save(model, spiece, directory):
    """Moves the three files there once all are whole."""
    with tempfile.TemporaryDirectory(dir=directory) as work:
        model.to(torch.bfloat16).save_pretrained(work)
        with open(os.path.join(work, "spiece.model"), "wb") as file:
            file.write(spiece)
        for name in ("config.json", "model.safetensors", "spiece.model"):
            os.chmod(os.path.join(work, name), 0o644)
            os.replace(os.path.join(work, name), os.path.join(directory, name))


def main():
    if len(sys.argv) > 2 or any(argument.startswith("-") for argument in sys.argv[1:]):
        sys.exit(__doc__)
    directory = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(HERE), "model")
    os.makedirs(directory, exist_ok=True)
    torch.manual_seed(SEED)
    corpus = list(grammar.corpus(grammar.SENTENCES))
    spiece = make_vocabulary(corpus)
    vocabulary = sentencepiece.SentencePieceProcessor(model_proto=spiece)
    examples = [(vocabulary.encode(PREFIX + e) + [EOS], vocabulary.encode(f) + [EOS]) for e, f in corpus]
    model = T5ForConditionalGeneration(T5Config(vocab_size=vocabulary.get_piece_size(), decoder_start_token_id=PAD,
                                                pad_token_id=PAD, eos_token_id=EOS, **MODEL))
    print(f"{len(examples)} sentences, {sum(p.numel() for p in model.parameters())} weights")
    train(model, examples)
    save(model, spiece, directory)
    print(sum(os.path.getsize(os.path.join(directory, f)) for f in os.listdir(directory)), "bytes in", directory)


if __name__ == "__main__":
    main()
