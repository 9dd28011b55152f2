#include "chat.h"
#include "text.h"

#include <string.h>

/* ==== The templates ============================================================================================== */

/* A template, and the special tokens that it cannot do without, with spaces between. */
typedef struct family {
    const char *name, *tags, *text;
} family;

/* s: the system text, which is taken off the messages; else s is undefined. */
#define FIND_SYSTEM                                                                                                    \
    "{% if messages[0].role == 'system' %}{% set s = messages[0].content %}{% set messages = messages[1:] %}{% endif " \
    "%}"
#define CHATML                                                                                                         \
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"             \
    "{{ '<|im_start|>assistant\n' }}"
#define CHATML_WITH(words)                                                                                             \
    "{% if messages[0].role != 'system' %}{{ '<|im_start|>system\n" words "<|im_end|>\n' }}{% endif %}" CHATML
#define LLAMA3                                                                                                         \
    "{% for m in messages %}"                                                                                          \
    "{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\n\n' + m.content|trim + '<|eot_id|>' }}{% endfor %}"       \
    "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}"

/* Where the system text stands: a condition; what stands around the user's texts; what the model's become. */
#define MISTRAL(where, before, behind, answer)                                                                         \
    FIND_SYSTEM "<s>{% for m in messages %}{% if m.role == 'user' %}{{ '" before "' }}"                                \
                "{{ s + '\n\n' if s is defined and " where " }}{{ m.content + '" behind "' }}"                         \
                "{% else %}{{ " answer " + '</s>' }}{% endif %}{% endfor %}"
#define MISTRAL_V7(space)                                                                                              \
    "<s>{% for m in messages %}{% if m.role == 'system' %}{{ '[SYSTEM_PROMPT]" space                                   \
    "' + m.content + '[/SYSTEM_PROMPT]' }}"                                                                            \
    "{% elif m.role == 'user' %}{{ '[INST]" space "' + m.content + '[/INST]' }}"                                       \
    "{% else %}{{ '" space "' + m.content + '</s>' }}{% endif %}{% endfor %}"

/* clang-format off */
#define SMOLLM3_THOROUGH \
    "You are a helpful AI assistant named SmolLM, trained by Hugging Face. Your role as an assistant involves " \
    "thoroughly exploring questions through a systematic thinking process before providing the final precise and " \
    "accurate solutions. This requires engaging in a comprehensive cycle of analysis, summarizing, exploration, " \
    "reassessment, reflection, backtracking, and iteration to develop well-considered thinking process. Please " \
    "structure your response into two main sections: Thought and Solution using the specified format: <think> Thought" \
    " section </think> Solution section. In the Thought section, detail your reasoning process in steps. Each step " \
    "should include detailed considerations such as analysing questions, summarizing relevant findings, brainstorming" \
    " new ideas, verifying the accuracy of the current steps, refining any errors, and revisiting previous steps. In " \
    "the Solution section, based on various attempts, explorations, and reflections from the Thought section, " \
    "systematically present the final solution that you deem correct. The Solution section should be logical, " \
    "accurate, and concise and detail necessary steps needed to reach the conclusion."

