/* chat.h: conversations as the published chat models were trained to read them, their templates written by hand. It
   takes chat.c, and tokenizer.c with what that takes.

       chat talk;
       chat_opts opts = {CHAT_NONE, NULL, 0, NULL};
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

   A template writes the past anew for each answer: it drops the thoughts of Qwen 3 and GPT-OSS, or moves the system text
   (Mistral v3 and Nemo) to the last turn. So the whole conversation is rendered each time; a model that keeps what it
   has read goes on after the tokens that are the same.

   Special tokens are put in by their ids, and text between them is encoded as text: what a user writes never becomes a
   special token. Where a template's tags are text themselves ([INST] of Llama 2, <|user|> of Zephyr), a user can write
   them. Tools have no place here: a template's words about them are left out. */
#ifndef CHAT_H
#define CHAT_H

#include "tokenizer.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum chat_family {
    CHAT_NONE,
    CHAT_LLAMA2,       /* [INST] <<SYS>> */
    CHAT_LLAMA3,       /* <|start_header_id|>, no system text unless there is one */
    CHAT_LLAMA31,      /* 3.1, 3.2, 3.3: a system text with dates, always */
    CHAT_MISTRAL_V1,   /* [INST] as text: Mistral 7B 0.1, 0.2, Mixtral */
    CHAT_MISTRAL_V3,   /* as tokens: 7B 0.3, with spaces */
    CHAT_MISTRAL_NEMO, /* as tokens, without spaces: Nemo, Ministral */
    CHAT_MISTRAL_V7,   /* [SYSTEM_PROMPT]: Mistral Small 3 */
    CHAT_CHATML,       /* <|im_start|>, no system text unless there is one: SmolLM */
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
    chat_family family;
    const char *system; /* NULL: what the family has by default */
    int no_thinking;    /* Qwen 3, SmolLM3: the model shall answer at once */
    const char *date; /* today, in the words of the family; NULL: what the template says when it knows no date: "26 Jul
                           2024" for Llama 3.1, no line for SmolLM3, no line for GPT-OSS */
} chat_opts;

/* A stretch of text, or a special token by its spelling. */
typedef struct chat_run {
    size_t start, size; /* bytes of chat.text */
    int special;
} chat_run;

/* What somebody has said. */
typedef struct chat_message {
    size_t start, size; /* bytes of chat.said */
    int is_answer;      /* the model's; else the user's */
} chat_message;

typedef struct chat {
    chat_message *messages;
    size_t message_count;
    char *said;

    /* What chat_render has made of them. */
    char *text; /* with a NUL */
    size_t size;
    chat_run *runs;
    size_t count;

    /* for chat.c */
    chat_opts opts;
    int part; /* of an answer */
    char channel[16];
    size_t channel_size, said_size, text_room, run_room, message_room, said_room;
    int failed;
    char error[192];
} chat;

/* "llama2", "mistral-v3" and the like; NULL for what is no family. And back: CHAT_NONE if there is none. */
const char *chat_family_name(chat_family family);
chat_family chat_family_named(const char *name);

/* The family of a model, by the tell-tale words of its chat template; where it has none, by its special tokens and
   model_type of config.json (may be NULL). CHAT_NONE: nothing known. */
chat_family chat_family_of(const tokenizer *tokens, const char *model_type);

/* How the family's template writes today's date, for strftime, if it does so of its own accord; else NULL. */
const char *chat_date_format(const tokenizer *tokens, chat_family family);

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

/* Renders the conversation into text and runs, up to where the model is to answer: the user has said something last. */
const char *chat_render(chat *c);

/* Appends the tokens of what chat_render has made. A special token that the tokenizer lacks is an error. */
const char *chat_encode(chat *c, const tokenizer *tokens, tokenizer_ids *ids);

/* Before the first turn: renders two turns of nothing, and tells of a special token in them that the tokenizer lacks,
   or whose id is not below vocab_size. */
const char *chat_check(chat *c, const tokenizer *tokens, size_t vocab_size);

/* The tokens that end an answer: at most 4, those that the tokenizer has. Returns how many. */
size_t chat_stops(chat_family family, const tokenizer *tokens, int32_t stops[4]);

#ifdef __cplusplus
}
#endif
#endif
