"""Whether render_chat renders chat templates as transformers does, or says what it cannot.

    python3 examples/models/tests/check_chat.py build/render_chat DIRECTORY

DIRECTORY holds templates, *.jinja, such as models/templates of llama.cpp. Each is rendered in several conversations,
with and without a system text, by apply_chat_template's own environment. What is rendered must be equal, byte by byte,
and its tokens must be those of `tokenizers`, with a tokenizer of bytes whose special tokens are the tags that the
template has; where transformers fails, render_chat must as well. Messages of render_chat are counted.

Needs transformers 5 with jinja2. Exit status 1 if something differs."""
import collections
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile

import tokenizers
from transformers.utils.chat_template_utils import _compile_jinja_template

DAY = datetime.datetime.now()
SYSTEM = "  You speak like a lighthouse keeper.\n"
ODD = "\u2003\n\t {braces} caf\u00e9 \U0001f980\u00a0\x1f <b>\"it's\" "
TURNS = [
    (None, ["What is a fathom?"]),
    (SYSTEM, [" What is a fathom? \n"]),
    (SYSTEM, ["What is a fathom?", "Six feet of water.", "And a league?"]),
    (None, [" one \n", "\n\n two \n", "three\n", "<think>\nFour? Five.\n</think>\n\nfour", "\tfive"]),
    (ODD, [ODD, ODD, ODD]),
    ("", ["a", "", "b"]),
    (None, ["Hi /no_think", "one</think>two", "Bye /think"]),
    ("Be brief. /no_think", ["</s> [INST] <|im_end|> <|end|>", "<|eot_id|>", "<end_of_turn> </s>"]),
]
TAG = re.compile(r"<\|?[\w\u2581\uff5c/.-]{1,40}\|?>|\[/?[A-Z_]{2,24}\]|<\uff5c[^<>]{1,40}\uff5c>")


def byte_tokenizer(tags):
    """A tokenizer of bytes with these special tokens."""
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in printed]
    vocab = {chr(b): b for b in printed} | {chr(256 + i): b for i, b in enumerate(rest)}
    return {"version": "1.0", "truncation": None, "padding": None, "normalizer": None, "post_processor": None,
            "added_tokens": [{"id": 256 + i, "content": tag, "single_word": False, "lstrip": False, "rstrip": False,
                              "normalized": False, "special": True} for i, tag in enumerate(tags)],
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                      "vocab": vocab, "merges": []}}


def names(template):
    """What tokens such a model's tokenizer_config.json would name."""
    for bos, eos in (("<|begin_of_text|>", "<|eot_id|>"), ("<bos>", "<eos>"), ("<|im_start|>", "<|im_end|>")):
        if bos in template:
            return {"bos_token": bos, "eos_token": eos}
    return {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}


def expected(template, system, turns, no_thinking):
    messages = [{"role": "system", "content": system}] if system is not None else []
    messages += [{"role": "assistant" if i % 2 else "user", "content": text} for i, text in enumerate(turns)]
    more = {"enable_thinking": False} if no_thinking else {}
    try:
        return _compile_jinja_template(template).render(messages=messages, tools=None, documents=None,
                                                        add_generation_prompt=True, **names(template), **more)
    except Exception as error:  # whatever the template does
        return error


def kind_of(message):
    """A message without what is of one template alone."""
    message = re.sub(r"^chat template: line \d+: ", "", message)
    return "what the template itself says" if message.startswith("the template says") else message


def main():
    program, directory = sys.argv[1:3]
    files = sorted(name for name in os.listdir(directory) if name.endswith(".jinja"))
    equal, differing, texts, failures = 0, 0, 0, 0
    refused, rendered, messages = set(), set(), collections.defaultdict(set)
    with tempfile.TemporaryDirectory() as made:
        for name in files:
            template = open(os.path.join(directory, name), newline="", encoding="utf-8").read()
            tags = sorted(set(TAG.findall(template)) | set(names(template).values()))
            spec = json.dumps(byte_tokenizer(tags))
            reference = tokenizers.Tokenizer.from_str(spec)
            open(os.path.join(made, "tokenizer.json"), "w", encoding="utf-8").write(spec)
            json.dump({"chat_template": template, **names(template)},
                      open(os.path.join(made, "tokenizer_config.json"), "w", encoding="utf-8"))
            same = True
            for system, turns in TURNS:
                for no_thinking in (0, 1) if "enable_thinking" in template else (0,):
                    want = expected(template, system, turns, no_thinking)
                    ran = subprocess.run([program, made, "-" if system is None else system, "-", str(no_thinking),
                                          *turns], capture_output=True, text=True, encoding="utf-8")
                    text, _, ids = ran.stdout.removesuffix("\n").rpartition("\n")
                    if ran.returncode == 2:
                        failures += isinstance(want, Exception)
                        if not isinstance(want, Exception):
                            refused.add(name)
                            messages[kind_of(ran.stderr.strip())].add(name)
                        continue
                    texts += 1
                    rendered.add(name)
                    said = "".join(turns) + (system or "")
                    wrong = ran.returncode != 0 or text != want
                    if not wrong and not TAG.search(said):
                        wrong = [int(i) for i in ids.split()] != reference.encode(text, add_special_tokens=False).ids
                    if wrong and same:
                        print(f"FAIL {name}: {system!r}, {turns}")
                        print(f"    wanted {want!r}\n    is     {text!r} {ran.stderr}")
                        same = False
            differing += not same
            equal += same and name not in refused
    print(f"{len(files)} templates: {equal} equal in all conversations, {len(refused)} with a message, "
          f"{differing} differ\n{texts} texts of {len(rendered)} templates, {failures} failures of both")
    for message, those in sorted(messages.items(), key=lambda item: -len(item[1])):
        print(f"    {len(those)}: {message}: {', '.join(sorted(those)[:3])}")
    return differing > 0


if __name__ == "__main__":
    sys.exit(main())
