"""Writes generate/ beside itself: a tiny Llama as it would be published, its weights drawn at random, and what
transformers 4.57.6 makes of it: greedy continuations, ids, a conversation. And generate_model/: the same, with the same
weights, and a tokenizer.model.

    python3 make_generate.py [DIRECTORY]        (transformers, tokenizers, sentencepiece, torch, safetensors)

A seed is taken only if every step of every continuation is clear, so that caches of 8 bits and other orders of summation
change no token: the two greatest logits are MARGIN apart. test_chat.c, test_tokenizer.c and generate.sh read these;
the texts that --stop is given there are parts of stopped.out."""
import io
import json
import os
import sys

import sentencepiece
import torch
import transformers
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM

here = os.path.dirname(os.path.abspath(__file__))
MARGIN = 0.03
PROMPT = "Attention is what makes a caf\u00e9 \U0001f980 sing."
TURNS = ["Who are you, <|im_end|>?", "And now?"]
TEMPLATE = ("{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' "
            "}}{% endif %}{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + "
            "'<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")


CORPUS = """The tokenizers learn their pieces from this text, which says nothing that matters and is not to be changed: \
what is written beside it follows from it. Attention is a weighted mean. Each token asks a question, its query; each token
before it has a key, and the better the key fits the query, the more of the token's value is taken into the mean. The
weights are positive, and their sum is one. So the answer lies among the values, as a place on a map lies among the towns
that it is near to. Many heads ask many questions at once. One looks for the subject of the sentence, another for the word
that came before, another for nothing that anybody could name. What they find is written side by side and mixed.

Keys and values of what has been read are kept in a cache, because nobody wants to read a book again from its first page
for each word that is added at its end. A cache takes room: two numbers for each token, each head, each dimension, each
layer. Numbers of sixteen bits take half of that, integers of eight bits a quarter. When the window is 4096 tokens wide
and the text is longer, the oldest are forgotten (a ring). "Who are you?" asked the lighthouse keeper in 1887; "I was
here before the sea." Then they were silent for 3 hours, 20 minutes and 5 seconds.

    for (i = 0; i < n; i++)
        sum += weight[i] * value[i];   /* the mean */
"""


def make_json(directory):
    tokens = Tokenizer(models.BPE())
    tokens.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokens.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=384, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
                                  special_tokens=[AddedToken(t, special=True) for t in
                                                  ("<|endoftext|>", "<|im_start|>", "<|im_end|>")])
    tokens.train_from_iterator([CORPUS], trainer)
    tokens.save(os.path.join(directory, "tokenizer.json"))
    with open(os.path.join(directory, "tokenizer_config.json"), "w") as file:
        json.dump({"add_bos_token": False, "bos_token": "<|endoftext|>", "eos_token": "<|im_end|>",
                   "chat_template": TEMPLATE, "tokenizer_class": "PreTrainedTokenizerFast"}, file, indent=1)
        file.write("\n")
    return tokens


def make_model(directory):
    made = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS.split("\n")), model_writer=made, model_type="bpe", vocab_size=384,
        byte_fallback=True, character_coverage=0.99, normalization_rule_name="identity", split_digits=True,
        remove_extra_whitespaces=False, add_dummy_prefix=True, minloglevel=2, hard_vocab_limit=False)
    with open(os.path.join(directory, "tokenizer.model"), "wb") as file:
        file.write(made.getvalue())
    return sentencepiece.SentencePieceProcessor(model_proto=made.getvalue())


def make_network(seed, vocab):
    config = LlamaConfig(vocab_size=vocab, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256, rope_theta=10000.0,
                         tie_word_embeddings=True, bos_token_id=0, eos_token_id=None, initializer_range=0.4)
    torch.manual_seed(seed)
    network = LlamaForCausalLM(config).eval()
    with torch.no_grad():
        for weight in network.parameters():
            weight.copy_(weight.bfloat16().float())
    return network


def greedy(network, ids, count, stops=()):
    """The ids that follow, those of stops left out; None if a step is not clear."""
    ids, found = list(ids), []
    for _ in range(count):
        with torch.no_grad():
            logits = network(torch.tensor([ids])).logits[0, -1]
        best = logits.topk(2)
        if best.values[0] - best.values[1] < MARGIN:
            return None
        if int(best.indices[0]) in stops:
            break
        found.append(int(best.indices[0]))
        ids.append(found[-1])
    return found


def generate(network, ids, count, stops=()):
    """The same by generate()."""
    out = network.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), do_sample=False,
                           max_new_tokens=count, pad_token_id=0, eos_token_id=list(stops) or None)
    out = out[0, len(ids):].tolist()
    return out[:-1] if out and out[-1] in stops else out


