"""Trains the tokenizers of bpe/, and writes what the `tokenizers` library makes of lines with each.

    python3 make_bpe.py                      writes bpe/KIND.json, bpe/golden.json
    python3 make_bpe.py --ids KIND LINE      prints a line of golden.json and its ids: plain, and with special tokens

It takes tokenizers 0.22. The corpus and the lines are those of ../hostile.py. golden.json has the lines; for each kind a
number for each line, for each pattern one for each ten lines: the 32-bit FNV-1a of numbers as 4 bytes, the lowest first.
Of a line and a kind these are the count of the ids and the ids, without special tokens and then with them, and the size
and the bytes of the text that the latter decode to; of a line and a pattern the bytes at which its pieces end."""
import base64
import json
import os
import sys

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import hostile  # noqa: E402

SPACE = "\u2581"
CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
BEFORE = r"[^\r\n\p{L}\p{N}]?"
CASED_1 = BEFORE + r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
CASED_2 = BEFORE + r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
SPACES = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
SIGNS = r"| ?[^\s\p{L}\p{N}]+[\r\n]*"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = CONTRACTIONS + "|" + BEFORE + r"\p{L}+|\p{N}{1,3}" + SIGNS + SPACES
QWEN2 = CONTRACTIONS + "|" + BEFORE + r"\p{L}+|\p{N}" + SIGNS + SPACES
MINICPM5 = CONTRACTIONS + "|" + BEFORE + r"\p{L}+|\p{N}+" + SIGNS + SPACES
QWEN35 = CONTRACTIONS + "|" + BEFORE + r"[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*" + SPACES
O200K = (CASED_1 + CONTRACTIONS + "?|" + CASED_2 + CONTRACTIONS + r"?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + SPACES)
TEKKEN = CASED_1 + "|" + CASED_2 + r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + SPACES
DEEPSEEK3 = ("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
             "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+")
CJK_2023, CJK_2024 = "[一-龥ࠀ-一가-퟿]+", "[一-龥぀-ゟ゠-ヿ]+"
NUMBERS = [r"\p{N}", r"\p{N}{1,3}", r"\p{N}+"]
CODER = ["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", CJK_2023]
PATTERNS = [GPT2, LLAMA3, QWEN2, MINICPM5, QWEN35, O200K, TEKKEN, DEEPSEEK3, CJK_2024, *CODER, *NUMBERS, " "]

# ---- the parts of tokenizer.json ----


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def byte_level(use_regex=False, prefix=False):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": use_regex}


def sequence(name, *parts):
    return {"type": "Sequence", name: list(parts)}


def steps(*parts):
    return sequence("pretokenizers", *parts)


def replace(source, target):
    return {"type": "Replace", "pattern": {"String": source}, "content": target}


def metaspace(scheme, splits):
    return {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": splits}


def added(content, special=True, **flags):
    return {"content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": special, **flags}


def template(before, after=()):
    return {"type": "TemplateProcessing",
            "single": [*({"SpecialToken": {"id": t, "type_id": 0}} for t in before), {"Sequence": {"id": "A", "type_id": 0}},
                       *({"SpecialToken": {"id": t, "type_id": 0}} for t in after)],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": [*before, *after]}


PIECES = sequence("decoders", replace(SPACE, " "), {"type": "ByteFallback"}, {"type": "Fuse"},
                  {"type": "Strip", "content": " ", "start": 1, "stop": 0})
GEMMA_PIECES = sequence("decoders", replace(SPACE, " "), {"type": "ByteFallback"}, {"type": "Fuse"})
BYTES = byte_level()
LLAMA3_ADDED = [added(t) for t in ["<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>",
                                   "<|reserved_special_token_3|>"]]
CHAT = [added(t) for t in ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]]
PIECES_ADDED = [added(t) for t in ["<unk>", "<s>", "</s>"]]


def kind(pre_tokenizer, tokens, decoder=BYTES, normalizer=None, post=None, pairs=True, **model):
    return {"pre_tokenizer": pre_tokenizer, "added": tokens, "decoder": decoder, "normalizer": normalizer, "post": post,
            "pairs": pairs, "model": model}


# As published, but for the vocabulary; `odd` has what no published one has all of.
KINDS = {
    "gpt2": kind(byte_level(True), CHAT[:1], post=byte_level(True), pairs=False),
    "llama3": kind(steps(split(LLAMA3), byte_level()), LLAMA3_ADDED, ignore_merges=True, pairs=False,
                   post=sequence("processors", byte_level(True), template(["<|begin_of_text|>"]))),
    "qwen2": kind(steps(split(QWEN2), byte_level()), CHAT + [added(t, False) for t in ["<think>", "</think>", "<tool_call>"]],
                  normalizer={"type": "NFC"}, post=byte_level()),
    "qwen35": kind(steps(split(QWEN35), byte_level()), CHAT, normalizer={"type": "NFC"}, post=byte_level()),
    "smollm": kind(steps({"type": "Digits", "individual_digits": True}, byte_level(True)), CHAT),
    "gpt_oss": kind(steps(split(O200K, "Removed", True), byte_level()), CHAT[:1], ignore_merges=True),
    "mistral_nemo": kind(steps(split(TEKKEN), byte_level()), PIECES_ADDED + [added("[INST]"), added("[/INST]")],
                         ignore_merges=True, post=template(["<s>"])),
    "deepseek3": kind(steps(split(r"\p{N}{1,3}"), split(CJK_2024), split(DEEPSEEK3), byte_level()), CHAT[:1]),
    "deepseek_coder": kind(steps(*map(split, CODER), {"type": "Digits", "individual_digits": True}, byte_level()), CHAT[:1]),
    "llama2": kind(None, PIECES_ADDED, PIECES, post=template(["<s>"]), pairs=False, unk_token="<unk>", fuse_unk=True,
                   byte_fallback=True,
                   normalizer=sequence("normalizers", {"type": "Prepend", "prepend": SPACE}, replace(" ", SPACE))),
    "mistral": kind(metaspace("first", False), PIECES_ADDED + [added("[INST]"), added("[/INST]")], PIECES,
                    post=template(["<s>"]), unk_token="<unk>", fuse_unk=True, byte_fallback=True),
    "gemma": kind(split(" ", "MergedWithPrevious", kind="String"),
                  PIECES_ADDED + [added(t, False) for t in ["\n\n", "\n\n\n", SPACE * 2, SPACE * 3, "<start_of_turn>", "<p"]],
                  GEMMA_PIECES, normalizer=replace(" ", SPACE), post=template(["<s>"]), unk_token="<unk>", fuse_unk=True,
                  byte_fallback=True),
    "phi3": kind(None, PIECES_ADDED + [added(t, rstrip=True) for t in ["<|endoftext|>", "<|im_end|>"]] +
                 [added("</think>", False, rstrip=True)], PIECES, unk_token="<unk>", fuse_unk=True, byte_fallback=True,
                 normalizer=sequence("normalizers", {"type": "Prepend", "prepend": SPACE}, replace(" ", SPACE))),
    "metaspace": kind(metaspace("always", True), PIECES_ADDED, metaspace("always", True), unk_token="<unk>"),
    "odd": kind(steps(split("e", "MergedWithNext", kind="String"), split(NUMBERS[2], "Contiguous", True),
                      split("\u0301", "Removed", kind="String"), byte_level(True, True)),
                [added("<s>", lstrip=True, rstrip=True), added("the", False, single_word=True),
                 added("is", single_word=True, lstrip=True), added("Ångström", False, normalized=True),
                 added("\ufb01", False, normalized=True), added("fi", normalized=True, rstrip=True), added(" ", False, rstrip=True), added("[SEP]", False, lstrip=True),
                 added("[", False)],
                normalizer=sequence("normalizers", {"type": "NFKC"}, replace("a", "b"), replace("xx", "")),
                post=template(["<s>"], ["[SEP]", "<s>"])),
    "runs": kind(steps({"type": "Digits", "individual_digits": False}, split(" ", "MergedWithPrevious", True, "String"),
                       metaspace("never", False), split("e", "Contiguous", kind="String")),
                 PIECES_ADDED, metaspace("never", False), unk_token="<unk>"),
}



def charsmap():
    """That of unigram.model: field 2 of its field 3."""
    def fields(data):
        at = 0

        def varint():
            nonlocal at
            value = shift = 0
            while True:
                byte, at, shift = data[at], at + 1, shift + 7
                value |= (byte & 127) << shift - 7
                if byte < 128:
                    return value
        while at < len(data):
            tag = varint()
            size = {0: 0, 5: 4}.get(tag & 7) if tag & 7 != 2 else varint()
            if tag & 7 == 0:
                varint()
            yield tag >> 3, data[at:at + size]
            at += size
    with open(os.path.join(HERE, "unigram.model"), "rb") as f:
        spec = next(value for number, value in fields(f.read()) if number == 3)
    return base64.b64encode(next(value for number, value in fields(spec) if number == 2)).decode()


def unigram(pre_tokenizer, normalizer, tokens=(), **model):
    sentinels = [added("<extra_id_%d>" % i) for i in (2, 1, 0)]
    return kind(pre_tokenizer, [added(t) for t in ["<pad>", "</s>", "<unk>"]] + sentinels + list(tokens),
                metaspace("always", True), sequence("normalizers", *normalizer), template([], ["</s>"]), type="Unigram", **model)


# T5's as transformers 4.57 and 5.24 save them; and what no published one has all of.
PRECOMPILED = {"type": "Precompiled", "precompiled_charsmap": charsmap()}
WHITE_SPACE = {"type": "WhitespaceSplit"}
KINDS.update({
    "t5": unigram(metaspace("always", True), [
        PRECOMPILED, {"type": "Strip", "strip_left": False, "strip_right": True},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": SPACE}]),
    "t5_saved_by_5": unigram(steps(WHITE_SPACE, metaspace("always", True)), [PRECOMPILED]),
    "unigram": unigram(metaspace("first", False), [
        {"type": "Nmt"}, {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"},
        {"type": "Strip", "strip_left": True, "strip_right": False}],
        [added("the", False, normalized=True, single_word=True), added(" ", False, rstrip=True)], byte_fallback=True),
})

MORE_LINES = ["a\u0301 e\u0301\u0302 \u1112\u1161\u11ab\u0301 \r\n a  b\u3000  ", "</s><unk> <extra_id_1>x<extra_id_9> <pad>",
              "\u0600a\u0301 \u200b\u0301x\u200d\u0301 \ufb01\u0301\ufdfa  ", "!\n/x", "a.\n\n//b ./\r\n/", "\ufb01 fi \ufb01\ufb01 ", "eee123ee4e  e", "<s>   [SEP]  x <s> [SEP]", "'ſ'S'Ll 'rE",
              "字A字B 字", "ab\u0301C\u0301d", "\U00016FF5\U00011DE3 1\U00016FF61", "HTTPServer'S its'LL", "   \n  \n x", ""]


def corpus():
    """Words of many languages, and lines as hostile as those that follow, but others."""
    words = [w for w in hostile.WORDS if len(w) < 20]
    for n in range(6000):
        yield " ".join(words[(n * n + 7 * k * n + k) % (80 if n % 3 else len(words))] for k in range(8))
    for n, line in enumerate(hostile.lines(3000, 7, True)):
        if len(line) < 400:
            yield line


def train_unigram(parts, size):
    """As train: the special tokens are the first pieces, the sentinels the last."""
    names = [t["content"] for t in parts["added"] if t["special"]]
    tokenizer = Tokenizer(models.Unigram())
    skeleton = json.loads(tokenizer.to_str())
    skeleton["normalizer"], skeleton["pre_tokenizer"] = parts["normalizer"], metaspace("always", True)
    tokenizer = Tokenizer.from_str(json.dumps(skeleton))
    latin = [line for line in corpus() if all(ord(c) < 0x180 for c in line)]
    tokenizer.train_from_iterator(latin[::4], trainers.UnigramTrainer(
        vocab_size=2 * size, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False))
    learnt = [p for p in json.loads(tokenizer.to_str())["model"]["vocab"] if p[0] not in names][:2 * size]
    if parts["model"].get("byte_fallback"):
        learnt += [["<0x%02X>" % b, 0.0] for b in range(256)]
    vocab = [[t, 0.0] for t in names[:3]] + learnt + [[t, 0.0] for t in names[3:]]
    ids = {t: i for i, (t, _) in enumerate(vocab)}
    entries = []
    for token in parts["added"]:
        entries.append({"id": ids.setdefault(token["content"], len(ids)), **token})
    post = json.loads(json.dumps(parts["post"]))
    post["special_tokens"] = {t: {"id": t, "ids": [ids[t]], "tokens": [t]} for t in post["special_tokens"]}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": entries,
            "normalizer": parts["normalizer"], "pre_tokenizer": parts["pre_tokenizer"], "post_processor": post,
            "decoder": parts["decoder"], "model": {"unk_id": 2, "byte_fallback": False, **parts["model"], "vocab": vocab}}


def train(parts, size):
    """A tokenizer.json with at most so many tokens besides the bytes."""
    if parts["model"].get("type") == "Unigram":
        return train_unigram(parts, size)
    bytes_too = parts["model"].get("byte_fallback", False)
    special = [t["content"] for t in parts["added"]]
    by_bytes = json.dumps(parts["pre_tokenizer"]).find("ByteLevel") >= 0
    tokenizer = Tokenizer(models.BPE())
    skeleton = json.loads(tokenizer.to_str())
    skeleton["normalizer"] = parts["normalizer"]
    skeleton["pre_tokenizer"] = parts["pre_tokenizer"] or metaspace("always", True)
    if not by_bytes and parts["pre_tokenizer"] != metaspace("always", True):
        skeleton["pre_tokenizer"] = metaspace("always", True)
        skeleton["normalizer"] = None
    tokenizer = Tokenizer.from_str(json.dumps(skeleton))
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet()) if by_bytes else []
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=size + len(alphabet), initial_alphabet=alphabet, limit_alphabet=max(size // 3, len(alphabet)),
        show_progress=False))
    learnt = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(learnt["vocab"], key=learnt["vocab"].get)
    head = [t for t in special if t == "<unk>" or bytes_too]  # where SentencePiece has them: first; else last
    if bytes_too:
        head += ["<0x%02X>" % b for b in range(256)]
    names = head + [t for t in tokens if t not in head]
    ids = {t: i for i, t in enumerate(names)}
    merges = [m if isinstance(m, list) else m.split(" ") for m in learnt["merges"]]
    entries, following = [], len(ids)
    for token in parts["added"]:
        entries.append({"id": ids.get(token["content"], following), **token})
        following += token["content"] not in ids
    every = {**ids, **{e["content"]: e["id"] for e in entries}}
    post = json.loads(json.dumps(parts["post"]))
    for part in (post or {}).get("processors", [post]):
        if part and part["type"] == "TemplateProcessing":
            part["special_tokens"] = {t: {"id": t, "ids": [every[t]], "tokens": [t]} for t in part["special_tokens"]}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
             "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, **parts["model"], "vocab": ids,
             "merges": merges if parts["pairs"] else [" ".join(m) for m in merges]}
    return {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": sorted(entries, key=lambda e: e["id"]), "normalizer": parts["normalizer"],
            "pre_tokenizer": parts["pre_tokenizer"], "post_processor": post, "decoder": parts["decoder"], "model": model}


# ---- what the library makes of lines ----


def fnv(numbers_or_bytes, state=0x811C9DC5):
    for b in numbers_or_bytes:
        state = ((state ^ b) * 0x01000193) & 0xFFFFFFFF
    return state


def as_bytes(*numbers):
    return b"".join(n.to_bytes(4, "little") for n in numbers)


def without_special(text):
    """A Unigram model whose special pieces no text can spell; its sentinels are found in every text."""
    data = json.loads(text)
    names = [t["content"] for t in data["added_tokens"] if t["special"] and not t["content"].startswith("<extra_id_")]
    data["model"]["vocab"] = [["\U0010fffd" * (i + 2) if t in names else t, score]
                              for i, (t, score) in enumerate(data["model"]["vocab"])]
    data["added_tokens"] = [{**t, "special": False} for t in data["added_tokens"] if t["content"] not in names]
    data["post_processor"] = None
    return json.dumps(data)


class Oracle:
    """encode and decode as the library does, without special tokens of a text and with them."""

    def __init__(self, text):
        is_unigram = json.loads(text)["model"]["type"] == "Unigram"
        self.with_special = Tokenizer.from_str(text)
        self.plain = Tokenizer.from_str(without_special(text) if is_unigram else text)
        self.plain.encode_special_tokens = True

    def ids(self, line, special):
        return (self.with_special if special else self.plain).encode(line, add_special_tokens=False).ids

    def decode(self, ids):
        return self.with_special.decode(ids, skip_special_tokens=True).encode()


def hash_line(oracle, line):
    plain, special = oracle.ids(line, False), oracle.ids(line, True)
    decoded = oracle.decode(special)
    return fnv(as_bytes(len(plain), *plain, len(special), *special, len(decoded)) + decoded)


def ends(pattern, line):
    """The bytes at which the pieces of a line end."""
    pieces = pre_tokenizers.Split(Regex(pattern), "isolated").pre_tokenize_str(line)
    return [len(line[:end].encode()) for _, (_, end) in pieces]


def golden_lines():
    return [line for line in hostile.lines(700, 22, True) if len(line.encode()) < 240][:385] + MORE_LINES


def main():
    lines = golden_lines()
    if len(sys.argv) == 4 and sys.argv[1] == "--ids":
        oracle = Oracle(open(os.path.join(HERE, "bpe", sys.argv[2] + ".json"), encoding="utf-8").read())
        line = lines[int(sys.argv[3])]
        print(ascii(line), oracle.ids(line, False), oracle.ids(line, True), sep="\n")
        return
    golden = {"lines": lines, "kinds": {}, "patterns": []}
    for name, parts in KINDS.items():
        text = json.dumps(train(parts, 160), ensure_ascii=False, separators=(",", ":"))
        with open(os.path.join(HERE, "bpe", name + ".json"), "w", encoding="utf-8", newline="\n") as f:
            f.write(text + "\n")
        oracle = Oracle(text)
        golden["kinds"][name] = [hash_line(oracle, line) for line in lines]
    for pattern in PATTERNS:
        tens = [lines[i:i + 10] for i in range(0, len(lines), 10)]
        golden["patterns"].append({"pattern": pattern, "hashes": [
            fnv(b"".join(as_bytes(*ends(pattern, line)) for line in ten)) for ten in tens]})
    with open(os.path.join(HERE, "bpe", "golden.json"), "w", encoding="utf-8", newline="\n") as f:
        json.dump(golden, f, ensure_ascii=True, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    main()
