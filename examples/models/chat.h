/* chat.h: conversations as chat models were trained to read them: rendered from the model's own template, or from one
   of the templates of families that are in chat.c. It takes chat.c, jinja.c and tokenizer.c with what that takes.

       chat talk;
       chat_opts opts = {CHAT_NONE, NULL, 0, NULL, &tokens};
       if (!tokens.chat_template)
           opts.family = chat_family_of(&tokens, "llama");
       const char *error = chat_begin(&talk, &opts);
       if (!error)
           error = chat_user(&talk, "Who are you?", 12);
       if (!error)
           error = chat_render(&talk);                            // all of it, up to where the model is to answer
       if (!error)
           error = chat_encode(&talk, &tokens, &ids);             // its tokens, for the model
       if (!error)
           error = chat_assistant(&talk, answer, strlen(answer)); // what it has answered
       ... chat_user, chat_render, chat_encode ...
       chat_end(&talk);

   A template writes the past anew for each answer: it drops thoughts, or moves the system text to the last turn. So the
   whole conversation is rendered each time; a model that keeps what it has read goes on after the tokens that are the
   same.

   A template of the model's own is rendered as `transformers` does it, by jinja.h: messages, add_generation_prompt, no
   tools, no documents, and the tokens that tokenizer_config.json names, such as bos_token. A message says what cannot
   be. Special tokens are found in what the template writes, as `tokenizers` finds them; what a user or the model
   has written never becomes one. Where a template's tags are text themselves ([INST] of Llama 2, <|user|> of Zephyr), a
   user can write them. */
#ifndef CHAT_H
#define CHAT_H

#include "jinja.h"
#include "tokenizer.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum chat_family {
    CHAT_NONE,
    CHAT_LLAMA2,         /* [INST] <<SYS>> */
    CHAT_LLAMA3,         /* <|start_header_id|>, no system text unless there is one */
    CHAT_LLAMA31,        /* 3.1, 3.2, 3.3: a system text with dates, always */
    CHAT_MISTRAL_V1,     /* [INST] as text: Mistral 7B 0.1, 0.2, Mixtral */
    CHAT_MISTRAL_V3,     /* as tokens: 7B 0.3, with spaces */
    CHAT_MISTRAL_NEMO,   /* as tokens, without spaces: Nemo, Ministral */
    CHAT_MISTRAL_V7,     /* [SYSTEM_PROMPT]: Mistral Small 3 */
    CHAT_MISTRAL_V7_SPM, /* with spaces, of a tokenizer.model: Mistral Large 2411 */
    CHAT_CHATML,         /* <|im_start|>, no system text unless there is one: SmolLM */
    CHAT_QWEN2,
    CHAT_QWEN25,
    CHAT_QWEN3,
    CHAT_SMOLLM2,
    CHAT_SMOLLM3,
    CHAT_GEMMA, /* 2 and 3: <start_of_turn>, the system text is the beginning of the first user's turn */
    CHAT_GPT_OSS,
    CHAT_ZEPHYR, /* and TinyLlama: <|user|> as text */
    CHAT_FAMILIES
} chat_family;

typedef struct chat_opts {
    chat_family family;      /* CHAT_NONE: the template of `tokens` */
    const char *system;      /* NULL: what the template has by default */
    int no_thinking;         /* the template shall say that the model is to answer at once, if it has words for that */
    const char *date;        /* today, in the words of the template; NULL: by the clock, if it asks for that */
    const tokenizer *tokens; /* may be NULL with a family */
} chat_opts;

/* What somebody has said. */
typedef struct chat_message {
    size_t start, size; /* bytes of chat.said */
    int is_answer;      /* the model's; else the user's */
} chat_message;

typedef struct chat {
    chat_message *messages;
    size_t message_count;
    char *said;

    /* What chat_render has made of them: with a NUL. */
    const char *text;
    size_t size;

    int has_channels; /* GPT-OSS: the model thinks in channels of its own */

    /* for chat.c */
    chat_opts opts;
    int part; /* of an answer */
    char channel[16];
    size_t channel_size, said_size, message_room, said_room;
    jinja rendered;
    int32_t stop; /* ends an answer; -1: not known */
    int failed;
    char error[640];
} chat;

/* "llama2", "mistral-v3" and the like; NULL for what is no family. And back: CHAT_NONE if there is none. */
const char *chat_family_name(chat_family family);
chat_family chat_family_named(const char *name);

/* The family that stands in for a model that has no template: by its special tokens, and model_type of config.json (may
   be NULL). CHAT_NONE: nothing known. */
chat_family chat_family_of(const tokenizer *tokens, const char *model_type);

/* Begins a conversation; the strings of opts must stay. All return NULL, or a message that lives in c->error; the first
   stays. */
const char *chat_begin(chat *c, const chat_opts *opts);
void chat_end(chat *c);

/* The user says something; or the model has said it, thoughts and all, as it wrote them. They take turns, the user
   first. */
const char *chat_user(chat *c, const char *text, size_t size);
const char *chat_assistant(chat *c, const char *text, size_t size);

/* The same while the model writes: chat_answer, then chat_hear with each token and the bytes that it adds. Returns
   whether these are for the user: of GPT-OSS only what goes to the channel "final" is, and becomes the message; of the
   others all. */
const char *chat_answer(chat *c);
int chat_hear(chat *c, const tokenizer *tokens, int32_t id, const char *bytes, size_t size);

/* Renders the conversation, up to where the model is to answer: the user has said something last. */
const char *chat_render(chat *c);

/* Appends the tokens of what chat_render has made. A special token of a family's that the tokenizer lacks is an error;
   of a model's own template, what is no token is text. */
const char *chat_encode(chat *c, const tokenizer *tokens, tokenizer_ids *ids);

/* Before the first turn: renders turns of a letter each, and tells of what cannot be rendered, and of a token that the
   tokenizer lacks, or whose id is not below vocab_size. */
const char *chat_check(chat *c, const tokenizer *tokens, size_t vocab_size);

/* After chat_check, the tokens that end an answer, at most 4: that which stands behind an answer in the past. Returns
   how many. */
size_t chat_stops(const chat *c, const tokenizer *tokens, int32_t stops[4]);

#ifdef __cplusplus
}
#endif
#endif
