"""Writes chat.h beside itself: conversations as the published chat templates render them.

    python3 make_chat.py DIRECTORY [FILE]        (transformers, jinja2)

DIRECTORY holds the templates, named as below: models/templates of llama.cpp has them all. They are rendered as
apply_chat_template of transformers does it, with the day fixed. The conversations are our own; the templates are not
kept, only what they make of these."""
import datetime
import os
import sys

import transformers
from transformers.utils.chat_template_utils import _compile_jinja_template

here = os.path.dirname(os.path.abspath(__file__))

SYSTEM = "  You speak like a lighthouse keeper.\n"
ODD_SYSTEM = "Be brief. /no_think Really.\n\n"
ODD = "\u2003\n\t {braces} <s> [INST] <|im_start|> caf\u00e9 \U0001f980\u00a0\x1f "
CONVERSATIONS = [
    ["What is a fathom?"],
    [" What is a fathom? \n"],
    ["What is a fathom?", "Six feet of water.", "And a league?"],
    [" one \n", "\n\n two \n", "three\n", "<think>\nFour? Five.\n</think>\n\nfour", "\tfive"],
    [ODD, ODD, ODD],
    [""],
    ["What is a knot?", "<think>\nAt sea.\n</think>\n\nA mile an hour.", "Nothing else?", "<think>\n\n</think>\n\n\nNo.",
     "Sure?", "Yes.", "Now think!"],
    ["a", "<think>\nThe answer was cut", "b", "<think>\none </think> two\n</think>\n\n\n <think>three", "c",
     "four\n</think>", "</think>"],
]

# template, family, extra arguments: (no_thinking, date), and whether there may be a system text
FAMILIES = [
    ("meta-llama-Llama-3.1-8B-Instruct", "CHAT_LLAMA31", [(0, None), (0, "24 Nov 2026")], "any"),
    ("meta-llama-Llama-3.2-3B-Instruct", "CHAT_LLAMA31", [(0, "24 Nov 2026")], "any"),
    ("meta-llama-Llama-3.3-70B-Instruct", "CHAT_LLAMA31", [(0, None)], "any"),
    ("Qwen-Qwen2.5-7B-Instruct", "CHAT_QWEN25", [(0, None)], "any"),
    ("Qwen-Qwen3-0.6B", "CHAT_QWEN3", [(0, None), (1, None)], "any"),
    ("google-gemma-2-2b-it", "CHAT_GEMMA", [(0, None)], "never"),
    ("mistralai-Mistral-Nemo-Instruct-2407", "CHAT_MISTRAL_NEMO", [(0, None)], "any"),
    ("Mistral-Small-3.2-24B-Instruct-2506", "CHAT_MISTRAL_V7", [(0, None)], "always"),
    ("HuggingFaceTB-SmolLM3-3B", "CHAT_SMOLLM3", [(0, None), (1, None)], "any"),
    ("openai-gpt-oss-120b", "CHAT_GPT_OSS", [(0, "2026-11-24")], "any"),
]


def render(template, turns, system, no_thinking, date):
    messages = [{"role": "system", "content": system}] if system is not None else []
    messages += [answer(template, text) if i % 2 else {"role": "user", "content": text} for i, text in enumerate(turns)]
    more = {"date_string": date} if date and "date_string" in template else {}
    if "enable_thinking" in template:
        more["enable_thinking"] = not no_thinking
    return _compile_jinja_template(template).render(
        messages=messages, tools=None, documents=None, add_generation_prompt=True, bos_token=token(template, 0),
        eos_token=token(template, 1), strftime_now=datetime.datetime(2026, 11, 24).strftime, **more)


def answer(template, text):
    """What a model has written, thoughts and all; GPT-OSS has a member for these."""
    begin, end = "<think>\n", "\n</think>\n\n"
    if "<|channel|>" in template and text.startswith(begin) and end in text:
        thoughts, text = text[len(begin):].split(end, 1)
        return {"role": "assistant", "content": text, "thinking": thoughts}
    return {"role": "assistant", "content": text}


def token(template, end):
    if "<|start_header_id|>" in template:
        return ("<|begin_of_text|>", "<|eot_id|>")[end]
    return ("<bos>", "<eos>")[end] if "<start_of_turn>" in template else ("<s>", "</s>")[end]


def literal(text):
    """A string of C, long ones over several lines."""
    out, line = [], ""
    for byte in text.encode():
        c = chr(byte)
        line += {"\n": "\\n", '"': '\\"', "\\": "\\\\"}.get(c, c if 32 <= byte < 127 else f"\\{byte:03o}")
        if len(line) > 92:
            out.append(line)
            line = ""
    out.append(line)
    return "\n     ".join(f'"{part}"' for part in out if part or len(out) == 1)


def cases(directory):
    for name, family, variants, systems in FAMILIES:
        template = open(os.path.join(directory, name + ".jinja")).read()
        for no_thinking, date in variants:
            for number, turns in enumerate(CONVERSATIONS):
                for system in (None, SYSTEM, ODD_SYSTEM, ""):
                    if system is None and systems == "always" or system is not None and systems == "never":
                        continue
                    if system in (ODD_SYSTEM, "") and number != 2:
                        continue
                    yield name, family, no_thinking, date, number, system, render(template, turns, system, no_thinking,
                                                                                 date)


if __name__ == "__main__":
    with open(sys.argv[2] if len(sys.argv) > 2 else os.path.join(here, "chat.h"), "w") as out:
        out.write(f"/* Written by make_chat.py with transformers {transformers.__version__}, for test_chat.c. */\n"
                  "/* clang-format off */\n\n/* Texts of user and assistant in turn. */\n"
                  "static const char *const chat_conversations[][8] = {\n")
        out.write(",\n".join("    {" + ", ".join(literal(text) for text in turns) + ", NULL}"
                             for turns in CONVERSATIONS) + "};\n\n")
        out.write("/* Template, family, no_thinking, date, conversation, system text, and what it is rendered to. */\n"
                  "static const chat_golden chat_goldens[] = {\n")
        rows = []
        for name, family, no_thinking, date, number, system, text in cases(sys.argv[1]):
            rows.append(f'    {{"{name}", {family}, {no_thinking}, {literal(date) if date else "NULL"}, {number}, '
                        f'{literal(system) if system is not None else "NULL"},\n     {literal(text)}}}')
        out.write(",\n".join(rows) + "};\n")
        print(len(rows), "renderings", file=sys.stderr)