static const family families[CHAT_FAMILIES] = {
    {NULL, "", ""},
    {"llama2", "<s> </s>",
     FIND_SYSTEM
     "{% for m in messages %}{% if m.role == 'user' %}"
     "{% set before = '<<SYS>>\n' + s + '\n<</SYS>>\n\n' if loop.first and s is defined else '' %}"
     "{{ '<s>[INST] ' + (before + m.content)|trim + ' [/INST]' }}"
     "{% else %}{{ ' ' + m.content|trim + ' </s>' }}{% endif %}{% endfor %}"},
    {"llama3", "<|begin_of_text|> <|start_header_id|> <|end_header_id|> <|eot_id|>", "<|begin_of_text|>" LLAMA3},
    {"llama3.1", "<|begin_of_text|> <|start_header_id|> <|end_header_id|> <|eot_id|>",
     "{% set s = '' %}" FIND_SYSTEM
     "{{ '<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\n' }}"
     "{{ 'Today Date: ' + date_string|default('26 Jul 2024') + '\n\n' + s|trim + '<|eot_id|>' }}" LLAMA3},
    {"mistral-v1", "<s> </s>", MISTRAL("loop.first", "[INST] ", " [/INST]", "m.content")},
    {"mistral-v3", "<s> </s> [INST] [/INST]", MISTRAL("loop.last", "[INST] ", "[/INST]", "' ' + m.content|trim")},
    {"mistral-nemo", "<s> </s> [INST] [/INST]", MISTRAL("loop.last", "[INST]", "[/INST]", "m.content")},
    {"mistral-v7", "<s> </s> [INST] [/INST] [SYSTEM_PROMPT] [/SYSTEM_PROMPT]", MISTRAL_V7("")},
    {"mistral-v7-spm", "<s> </s> [INST] [/INST] [SYSTEM_PROMPT] [/SYSTEM_PROMPT]", MISTRAL_V7(" ")},
    {"chatml", "<|im_start|> <|im_end|>", CHATML},
    {"qwen2", "<|im_start|> <|im_end|>", CHATML_WITH("You are a helpful assistant.")},
    {"qwen2.5", "<|im_start|> <|im_end|>",
     CHATML_WITH("You are Qwen, created by Alibaba Cloud. You are a helpful assistant.")},
    {"qwen3", "<|im_start|> <|im_end|>",
     "{% for m in messages %}{% set said = m.content %}"
     "{% if m.role == 'assistant' and '</think>' in said %}{% set said = said.split('</think>')[-1].lstrip('\n') %}"
     "{% endif %}{{ '<|im_start|>' + m.role + '\n' + said + '<|im_end|>\n' }}{% endfor %}"
     "{{ '<|im_start|>assistant\n' }}{{ '<think>\n\n</think>\n\n' if enable_thinking is defined }}"},
    {"smollm2", "<|im_start|> <|im_end|>",
     CHATML_WITH("You are a helpful AI assistant named SmolLM, trained by Hugging Face")},
    {"smollm3", "<|im_start|> <|im_end|>",
     "{% set s = '' %}" FIND_SYSTEM
     "{% set thinks = '/no_think' not in s and ('/think' in s or enable_thinking is not defined) %}"
     "{% set s = s.replace('/no_think', '').replace('/think', '').rstrip() %}"
     "{% set thought = '' if thinks else '<think>\n\n</think>\n' %}"
     "{{ '<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\n' }}"
     "{{ 'Today Date: ' + date_string + '\n' if date_string is defined }}"
     "{{ 'Reasoning Mode: ' + ('/think' if thinks else '/no_think') + '\n\n## Custom Instructions\n\n' }}"
     "{{ s or ('" SMOLLM3_THOROUGH "' if thinks else "
     "'You are a helpful AI assistant named SmolLM, trained by Hugging Face.') }}{{ '\n\n<|im_end|>\n' }}"
     "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}"
     "{{ m.content if m.role == 'user' else thought + m.content.lstrip('\n') }}{{ '<|im_end|>\n' }}{% endfor %}"
     "{{ '<|im_start|>assistant\n' + thought }}"},
    {"gemma", "<bos> <start_of_turn> <end_of_turn>",
     FIND_SYSTEM
     "<bos>{% for m in messages %}{{ '<start_of_turn>' + ('user' if m.role == 'user' else 'model') + '\n' }}"
     "{{ s + '\n\n' if loop.first and s is defined }}{{ m.content|trim + '<end_of_turn>\n' }}{% endfor %}"
     "{{ '<start_of_turn>model\n' }}"},
    {"gpt-oss", "<|start|> <|end|> <|message|> <|channel|>",
     "{{ '<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\n' }}"
     "{{ 'Knowledge cutoff: 2024-06\nCurrent date: ' + strftime_now('%Y-%m-%d') + '\n\nReasoning: medium\n\n' }}"
     "# Valid channels: analysis, commentary, final. Channel must be included for every message.<|end|>" FIND_SYSTEM
     "{{ '<|start|>developer<|message|># Instructions\n\n' + s + '\n\n<|end|>' if s }}"
     "{% for m in messages %}{{ '<|start|>' + m.role }}{{ '<|channel|>final' if m.role == 'assistant' }}"
     "{{ '<|message|>' + m.content + '<|end|>' }}{% endfor %}<|start|>assistant"},
    {"zephyr", "</s>",
     "{% for m in messages %}{{ '<|' + m.role + '|>\n' + m.content + '</s>\n' }}{% endfor %}{{ '<|assistant|>\n' }}"},
};
/* clang-format on */

const char *chat_family_name(chat_family which)
{
    return which > CHAT_NONE && which < CHAT_FAMILIES ? families[which].name : NULL;
}

