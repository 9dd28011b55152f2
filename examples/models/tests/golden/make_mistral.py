"""Writes mistral.h beside itself: conversations as mistral-common writes them, for each kind of tokenizer.

    python3 make_mistral.py [FILE]        (mistral-common 1.13.1, sentencepiece)

The tokenizers are those that the package brings; for v7, v11 and v13 with a tekken.json, that of v3 under their version,
with the tokens that they add in place of unused ones. Of v1 one turn alone: the templates that were published for it
write no space before answers, mistral-common does."""
import json
import os
import sys
import tempfile

import mistral_common
from mistral_common.protocol.instruct.messages import AssistantMessage, SystemMessage, UserMessage
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

from make_chat import literal

here = os.path.dirname(os.path.abspath(__file__))
data = os.path.join(os.path.dirname(mistral_common.__file__), "data")

FILES = [("tokenizer.model.v1", "CHAT_MISTRAL_V1"), ("mistral_instruct_tokenizer_240216.model.v2", "CHAT_MISTRAL_V3"),
         ("mistral_instruct_tokenizer_240323.model.v3", "CHAT_MISTRAL_V3"),
         ("mistral_instruct_tokenizer_241114.model.v7", "CHAT_MISTRAL_V7_SPM"), ("tekken_240911.json", "CHAT_MISTRAL_NEMO"),
         ("v7", "CHAT_MISTRAL_V7"), ("v11", "CHAT_MISTRAL_V7"), ("v13", "CHAT_MISTRAL_V7")]
TURNS = [["What is a fathom?"], ["one", "two", "three"]]


def tekken(version, directory):
    spec = json.load(open(os.path.join(data, "tekken_240911.json"), encoding="utf-8"))
    spec["config"]["version"] = version
    known = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]",
             "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]",
             "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]", "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]"]
    count = spec["config"]["default_num_special_tokens"]
    known += [f"<SPECIAL_{i}>" for i in range(len(known), count)]
    spec["special_tokens"] = [{"rank": i, "token_str": token, "is_control": True} for i, token in enumerate(known)]
    path = os.path.join(directory, f"tekken_{version}.json")
    json.dump(spec, open(path, "w", encoding="utf-8"))
    return path


def conversations():
    with tempfile.TemporaryDirectory() as directory:
        for name, family in FILES:
            path = os.path.join(data, name) if os.path.exists(os.path.join(data, name)) else tekken(name, directory)
            tokenizer = MistralTokenizer.from_file(path)
            for number, turns in enumerate(TURNS[:1] if family == "CHAT_MISTRAL_V1" else TURNS):
                for system in (None, "Be brief."):
                    messages = [SystemMessage(content=system)] if system else []
                    messages += [AssistantMessage(content=text) if i % 2 else UserMessage(content=text)
                                 for i, text in enumerate(turns)]
                    text = tokenizer.encode_chat_completion(ChatCompletionRequest(messages=messages)).text
                    text = text.replace("\u2581", " ").replace("<0x0A>", "\n").replace("<s> ", "<s>").replace("</s> [", "</s>[")
                    yield name, family, number, system, text


if __name__ == "__main__":
    with open(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "mistral.h"), "w") as out:
        out.write(f"/* Written by make_mistral.py with mistral-common {mistral_common.__version__}, for test_chat.c. */\n"
                  "/* clang-format off */\n\nstatic const char *const mistral_conversations[][4] = {\n")
        out.write(",\n".join("    {" + ", ".join(literal(text) for text in turns) + ", NULL}" for turns in TURNS) + "};\n\n")
        out.write("/* Tokenizer, family, 0, no date, conversation, system text, and the text. The space that tokenizer.model "
                  "puts in front\n   of each text that follows <s> and </s> is not written. */\n"
                  "static const chat_golden mistral_goldens[] = {\n")
        out.write(",\n".join(f'    {{"{name}", {family}, 0, NULL, {number}, {literal(system) if system else "NULL"},\n'
                             f"     {literal(text)}}}" for name, family, number, system, text in conversations()) + "};\n")
