"""Compares bpe.c with the `tokenizers` library: the ids of hostile lines, and the text that they give back.

    python3 check_bpe.py TOKENIZE [DIRECTORY] [--lines N]

TOKENIZE is build/tokenize. For each kind of tokenizer of golden/make_bpe.py one of some thousand tokens is trained, and
20,000 lines are encoded, once with their special tokens as text and once as tokens. DIRECTORY has vocabularies of
llama.cpp, models/ggml-vocab-*.gguf: a tokenizer.json is made of each whose pre-tokenizer is known here, and judged by
the same lines and by the .inp and .out beside it. It takes tokenizers 0.22, and gguf for DIRECTORY."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "golden")]
import hostile  # noqa: E402
import make_bpe as make  # noqa: E402

SEPARATOR = "\n__ggml_vocab_test__\n"

# ---- what TOKENIZE says ----


def blocks(output):
    """The ids and the decoded text of each text that TOKENIZE has shown."""
    found, block = [], None
    for line in output.split(b"\n"):
        if line.startswith(b"text  ") or line == b"text":
            block = [[], None]
            found.append(block)
        elif line.startswith(b"decoded"):
            block[1] = line[12:]
        elif line[:8].strip().isdigit():
            block[0].append(int(line[:8]))
    return found


def tokenized(program, path, lines, special):
    command = [program, "--escapes", *(["--special"] if special else []), path]
    text = "".join(line.replace("\\", "\\\\").replace("\n", "\\n") + "\n" for line in lines)
    shown = blocks(subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, check=True).stdout)
    assert len(shown) == len(lines), (len(shown), len(lines))
    return shown


def escaped(text):
    """As TOKENIZE prints text: \\xNN for each byte of a control character."""
    out = bytearray()
    for c in text:
        strange = ord(c) < 32 or 127 <= ord(c) < 160
        out += b"".join(b"\\x%02x" % b for b in c.encode()) if strange else c.encode()
    return bytes(out)


# ---- judging ----


def compare(name, program, path, lines):
    """The number of lines that differ."""
    oracle = make.Oracle(open(path, encoding="utf-8").read())
    failed = 0
    for special in (False, True):
        begun = time.time()
        got = tokenized(program, path, lines, special)
        taken = time.time() - begun
        wrong = []
        for line, (ids, decoded) in zip(lines, got):
            want = oracle.ids(line, special)
            if ids != want or decoded != escaped(oracle.decode(want).decode()):
                wrong.append((line, ids, want))
        print("%s %-22s %s: %d lines, %d differ (%.1f s)" % ("FAIL" if wrong else "ok  ", name,
              "special tokens" if special else "plain text    ", len(lines), len(wrong), taken), flush=True)
        for line, ids, want in wrong[:3]:
            print("    %s\n    got  %s\n    want %s" % (ascii(line[:200]), ids[:40], want[:40]))
        failed += len(wrong)
    return failed


def compare_published(name, program, path, vocabulary):
    """The same with what llama.cpp has beside a vocabulary: texts, and a line of ids for each."""
    if not os.path.exists(vocabulary + ".inp"):
        print("     %-22s has no .inp and .out" % name)
        return 0
    texts = open(vocabulary + ".inp", encoding="utf-8", newline="").read().split(SEPARATOR)
    wants = [[int(i) for i in line.split()] for line in open(vocabulary + ".out", encoding="utf-8")]
    texts = [t for t, _ in zip(texts, wants)]
    got = tokenized(program, path, texts, True)
    wrong = [(t, ids, want) for t, (ids, _), want in zip(texts, got, wants) if ids != want]
    oracle = make.Oracle(open(path, encoding="utf-8").read())
    theirs = sum(oracle.ids(t, True) != want for t, want in zip(texts, wants))
    print("%s %-22s .inp and .out: %d texts, %d differ; the library differs in %d" % (
        "FAIL" if len(wrong) > theirs else "ok  ", name, len(texts), len(wrong), theirs))
    for text, ids, want in wrong[:2]:
        print("    %s\n    got  %s\n    want %s" % (ascii(text[:200]), ids[:40], want[:40]))
    return len(wrong) if len(wrong) > theirs else 0


# ---- llama.cpp's vocabularies ----

DIGITS = make.steps({"type": "Digits", "individual_digits": True}, make.byte_level(True))
BYTE_LEVEL = {"gpt-2": make.byte_level(True), "mpt": make.byte_level(True), "gpt-neox": make.byte_level(True),
              "starcoder": DIGITS, "refact": DIGITS, "command-r": DIGITS,
              **{name: make.KINDS[kind]["pre_tokenizer"] for name, kind in [
                  ("llama-bpe", "llama3"), ("qwen2", "qwen2"), ("qwen35", "qwen35"), ("deepseek-coder", "deepseek_coder")]}}
NFC = ("qwen2", "gpt-neox", "mpt")
UNKNOWN, CONTROL, USER_DEFINED = 2, 3, 4


def merges_of(tokens, scores):
    """The merges of a SentencePiece model: both sides of each piece, the best score first."""
    score = dict(zip(tokens, scores))
    ids = {t: i for i, t in enumerate(tokens)}
    merges = []
    for whole in ids:
        sides = [(whole[:i], whole[i:]) for i in range(1, len(whole)) if whole[:i] in ids and whole[i:] in ids]
        merges += [(score[whole], *m) for m in sorted(sides, key=lambda m: (ids[m[0]], ids[m[1]]))]
    merges.sort(key=lambda m: (m[0], len(m[1]), len(m[2])), reverse=True)
    return [[a, b] for _, a, b in merges]


def published(path, name):
    """A tokenizer.json of a vocabulary of llama.cpp, or None."""
    from gguf import GGUFReader
    fields = GGUFReader(path).fields
    member = {k.split(".")[-1]: f for k, f in fields.items() if k.startswith("tokenizer.ggml.")}
    model, tokens, types = (member[k].contents() for k in ("model", "tokens", "token_type"))
    parts = {"normalizer": None, "post_processor": None, "model": {}}
    if model == "gpt2" and name in BYTE_LEVEL:
        merges = [m.split(" ") for m in member["merges"].contents()]
        parts.update(pre_tokenizer=BYTE_LEVEL[name], decoder=make.BYTES)
        parts["model"]["ignore_merges"] = name == "llama-bpe"
        if name in NFC:
            parts["normalizer"] = {"type": "NFC"}
    elif model == "llama":
        merges = merges_of(tokens, member["scores"].contents())
        parts.update({k: make.KINDS["llama2"][k] for k in ("pre_tokenizer", "decoder", "normalizer")})
        parts["model"] = {"unk_token": tokens[0], "fuse_unk": True, "byte_fallback": True}
    elif model == "gemma4":
        merges = [m.split(" ") for m in member["merges"].contents()]
        parts.update({k: make.KINDS["gemma"][k] for k in ("pre_tokenizer", "decoder", "normalizer")})
        parts["model"] = {"unk_token": tokens[member["unknown_token_id"].contents()], "fuse_unk": True,
                          "byte_fallback": True}
    else:
        return None
    added = [{"id": i, **make.added(t, kind != USER_DEFINED)} for i, (t, kind) in enumerate(zip(tokens, types))
             if kind in (CONTROL, USER_DEFINED) or (kind == UNKNOWN and len(parts["model"]) > 1)]
    vocabulary = {t: i for i, t in enumerate(tokens)}
    inside = [m for m in merges if m[0] in vocabulary and m[1] in vocabulary and m[0] + m[1] in vocabulary]
    parts["model"] = {"type": "BPE", "vocab": vocabulary, "merges": inside, **parts["model"]}
    return {"version": "1.0", "added_tokens": added, **parts}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("directory", nargs="?")
    parser.add_argument("--lines", type=int, default=20000)
    parser.add_argument("--only", help="the kinds whose name has this in it")
    options = parser.parse_args()
    lines = list(hostile.lines(options.lines, 2026, True))
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        for name, parts in make.KINDS.items():
            if options.only and options.only not in name:
                continue
            path = os.path.join(work, name + ".json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump(make.train(parts, 4000), f, ensure_ascii=False)
            failed += compare(name, options.program, path, lines)
        for file in sorted(os.listdir(options.directory)) if options.directory else []:
            name = file[len("ggml-vocab-"):-len(".gguf")]
            if not file.startswith("ggml-vocab-") or not file.endswith(".gguf") or (options.only and options.only not in name):
                continue
            vocabulary, path = os.path.join(options.directory, file), os.path.join(work, name + ".json")
            content = published(vocabulary, name)
            if content is None:
                print("     %-22s is of no kind that is known here" % name)
                continue
            with open(path, "w", encoding="utf-8") as f:
                json.dump(content, f, ensure_ascii=False)
            failed += compare_published(name, options.program, path, vocabulary)
            failed += compare(name, options.program, path, lines)
    print("%d lines differ" % failed if failed else "No line differs.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
