"""Compares WordPiece tokens with those of transformers and tokenizers:

    check_wordpiece.py TOKENIZE MODEL [LINES [SEED]]     20,000 hostile lines, if nothing else is said
    check_wordpiece.py --gguf TOKENIZE FILE              the lines of FILE.inp, whose ids FILE.out has

TOKENIZE is the program build/tokenize. MODEL is a directory as transformers reads it, with vocab.txt or tokenizer.json,
such as all-MiniLM-L6-v2; what is compared is `tokenizer(line)` without the tokens around it, and these once. FILE is a
vocabulary of llama.cpp, such as ggml-vocab-bert-bge.gguf. It takes transformers 4.57.6, and gguf for the second. Exit
status: 0 if all are equal."""
import os
import subprocess
import sys
import tempfile

import hostile


def ours(program, model, lines):
    """The ids that the program gives for each line, which may have LF in it."""
    escaped = "".join(line.replace("\\", "\\\\").replace("\n", "\\n") + "\n" for line in lines)
    output = subprocess.run([program, "--ids", "--escapes", model], input=escaped.encode(), check=True,
                            stdout=subprocess.PIPE).stdout.decode()
    return [[int(i) for i in line.split()] for line in output.split("\n")[:-1]]


def differences(lines, got, want, spell):
    assert len(got) == len(want) == len(lines), (len(got), len(want), len(lines))
    wrong = [i for i in range(len(lines)) if got[i] != want[i]]
    for i in wrong[:5]:
        print("line %d, %s: %s, not %s" % (i, ascii(lines[i]), spell(got[i]), spell(want[i])))
    return len(wrong)


def check_model(program, model, count=20000, seed=1):
    from transformers import AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(model)
    lines = list(hostile.lines(int(count), int(seed), breaks=True))
    want = tokenizer(lines, add_special_tokens=False, truncation=False, verbose=False)["input_ids"]
    wrong = differences(lines, ours(program, model, lines), want, tokenizer.convert_ids_to_tokens)
    around = tokenizer("a")["input_ids"]
    assert around[0] == tokenizer.cls_token_id and around[-1] == tokenizer.sep_token_id, around
    unknown = sum(ids.count(tokenizer.unk_token_id) for ids in want)
    print("%d hostile lines of seed %s, %d tokens of which %d unknown: %d lines differ" %
          (len(lines), seed, sum(map(len, want)), unknown, wrong))
    return wrong


def check_gguf(program, path):
    """llama.cpp writes U+2581 before what begins a word, and has no ## before what goes on."""
    from gguf import GGUFReader
    field = GGUFReader(path).fields["tokenizer.ggml.tokens"]
    tokens = [bytes(field.parts[i]).decode() for i in field.data]
    vocab = [t[1:] if t[0] == "\u2581" else t if t[0] + t[-1] == "[]" and len(t) > 2 else "##" + t for t in tokens]
    with open(path + ".inp", encoding="utf-8", newline="") as f:
        lines = f.read().split("\n__ggml_vocab_test__\n")
    with open(path + ".out") as f:
        want = [[int(i) for i in line.split()] for line in f.read().split("\n")[:len(lines)]]
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "vocab.txt"), "w", encoding="utf-8", newline="\n") as f:
            f.write("".join(word + "\n" for word in vocab))
        got = ours(program, directory, lines)
    wrong = differences(lines, got, want, lambda ids: [tokens[i] for i in ids])
    print("%d texts of %s, %d tokens: %d differ" % (len(lines), os.path.basename(path), sum(map(len, want)), wrong))
    return wrong


if __name__ == "__main__":
    check = check_gguf if sys.argv[1] == "--gguf" else check_model
    sys.exit(check(*sys.argv[1 + (check == check_gguf):]) != 0)