def generate_with_penalty(network, ids, count, stops):
    out = network.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), do_sample=False,
                           max_new_tokens=count, pad_token_id=0, eos_token_id=stops, repetition_penalty=1.1,
                           output_scores=True, return_dict_in_generate=True)
    for scores in out.scores:
        best = scores[0].topk(2).values
        if best[0] - best[1] < MARGIN:
            return None
    found = out.sequences[0, len(ids):].tolist()
    return found if len(found) == count else None


def converse(network, tokens, count, stops):
    """Two turns, of which the model reads the first as the template renders what it has answered."""
    special = {name: tokens.token_to_id(f"<|{name}|>") for name in ("im_start", "im_end")}
    letters = Tokenizer.from_str(without_special(tokens))

    def message(role, text):
        return ([special["im_start"]] + letters.encode(f"{role}\n{text}").ids + [special["im_end"]]
                + letters.encode("\n").ids)

    ids, answers = message("system", "You are a helpful assistant."), []
    for turn in TURNS:
        ids += message("user", turn)
        prompt = ids + [special["im_start"]] + letters.encode("assistant\n").ids
        answer = greedy(network, prompt, count, stops)
        if answer is None:
            return None
        assert answer == generate(network, prompt, count, stops)
        answers.append(answer)
        ids += message("assistant", tokens.decode(answer))
    return answers


def without_special(tokens):
    """The tokenizer that knows special tokens as letters alone."""
    value = json.loads(tokens.to_str())
    value["added_tokens"] = []
    return json.dumps(value)


def write(directory, name, text):
    with open(os.path.join(directory, name), "wb") as file:
        file.write(text.encode() + b"\n")


def numbers(ids):
    return " ".join(str(i) for i in ids)


def make(directory, directory_model):
    os.makedirs(directory, exist_ok=True)
    os.makedirs(directory_model, exist_ok=True)
    tokens, pieces = make_json(directory), make_model(directory_model)
    vocab = max(tokens.get_vocab_size(), pieces.get_piece_size())
    prompt = tokens.encode(PROMPT).ids
    prompt_model = [pieces.bos_id()] + pieces.encode(PROMPT)
    for seed in range(10000):
        network = make_network(seed, vocab)
        text = greedy(network, prompt, 48)
        if text is None or len(set(text)) < 24:
            continue
        stop = text[20]
        if stop in text[:20] or stop < 3:
            continue
        stops = [tokens.token_to_id("<|im_end|>"), stop]
        talk = converse(network, tokens, 12, stops)
        model_text = greedy(network, prompt_model, 32, stops)
        if talk is None or model_text is None or len(model_text) < 20 or not 4 <= min(map(len, talk)) < 12:
            continue
        penalized = generate_with_penalty(network, prompt, 20, stops)
        if penalized is None:
            continue
        if "\ufffd" not in tokens.decode(text):  # bytes that are no character
            continue
        break
    assert text == generate(network, prompt, 48)
    print("seed", seed, "stops at", stop, "answers of", [len(a) for a in talk], file=sys.stderr)
    config = network.config.to_dict()
    config["architectures"] = ["LlamaForCausalLM"]
    config["torch_dtype"] = "bfloat16"
    keep = ("architectures", "model_type", "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
            "num_attention_heads", "num_key_value_heads", "head_dim", "hidden_act", "max_position_embeddings",
            "rms_norm_eps", "rope_theta", "rope_scaling", "tie_word_embeddings", "attention_bias", "mlp_bias",
            "bos_token_id", "torch_dtype")
    weights = {k: v.bfloat16().contiguous() for k, v in network.state_dict().items() if k != "lm_head.weight"}
    for where in (directory, directory_model):
        with open(os.path.join(where, "config.json"), "w") as file:
            json.dump({k: config[k] for k in keep if k in config}, file, indent=1)
            file.write("\n")
        with open(os.path.join(where, "generation_config.json"), "w") as file:
            json.dump({"eos_token_id": stops, "do_sample": True, "temperature": 0.7, "top_k": 20, "top_p": 0.8,
                       "repetition_penalty": 1.1}, file, indent=1)
            file.write("\n")
    save_file(weights, os.path.join(directory, "model.safetensors"), metadata={"format": "pt"})
    os.chmod(os.path.join(directory, "model.safetensors"), 0o644)
    write(directory, "prompt.txt", PROMPT)
    write(directory, "ids.txt", numbers(prompt))
    write(directory, "long.out", numbers(text))  # past the stop
    write(directory, "stopped.out", tokens.decode(text[:20]))
    write(directory, "stopped_ids.out", numbers(text[:20]))
    write(directory, "chat.out", "\n".join(tokens.decode(a) for a in talk))
    write(directory, "penalty.out", numbers(penalized))
    write(directory_model, "ids.txt", numbers(prompt_model))
    write(directory_model, "text.out", pieces.decode(model_text))
    write(directory_model, "ids.out", numbers(model_text))


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    base = sys.argv[1] if len(sys.argv) > 1 else here
    make(os.path.join(base, "generate"), os.path.join(base, "generate_model"))