chat_family chat_family_named(const char *name)
{
    for (int i = CHAT_NONE + 1; i < CHAT_FAMILIES; i++)
        if (strcmp(name, families[i].name) == 0)
            return (chat_family)i;
    return CHAT_NONE;
}

/* The first of these whose tokens there are, for a model of that type (NULL: of any). */
chat_family chat_family_of(const tokenizer *tokens, const char *type)
{
    static const struct {
        chat_family family;
        const char *type, *has[2];
    } rules[] = {{CHAT_GPT_OSS, NULL, {"<|channel|>", "<|message|>"}},
                 {CHAT_LLAMA31, NULL, {"<|start_header_id|>", "<|eom_id|>"}},
                 {CHAT_LLAMA3, NULL, {"<|start_header_id|>", "<|eot_id|>"}},
                 {CHAT_GEMMA, NULL, {"<start_of_turn>", "<end_of_turn>"}},
                 {CHAT_MISTRAL_V7, NULL, {"[SYSTEM_PROMPT]", "[INST]"}},
                 {CHAT_MISTRAL_NEMO, NULL, {"[INST]", "[/INST]"}},
                 {CHAT_SMOLLM3, "smollm3", {"<|im_start|>", "<|im_end|>"}},
                 {CHAT_QWEN3, "qwen3", {"<|im_start|>", "<|im_end|>"}},
                 {CHAT_QWEN25, "qwen2", {"<|im_start|>", "<|im_end|>"}},
                 {CHAT_CHATML, NULL, {"<|im_start|>", "<|im_end|>"}}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (tokenizer_special(tokens, rules[i].has[0]) >= 0 && tokenizer_special(tokens, rules[i].has[1]) >= 0 &&
            (!rules[i].type || (type && strcmp(type, rules[i].type) == 0))) {
            if (!tokens->is_bpe && rules[i].family == CHAT_MISTRAL_NEMO)
                return CHAT_MISTRAL_V3;
            return !tokens->is_bpe && rules[i].family == CHAT_MISTRAL_V7 ? CHAT_MISTRAL_V7_SPM : rules[i].family;
        }
    return CHAT_NONE;
}

/* ==== The conversation =========================================================================================== */

static const char *result(chat *c)
{
    return c->failed ? c->error : NULL;
}

static void fail(chat *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!c->failed)
        vsnprintf(c->error, sizeof c->error, format, arguments);
    va_end(arguments);
    c->failed = 1;
}

/* Memory of *room items of `size` bytes at `items`, with room for `more` beyond `count`; NULL after an error. */
static void *make_room(chat *c, void *items, size_t size, size_t count, size_t more, size_t *room)
{
    items = text_grow(items, size, count, more, room);
    if (!items)
        fail(c, TEXT_NO_MEMORY);
    return items;
}

static const char *template_of(const chat *c)
{
    return c->opts.family == CHAT_NONE ? c->opts.tokens->chat_template : families[c->opts.family].text;
}

const char *chat_begin(chat *c, const chat_opts *opts)
{
    memset(c, 0, sizeof *c);
    c->opts = *opts;
    c->stop = -1;
    if (opts->family == CHAT_NONE ? !opts->tokens || !opts->tokens->chat_template : !chat_family_name(opts->family))
        fail(c, "no chat template is known for this model");
    else if (opts->no_thinking && !strstr(template_of(c), "enable_thinking"))
        fail(c, "the chat template knows no enable_thinking, so that the model cannot be asked to answer at once");
    else
        c->has_channels = strstr(template_of(c), "<|channel|>") && strstr(template_of(c), "<|message|>");
    return result(c);
}

void chat_end(chat *c)
{
    jinja_end(&c->rendered);
    free(c->messages);
    free(c->said);
    c->said = NULL;
    c->messages = NULL;
    c->message_count = c->said_size = c->message_room = c->said_room = 0;
}

/* Appends to the last message. */
static void say(chat *c, const char *text, size_t size)
{
    char *longer;
    if (c->failed || size == 0 || !(longer = (char *)make_room(c, c->said, 1, c->said_size, size, &c->said_room)))
        return;
    c->said = longer;
    memcpy(c->said + c->said_size, text, size);
    c->said_size += size;
    c->messages[c->message_count - 1].size += size;
}

static const char *add_message(chat *c, int is_answer, const char *text, size_t size)
{
    chat_message *m = NULL;
    if (!c->failed)
        m = (chat_message *)make_room(c, c->messages, sizeof *m, c->message_count, 1, &c->message_room);
    if (!m)
        return result(c);
    c->messages = m;
    m += c->message_count++;
    m->is_answer = is_answer;
    m->start = c->said_size;
    m->size = 0;
    say(c, text, size);
    return result(c);
}

