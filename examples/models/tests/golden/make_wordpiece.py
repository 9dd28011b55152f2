"""Writes what transformers and tokenizers make of hostile lines with three small WordPiece tokenizers, and these:

    wordpiece/uncased/      vocab.txt alone, so that everything is as in uncased BERT
    wordpiece/cased/        tokenizer.json and tokenizer_config.json as transformers writes them
    wordpiece/odd/          tokenizer.json alone, where nothing is as usual: options, prefix, special and added tokens
    wordpiece/lines.txt     the lines; each byte that is a backslash or not printed, as ASCII has it, is \\xNN
    wordpiece/*.ids         the ids of each line, without those that go around it

It takes transformers 4.57.6 and tokenizers 0.22."""
import json
import os
import random
import shutil
import sys

from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertTokenizerFast

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "wordpiece")
sys.path.insert(0, os.path.dirname(HERE))
import hostile  # noqa: E402

EDGES = ["", " ", "a", "[CLS]", "[CLS", "x[MASK]y", " [MASK] ", "[mask]", "[SEP][SEP]", "[PAD]\u0301", "[UN\0K]", "<mask>",
         "a <mask> \t\u3000b", "<mask><mask> <mask>", "a  <mask><s>", "Hello", "say hello, HELLO!", "hellohello",
         "he\u0301llo Wörld x  world", "WORLD  hello", "straße STRASSE ẞ", "İstanbul I ı i̇", "ΟΔΥΣΣΕΥΣ ς", "don't", "a.b",
         "東京abc東京", "豈﨑", "\u3400\u4dbf\u9fff\U0002a6df\U0002b81f\U0002b820\U0002b920\U0002ceaf\U0002f800", "\ufa0e",
         "가각 한국어", "a\u0300\u0315b", "\u0315\u0300", "\u1e69", "s\u0307\u0323", "x" * 100, "x" * 101, "é" * 100,
         "the" * 33 + "t", "the" * 34, "\u0301" * 120 + "a", "a\u0378b", "a\u061db", "a\u166db", "\U00011f00", "a\u200bb",
         "\ufffd", "a\ufffdb", "\0", "a\x7fb", "a\x85b", "a\u2028b", "\U0010ffff", "##s", "# # s", "@@s", "thes unthe",
         "123456789", "1,5", "$^`|~<>+=", "\u00d7\u00f7\u20ac", "naïve", "NAÏVE", "\u1c89", "\ua7da", "\U00010d50"]


def lines():
    return EDGES + [line for line in hostile.lines(320, 14, breaks=True) if len(line) < 300][:240]


def vocabulary(normalizer, prefix, specials, size):
    """Special tokens, the characters of words, at their beginning and later, and parts of words."""
    r = random.Random(3)
    split = pre_tokenizers.BertPreTokenizer()
    words = [w for text in hostile.WORDS + hostile.SNIPPETS + EDGES
             for w, _ in split.pre_tokenize_str(normalizer.normalize_str(text)) if 0 < len(w) < 40]
    parts = set()
    for word in words * 3:
        cut = r.randint(0, len(word))
        more = r.randint(cut, len(word))
        parts.update({word[:cut], prefix + word[cut:more], prefix + word[more:]} - {"", prefix})
    letters = {c for word in words for c in (word[0], *(prefix + c for c in word[1:]))}
    chosen = r.sample(sorted(letters - {"世", prefix + "j"}), min(len(letters) - 2, size // 2))
    chosen += r.sample(sorted(parts - set(chosen)), size - len(chosen) - len(specials))
    order = [*specials[:1], *chosen, *specials[1:]]
    return {word: i for i, word in enumerate(order)}


def directory(name):
    path = os.path.join(ROOT, name)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


def write_vocab(path, vocab):
    with open(os.path.join(path, "vocab.txt"), "w", newline="\n") as f:
        f.write("".join(word + "\n" for word in sorted(vocab, key=vocab.get)))


def uncased():
    path = directory("uncased")
    normalizer = normalizers.BertNormalizer()
    write_vocab(path, vocabulary(normalizer, "##", ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], 640))
    fast = BertTokenizerFast(vocab_file=os.path.join(path, "vocab.txt"))
    return fast.backend_tokenizer


def squeeze(path):
    """JSON without space, its vocabulary in no order."""
    with open(path) as f:
        data = json.load(f)
    vocab = data["model"]["vocab"]
    data["model"]["vocab"] = {word: vocab[word] for word in random.Random(5).sample(sorted(vocab), len(vocab))}
    with open(path, "w", newline="\n") as f:
        json.dump(data, f, separators=(",", ":"))
        f.write("\n")


def cased():
    path = directory("cased")
    normalizer = normalizers.BertNormalizer(lowercase=False)
    write_vocab(path, vocabulary(normalizer, "##", ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], 720))
    fast = BertTokenizerFast(vocab_file=os.path.join(path, "vocab.txt"), do_lower_case=False)
    fast.save_pretrained(path)
    for name in ("vocab.txt", "special_tokens_map.json"):
        os.remove(os.path.join(path, name))
    squeeze(os.path.join(path, "tokenizer.json"))
    return BertTokenizerFast.from_pretrained(path).backend_tokenizer


def odd():
    path = directory("odd")
    normalizer = normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True,
                                            lowercase=False)
    vocab = vocabulary(normalizer, "@@", ["<s>", "<unk>", "</s>"], 600)
    made = Tokenizer(models.WordPiece(vocab, unk_token="<unk>", continuing_subword_prefix="@@",
                                      max_input_chars_per_word=12))
    made.normalizer, made.pre_tokenizer = normalizer, pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens(["<s>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True), AddedToken("[CLS][SEP]"),
                             AddedToken("<s", rstrip=True)])
    made.add_tokens([AddedToken("hello", normalized=True), AddedToken("Wörld", normalized=True, lstrip=True, rstrip=True),
                     AddedToken("thes", normalized=False)])
    made.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[
        ("<s>", made.token_to_id("<s>")), ("</s>", made.token_to_id("</s>"))])
    made.save(os.path.join(path, "tokenizer.json"))
    squeeze(os.path.join(path, "tokenizer.json"))
    return Tokenizer.from_file(os.path.join(path, "tokenizer.json"))


def escaped(text):
    return "".join(c if " " <= c and c not in "\\\x7f" else "\\x%02x" % ord(c) for c in text)


def main():
    texts = lines()
    os.makedirs(ROOT, exist_ok=True)
    with open(os.path.join(ROOT, "lines.txt"), "w", newline="\n") as f:
        f.write("".join(escaped(text) + "\n" for text in texts))
    for make in (uncased, cased, odd):
        tokenizer = make()
        with open(os.path.join(ROOT, make.__name__ + ".ids"), "w", newline="\n") as f:
            ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
            f.write("".join(" ".join(map(str, line)) + "\n" for line in ids))
        unknown = tokenizer.model.token_to_id(tokenizer.model.unk_token)
        print(make.__name__, len(texts), "lines", sum(map(len, ids)), "ids", sum(l.count(unknown) for l in ids), "unknown")


if __name__ == "__main__":
    main()