const char *chat_user(chat *c, const char *text, size_t size)
{
    return add_message(c, 0, text, size);
}

const char *chat_assistant(chat *c, const char *text, size_t size)
{
    return add_message(c, 1, text, size);
}

/* ---- an answer, token by token ---- */

enum { HEADER, CHANNEL, FINAL, THOUGHT }; /* what GPT-OSS is writing; the others only write what is FINAL */

const char *chat_answer(chat *c)
{
    c->part = c->has_channels ? HEADER : FINAL;
    c->channel_size = 0;
    return add_message(c, 1, NULL, 0);
}

static int is_token(const tokenizer *tokens, int32_t id, const char *name)
{
    return id >= 0 && id == tokenizer_special(tokens, name);
}

/* GPT-OSS answers in messages <|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final<|message|>...
   Returns whether a token is one of these tags. */
static int take_tag(chat *c, const tokenizer *tokens, int32_t id)
{
    static const char final[] = "final";
    const size_t size = sizeof final - 1;
    if (is_token(tokens, id, "<|channel|>")) {
        c->part = CHANNEL;
        c->channel_size = 0;
    } else if (is_token(tokens, id, "<|message|>")) {
        int is_final = c->channel_size >= size && !memcmp(c->channel, final, size) &&
                       (c->channel_size == size || c->channel[size] == ' '); /* or " json" */
        c->part = is_final || c->part == HEADER ? FINAL : THOUGHT;
    } else if (is_token(tokens, id, "<|end|>") || is_token(tokens, id, "<|start|>")) {
        c->part = HEADER;
    } else {
        return 0;
    }
    return 1;
}

int chat_hear(chat *c, const tokenizer *tokens, int32_t id, const char *bytes, size_t size)
{
    if (c->has_channels && take_tag(c, tokens, id))
        return 0;
    if (c->part == CHANNEL)
        for (size_t i = 0; i < size && c->channel_size < sizeof c->channel; i++)
            c->channel[c->channel_size++] = bytes[i];
    if (c->part == FINAL)
        say(c, bytes, size);
    return c->part == FINAL;
}

/* ==== What the model reads ======================================================================================= */

enum { USER = 1, MODEL = 2 }; /* marks of who has said a byte */

/* What `transformers` gives to a template. */
static void fill(jinja *j, void *context)
{
    const chat *c = (const chat *)context;
    const tokenizer *tokens = c->opts.tokens;
    size_t at = 0;
    if (c->opts.system)
        jinja_say(j, "system", c->opts.system, strlen(c->opts.system), USER);
    for (size_t i = 0; i < c->message_count; i++) {
        const chat_message *m = &c->messages[i];
        const char *text = c->said ? c->said + m->start : "";
        jinja_say(j, m->is_answer ? "assistant" : "user", text, m->size, m->is_answer ? MODEL : USER);
    }
    while (tokens && at < tokens->names_size) { /* names and tokens in turn */
        const char *name = tokens->names + at, *token = name + strlen(name) + 1;
        jinja_set(j, name, token);
        at = (size_t)(token - tokens->names) + strlen(token) + 1;
    }
    jinja_set(j, "tools", NULL);
    jinja_set(j, "documents", NULL);
    jinja_flag(j, "add_generation_prompt", 1);
    if (c->opts.no_thinking)
        jinja_flag(j, "enable_thinking", 0);
    if (c->opts.date)
        jinja_set(j, "date_string", c->opts.date);
}

const char *chat_render(chat *c)
{
    const char *error;
    if (c->failed)
        return c->error;
    jinja_end(&c->rendered);
    error = jinja_render(&c->rendered, template_of(c), strlen(template_of(c)), c->opts.date, fill, c);
    if (error)
        fail(c, strcmp(error, TEXT_NO_MEMORY) ? "chat template: %s" : "%s", error);
    c->text = c->rendered.text;
    c->size = c->rendered.size;
    return result(c);
}

/* Whether the template itself has written this. */
static int has_written(const chat *c, const char *tag, size_t size)
{
    for (const char *at = c->text; (at = strstr(at, tag)) != NULL; at++) {
        size_t i = 0;
        while (i < size && !c->rendered.said[(size_t)(at - c->text) + i])
            i++;
        if (i == size)
            return 1;
    }
    return 0;
}

/* What a family's template has written must be tokens, with ids below vocab_size. */
static void check_tags(chat *c, const tokenizer *tokens, size_t vocab_size)
{
    const char *tags = families[c->opts.family].tags, *kind = families[c->opts.family].name;
    char tag[64];
    for (size_t size; *tags; tags += size + (tags[size] == ' ')) {
        int32_t id;
        size = strcspn(tags, " ");
        memcpy(tag, tags, size);
        tag[size] = 0;
        id = tokenizer_special(tokens, tag);
        if ((id >= 0 && (size_t)id < vocab_size) || !has_written(c, tag, size))
            continue;
        if (id < 0)
            fail(c, "the chat template %s needs a token %s, which the tokenizer lacks", kind, tag);
        else
            fail(c, "the chat template %s needs a token %s, which is %ld: config.json has a vocab_size of %lu", kind,
                 tag, (long)id, (unsigned long)vocab_size);
    }
}

const char *chat_encode(chat *c, const tokenizer *tokens, tokenizer_ids *ids)
{
    const char *error;
    if (!c->failed)
        check_tags(c, tokens, SIZE_MAX);
    if (!c->failed && (error = tokenizer_encode_said(tokens, c->text, c->rendered.said, c->size, ids)) != NULL)
        fail(c, "%s", error);
    return result(c);
}

/* The special token that stands behind what the model has said, with no more than white space between; -1: none. */
static int32_t token_behind(chat *c, const tokenizer *tokens)
{
    tokenizer_ids ids = {NULL, 0, 0};
    const char *error = NULL;
    size_t at = c->size;
    int32_t found = -1;
    while (at > 0 && c->rendered.said[at - 1] != MODEL)
        at--;
    while (at < c->size && strchr(" \n\t\r", c->text[at]))
        at++;
    if (at > 0 && (error = tokenizer_encode_said(tokens, c->text + at, c->rendered.said + at, c->size - at, &ids)))
        fail(c, "%s", error);
    for (size_t i = 0; i < ids.count && i < 2 && found < 0; i++) { /* some tokenizers begin with a space */
        char piece[8];
        size_t size = tokenizer_piece(tokens, ids.ids[i], 0, piece, sizeof piece);
        if (size > 1 || (size == 1 && *piece != ' '))
            break;
        found = size == 0 ? ids.ids[i] : -1;
    }
    tokenizer_ids_free(&ids);
    return found;
}

/* Renders the turns so far, for chat_check. */
static void try_turns(chat *c, const tokenizer *tokens, size_t vocab_size)
{
    tokenizer_ids ids = {NULL, 0, 0};
    chat_render(c);
    if (!c->failed)
        check_tags(c, tokens, vocab_size);
    chat_encode(c, tokens, &ids);
    for (size_t i = 0; i < ids.count && !c->failed; i++)
        if ((size_t)ids.ids[i] >= vocab_size)
            fail(c, "the chat template needs a token %ld: config.json has a vocab_size of %lu", (long)ids.ids[i],
                 (unsigned long)vocab_size);
    tokenizer_ids_free(&ids);
}

const char *chat_check(chat *c, const tokenizer *tokens, size_t vocab_size)
{
    chat_user(c, "a", 1);
    try_turns(c, tokens, vocab_size);
    chat_assistant(c, "b", 1);
    chat_user(c, "a", 1);
    if (!c->failed) {
        try_turns(c, tokens, vocab_size);
        if (!c->failed)
            c->stop = token_behind(c, tokens);
        else if (c->opts.family == CHAT_NONE && strcmp(c->error, TEXT_NO_MEMORY) != 0)
            c->failed = 0; /* a template of one turn */
    }
    c->message_count = c->said_size = 0;
    return result(c);
}

size_t chat_stops(const chat *c, const tokenizer *tokens, int32_t stops[4])
{
    /* Llama 3.1 hands over to tools with <|eom_id|>, GPT-OSS with <|call|>: nobody answers here. */
    const int32_t found[] = {c->has_channels ? tokenizer_special(tokens, "<|return|>") : c->stop,
                             tokenizer_special(tokens, c->has_channels ? "<|call|>" : "<|eom_id|>")};
    size_t count = 0;
    for (size_t i = 0; i < 2; i++)
        if (found[i] >= 0 && (i == 0 || c->has_channels || c->stop == tokenizer_special(tokens, "<|eot_id|>")))
            stops[count++] = found[i];
    return count;
}
