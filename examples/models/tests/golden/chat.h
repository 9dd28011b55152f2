/* Written by make_chat.py with transformers 4.57.6, for test_chat.c. */
/* clang-format off */

/* Texts of user and assistant in turn. */
static const char *const chat_conversations[][8] = {
    {"What is a fathom?", NULL},
    {" What is a fathom? \n", NULL},
    {"What is a fathom?", "Six feet of water.", "And a league?", NULL},
    {" one \n", "\n\n two \n", "three\n", "<think>\nFour? Five.\n</think>\n\nfour", "\011five", NULL},
    {"\342\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037 ", "\342\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037 ", "\342\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037 ", NULL},
    {"", NULL},
    {"What is a knot?", "<think>\nAt sea.\n</think>\n\nA mile an hour.", "Nothing else?", "<think>\n\n</think>\n\n\nNo.", "Sure?", "Yes.", "Now think!", NULL},
    {"a", "<think>\nThe answer was cut", "b", "<think>\none </think> two\n</think>\n\n\n <think>three", "c", "four\n</think>", "</think>", NULL}};

/* Template, family, no_thinking, date, conversation, system text, and what it is rendered to. */
static const chat_golden chat_goldens[] = {
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, NULL, 0, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWha"
     "t is a fathom?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, NULL, 0, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\nWhat is a fathom?<|eot_id|><|start_header_id|>assistant<|end_"
     "header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, NULL, 1, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWha"
     "t is a fathom?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, NULL, 1, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\nWhat is a fathom?<|eot_id|><|start_header_id|>assistant<|end_"
     "header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, NULL, 2, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWha"
     "t is a fathom?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nSix feet of water.<|"
     "eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd a league?<|eot_id|><|start_header_id|"
     ">assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, NULL, 2, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\nWhat is a fathom?<|eot_id|><|start_header_id|>assistant<|end_"
     "header_id|>\n\nSix feet of water.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd a "
     "league?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, NULL, 2, "Be brief. /no_think Really.\n\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\nBe brief. /no_think Really.<|eot_id|><|start_header_id|>u"
     "ser<|end_header_id|>\n\nWhat is a fathom?<|eot_id|><|start_header_id|>assistant<|end_header_i"
     "d|>\n\nSix feet of water.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd a league?<"
     "|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, NULL, 2, "",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWha"
     "t is a fathom?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nSix feet of water.<|"
     "eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd a league?<|eot_id|><|start_header_id|"
     ">assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, NULL, 3, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\none"
     "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\ntwo<|eot_id|><|start_header_id|>us"
     "er<|end_header_id|>\n\nthree<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<think"
     ">\nFour? Five.\n</think>\n\nfour<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nfive<|e"
     "ot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, NULL, 3, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\none<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
     "two<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nthree<|eot_id|><|start_header_id|>as"
     "sistant<|end_header_id|>\n\n<think>\nFour? Five.\n</think>\n\nfour<|eot_id|><|start_header_id"
     "|>user<|end_header_id|>\n\nfive<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, NULL, 4, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n{br"
     "aces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200<|eot_id|><|start_header_id|>assist"
     "ant<|end_header_id|>\n\n{braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200<|eot_id"
     "|><|start_header_id|>user<|end_header_id|>\n\n{braces} <s> [INST] <|im_start|> caf\303\251 \360"
     "\237\246\200<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, NULL, 4, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\n{braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200"
     "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n{braces} <s> [INST] <|im_start|> c"
     "af\303\251 \360\237\246\200<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n{braces} <s>"
     " [INST] <|im_start|> caf\303\251 \360\237\246\200<|eot_id|><|start_header_id|>assistant<|end_"
     "header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, NULL, 5, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n<|e"
     "ot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, NULL, 5, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\n<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, NULL, 6, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWha"
     "t is a knot?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<think>\nAt sea.\n</th"
     "ink>\n\nA mile an hour.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nNothing else?<|e"
     "ot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<think>\n\n</think>\n\n\nNo.<|eot_id|"
     "><|start_header_id|>user<|end_header_id|>\n\nSure?<|eot_id|><|start_header_id|>assistant<|end"
     "_header_id|>\n\nYes.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nNow think!<|eot_id|"
     "><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, NULL, 6, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\nWhat is a knot?<|eot_id|><|start_header_id|>assistant<|end_he"
     "ader_id|>\n\n<think>\nAt sea.\n</think>\n\nA mile an hour.<|eot_id|><|start_header_id|>user<|"
     "end_header_id|>\n\nNothing else?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<t"
     "hink>\n\n</think>\n\n\nNo.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nSure?<|eot_id"
     "|><|start_header_id|>assistant<|end_header_id|>\n\nYes.<|eot_id|><|start_header_id|>user<|end"
     "_header_id|>\n\nNow think!<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, NULL, 7, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\na<|"
     "eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<think>\nThe answer was cut<|eot_id|"
     "><|start_header_id|>user<|end_header_id|>\n\nb<|eot_id|><|start_header_id|>assistant<|end_hea"
     "der_id|>\n\n<think>\none </think> two\n</think>\n\n\n <think>three<|eot_id|><|start_header_id"
     "|>user<|end_header_id|>\n\nc<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nfour\n"
     "</think><|eot_id|><|start_header_id|>user<|end_header_id|>\n\n</think><|eot_id|><|start_heade"
     "r_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, NULL, 7, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\na<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<"
     "think>\nThe answer was cut<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nb<|eot_id|><|"
     "start_header_id|>assistant<|end_header_id|>\n\n<think>\none </think> two\n</think>\n\n\n <thi"
     "nk>three<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nc<|eot_id|><|start_header_id|>a"
     "ssistant<|end_header_id|>\n\nfour\n</think><|eot_id|><|start_header_id|>user<|end_header_id|>"
     "\n\n</think><|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 0, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWha"
     "t is a fathom?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 0, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\nWhat is a fathom?<|eot_id|><|start_header_id|>assistant<|end_"
     "header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 1, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWha"
     "t is a fathom?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 1, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\nWhat is a fathom?<|eot_id|><|start_header_id|>assistant<|end_"
     "header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 2, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWha"
     "t is a fathom?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nSix feet of water.<|"
     "eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd a league?<|eot_id|><|start_header_id|"
     ">assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 2, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\nWhat is a fathom?<|eot_id|><|start_header_id|>assistant<|end_"
     "header_id|>\n\nSix feet of water.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd a "
     "league?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 2, "Be brief. /no_think Really.\n\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\nBe brief. /no_think Really.<|eot_id|><|start_header_id|>u"
     "ser<|end_header_id|>\n\nWhat is a fathom?<|eot_id|><|start_header_id|>assistant<|end_header_i"
     "d|>\n\nSix feet of water.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd a league?<"
     "|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 2, "",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWha"
     "t is a fathom?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nSix feet of water.<|"
     "eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd a league?<|eot_id|><|start_header_id|"
     ">assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 3, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\none"
     "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\ntwo<|eot_id|><|start_header_id|>us"
     "er<|end_header_id|>\n\nthree<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<think"
     ">\nFour? Five.\n</think>\n\nfour<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nfive<|e"
     "ot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 3, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\none<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
     "two<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nthree<|eot_id|><|start_header_id|>as"
     "sistant<|end_header_id|>\n\n<think>\nFour? Five.\n</think>\n\nfour<|eot_id|><|start_header_id"
     "|>user<|end_header_id|>\n\nfive<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 4, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n{br"
     "aces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200<|eot_id|><|start_header_id|>assist"
     "ant<|end_header_id|>\n\n{braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200<|eot_id"
     "|><|start_header_id|>user<|end_header_id|>\n\n{braces} <s> [INST] <|im_start|> caf\303\251 \360"
     "\237\246\200<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 4, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\n{braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200"
     "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n{braces} <s> [INST] <|im_start|> c"
     "af\303\251 \360\237\246\200<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n{braces} <s>"
     " [INST] <|im_start|> caf\303\251 \360\237\246\200<|eot_id|><|start_header_id|>assistant<|end_"
     "header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 5, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n<|e"
     "ot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 5, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\n<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 6, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWha"
     "t is a knot?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<think>\nAt sea.\n</th"
     "ink>\n\nA mile an hour.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nNothing else?<|e"
     "ot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<think>\n\n</think>\n\n\nNo.<|eot_id|"
     "><|start_header_id|>user<|end_header_id|>\n\nSure?<|eot_id|><|start_header_id|>assistant<|end"
     "_header_id|>\n\nYes.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nNow think!<|eot_id|"
     "><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 6, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\nWhat is a knot?<|eot_id|><|start_header_id|>assistant<|end_he"
     "ader_id|>\n\n<think>\nAt sea.\n</think>\n\nA mile an hour.<|eot_id|><|start_header_id|>user<|"
     "end_header_id|>\n\nNothing else?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<t"
     "hink>\n\n</think>\n\n\nNo.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nSure?<|eot_id"
     "|><|start_header_id|>assistant<|end_header_id|>\n\nYes.<|eot_id|><|start_header_id|>user<|end"
     "_header_id|>\n\nNow think!<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 7, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\na<|"
     "eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<think>\nThe answer was cut<|eot_id|"
     "><|start_header_id|>user<|end_header_id|>\n\nb<|eot_id|><|start_header_id|>assistant<|end_hea"
     "der_id|>\n\n<think>\none </think> two\n</think>\n\n\n <think>three<|eot_id|><|start_header_id"
     "|>user<|end_header_id|>\n\nc<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nfour\n"
     "</think><|eot_id|><|start_header_id|>user<|end_header_id|>\n\n</think><|eot_id|><|start_heade"
     "r_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.1-8B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 7, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\na<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<"
     "think>\nThe answer was cut<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nb<|eot_id|><|"
     "start_header_id|>assistant<|end_header_id|>\n\n<think>\none </think> two\n</think>\n\n\n <thi"
     "nk>three<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nc<|eot_id|><|start_header_id|>a"
     "ssistant<|end_header_id|>\n\nfour\n</think><|eot_id|><|start_header_id|>user<|end_header_id|>"
     "\n\n</think><|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.2-3B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 0, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWha"
     "t is a fathom?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.2-3B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 0, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\nWhat is a fathom?<|eot_id|><|start_header_id|>assistant<|end_"
     "header_id|>\n\n"},
    {"meta-llama-Llama-3.2-3B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 1, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWha"
     "t is a fathom?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.2-3B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 1, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\nWhat is a fathom?<|eot_id|><|start_header_id|>assistant<|end_"
     "header_id|>\n\n"},
    {"meta-llama-Llama-3.2-3B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 2, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWha"
     "t is a fathom?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nSix feet of water.<|"
     "eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd a league?<|eot_id|><|start_header_id|"
     ">assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.2-3B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 2, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\nWhat is a fathom?<|eot_id|><|start_header_id|>assistant<|end_"
     "header_id|>\n\nSix feet of water.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd a "
     "league?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.2-3B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 2, "Be brief. /no_think Really.\n\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\nBe brief. /no_think Really.<|eot_id|><|start_header_id|>u"
     "ser<|end_header_id|>\n\nWhat is a fathom?<|eot_id|><|start_header_id|>assistant<|end_header_i"
     "d|>\n\nSix feet of water.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd a league?<"
     "|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.2-3B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 2, "",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWha"
     "t is a fathom?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nSix feet of water.<|"
     "eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd a league?<|eot_id|><|start_header_id|"
     ">assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.2-3B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 3, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\none"
     "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\ntwo<|eot_id|><|start_header_id|>us"
     "er<|end_header_id|>\n\nthree<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<think"
     ">\nFour? Five.\n</think>\n\nfour<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nfive<|e"
     "ot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.2-3B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 3, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\none<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
     "two<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nthree<|eot_id|><|start_header_id|>as"
     "sistant<|end_header_id|>\n\n<think>\nFour? Five.\n</think>\n\nfour<|eot_id|><|start_header_id"
     "|>user<|end_header_id|>\n\nfive<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.2-3B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 4, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n{br"
     "aces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200<|eot_id|><|start_header_id|>assist"
     "ant<|end_header_id|>\n\n{braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200<|eot_id"
     "|><|start_header_id|>user<|end_header_id|>\n\n{braces} <s> [INST] <|im_start|> caf\303\251 \360"
     "\237\246\200<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.2-3B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 4, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\n{braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200"
     "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n{braces} <s> [INST] <|im_start|> c"
     "af\303\251 \360\237\246\200<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n{braces} <s>"
     " [INST] <|im_start|> caf\303\251 \360\237\246\200<|eot_id|><|start_header_id|>assistant<|end_"
     "header_id|>\n\n"},
    {"meta-llama-Llama-3.2-3B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 5, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n<|e"
     "ot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.2-3B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 5, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\n<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.2-3B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 6, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWha"
     "t is a knot?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<think>\nAt sea.\n</th"
     "ink>\n\nA mile an hour.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nNothing else?<|e"
     "ot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<think>\n\n</think>\n\n\nNo.<|eot_id|"
     "><|start_header_id|>user<|end_header_id|>\n\nSure?<|eot_id|><|start_header_id|>assistant<|end"
     "_header_id|>\n\nYes.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nNow think!<|eot_id|"
     "><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.2-3B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 6, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\nWhat is a knot?<|eot_id|><|start_header_id|>assistant<|end_he"
     "ader_id|>\n\n<think>\nAt sea.\n</think>\n\nA mile an hour.<|eot_id|><|start_header_id|>user<|"
     "end_header_id|>\n\nNothing else?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<t"
     "hink>\n\n</think>\n\n\nNo.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nSure?<|eot_id"
     "|><|start_header_id|>assistant<|end_header_id|>\n\nYes.<|eot_id|><|start_header_id|>user<|end"
     "_header_id|>\n\nNow think!<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.2-3B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 7, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\na<|"
     "eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<think>\nThe answer was cut<|eot_id|"
     "><|start_header_id|>user<|end_header_id|>\n\nb<|eot_id|><|start_header_id|>assistant<|end_hea"
     "der_id|>\n\n<think>\none </think> two\n</think>\n\n\n <think>three<|eot_id|><|start_header_id"
     "|>user<|end_header_id|>\n\nc<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nfour\n"
     "</think><|eot_id|><|start_header_id|>user<|end_header_id|>\n\n</think><|eot_id|><|start_heade"
     "r_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.2-3B-Instruct", CHAT_LLAMA31, 0, "24 Nov 2026", 7, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 24 Nov 2026\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\na<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<"
     "think>\nThe answer was cut<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nb<|eot_id|><|"
     "start_header_id|>assistant<|end_header_id|>\n\n<think>\none </think> two\n</think>\n\n\n <thi"
     "nk>three<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nc<|eot_id|><|start_header_id|>a"
     "ssistant<|end_header_id|>\n\nfour\n</think><|eot_id|><|start_header_id|>user<|end_header_id|>"
     "\n\n</think><|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.3-70B-Instruct", CHAT_LLAMA31, 0, NULL, 0, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWha"
     "t is a fathom?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.3-70B-Instruct", CHAT_LLAMA31, 0, NULL, 0, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\nWhat is a fathom?<|eot_id|><|start_header_id|>assistant<|end_"
     "header_id|>\n\n"},
    {"meta-llama-Llama-3.3-70B-Instruct", CHAT_LLAMA31, 0, NULL, 1, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWha"
     "t is a fathom?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.3-70B-Instruct", CHAT_LLAMA31, 0, NULL, 1, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\nWhat is a fathom?<|eot_id|><|start_header_id|>assistant<|end_"
     "header_id|>\n\n"},
    {"meta-llama-Llama-3.3-70B-Instruct", CHAT_LLAMA31, 0, NULL, 2, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWha"
     "t is a fathom?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nSix feet of water.<|"
     "eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd a league?<|eot_id|><|start_header_id|"
     ">assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.3-70B-Instruct", CHAT_LLAMA31, 0, NULL, 2, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\nWhat is a fathom?<|eot_id|><|start_header_id|>assistant<|end_"
     "header_id|>\n\nSix feet of water.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd a "
     "league?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.3-70B-Instruct", CHAT_LLAMA31, 0, NULL, 2, "Be brief. /no_think Really.\n\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\nBe brief. /no_think Really.<|eot_id|><|start_header_id|>u"
     "ser<|end_header_id|>\n\nWhat is a fathom?<|eot_id|><|start_header_id|>assistant<|end_header_i"
     "d|>\n\nSix feet of water.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd a league?<"
     "|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.3-70B-Instruct", CHAT_LLAMA31, 0, NULL, 2, "",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWha"
     "t is a fathom?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nSix feet of water.<|"
     "eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd a league?<|eot_id|><|start_header_id|"
     ">assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.3-70B-Instruct", CHAT_LLAMA31, 0, NULL, 3, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\none"
     "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\ntwo<|eot_id|><|start_header_id|>us"
     "er<|end_header_id|>\n\nthree<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<think"
     ">\nFour? Five.\n</think>\n\nfour<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nfive<|e"
     "ot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.3-70B-Instruct", CHAT_LLAMA31, 0, NULL, 3, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\none<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
     "two<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nthree<|eot_id|><|start_header_id|>as"
     "sistant<|end_header_id|>\n\n<think>\nFour? Five.\n</think>\n\nfour<|eot_id|><|start_header_id"
     "|>user<|end_header_id|>\n\nfive<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.3-70B-Instruct", CHAT_LLAMA31, 0, NULL, 4, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n{br"
     "aces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200<|eot_id|><|start_header_id|>assist"
     "ant<|end_header_id|>\n\n{braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200<|eot_id"
     "|><|start_header_id|>user<|end_header_id|>\n\n{braces} <s> [INST] <|im_start|> caf\303\251 \360"
     "\237\246\200<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.3-70B-Instruct", CHAT_LLAMA31, 0, NULL, 4, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\n{braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200"
     "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n{braces} <s> [INST] <|im_start|> c"
     "af\303\251 \360\237\246\200<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n{braces} <s>"
     " [INST] <|im_start|> caf\303\251 \360\237\246\200<|eot_id|><|start_header_id|>assistant<|end_"
     "header_id|>\n\n"},
    {"meta-llama-Llama-3.3-70B-Instruct", CHAT_LLAMA31, 0, NULL, 5, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n<|e"
     "ot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.3-70B-Instruct", CHAT_LLAMA31, 0, NULL, 5, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\n<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.3-70B-Instruct", CHAT_LLAMA31, 0, NULL, 6, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWha"
     "t is a knot?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<think>\nAt sea.\n</th"
     "ink>\n\nA mile an hour.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nNothing else?<|e"
     "ot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<think>\n\n</think>\n\n\nNo.<|eot_id|"
     "><|start_header_id|>user<|end_header_id|>\n\nSure?<|eot_id|><|start_header_id|>assistant<|end"
     "_header_id|>\n\nYes.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nNow think!<|eot_id|"
     "><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.3-70B-Instruct", CHAT_LLAMA31, 0, NULL, 6, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\nWhat is a knot?<|eot_id|><|start_header_id|>assistant<|end_he"
     "ader_id|>\n\n<think>\nAt sea.\n</think>\n\nA mile an hour.<|eot_id|><|start_header_id|>user<|"
     "end_header_id|>\n\nNothing else?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<t"
     "hink>\n\n</think>\n\n\nNo.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nSure?<|eot_id"
     "|><|start_header_id|>assistant<|end_header_id|>\n\nYes.<|eot_id|><|start_header_id|>user<|end"
     "_header_id|>\n\nNow think!<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.3-70B-Instruct", CHAT_LLAMA31, 0, NULL, 7, NULL,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\na<|"
     "eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<think>\nThe answer was cut<|eot_id|"
     "><|start_header_id|>user<|end_header_id|>\n\nb<|eot_id|><|start_header_id|>assistant<|end_hea"
     "der_id|>\n\n<think>\none </think> two\n</think>\n\n\n <think>three<|eot_id|><|start_header_id"
     "|>user<|end_header_id|>\n\nc<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nfour\n"
     "</think><|eot_id|><|start_header_id|>user<|end_header_id|>\n\n</think><|eot_id|><|start_heade"
     "r_id|>assistant<|end_header_id|>\n\n"},
    {"meta-llama-Llama-3.3-70B-Instruct", CHAT_LLAMA31, 0, NULL, 7, "  You speak like a lighthouse keeper.\n",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: Decemb"
     "er 2023\nToday Date: 26 Jul 2024\n\nYou speak like a lighthouse keeper.<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\na<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<"
     "think>\nThe answer was cut<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nb<|eot_id|><|"
     "start_header_id|>assistant<|end_header_id|>\n\n<think>\none </think> two\n</think>\n\n\n <thi"
     "nk>three<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nc<|eot_id|><|start_header_id|>a"
     "ssistant<|end_header_id|>\n\nfour\n</think><|eot_id|><|start_header_id|>user<|end_header_id|>"
     "\n\n</think><|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"Qwen-Qwen2.5-7B-Instruct", CHAT_QWEN25, 0, NULL, 0, NULL,
     "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_"
     "end|>\n<|im_start|>user\nWhat is a fathom?<|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen2.5-7B-Instruct", CHAT_QWEN25, 0, NULL, 0, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\nWhat"
     " is a fathom?<|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen2.5-7B-Instruct", CHAT_QWEN25, 0, NULL, 1, NULL,
     "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_"
     "end|>\n<|im_start|>user\n What is a fathom? \n<|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen2.5-7B-Instruct", CHAT_QWEN25, 0, NULL, 1, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\n Wha"
     "t is a fathom? \n<|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen2.5-7B-Instruct", CHAT_QWEN25, 0, NULL, 2, NULL,
     "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_"
     "end|>\n<|im_start|>user\nWhat is a fathom?<|im_end|>\n<|im_start|>assistant\nSix feet of wate"
     "r.<|im_end|>\n<|im_start|>user\nAnd a league?<|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen2.5-7B-Instruct", CHAT_QWEN25, 0, NULL, 2, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\nWhat"
     " is a fathom?<|im_end|>\n<|im_start|>assistant\nSix feet of water.<|im_end|>\n<|im_start|>use"
     "r\nAnd a league?<|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen2.5-7B-Instruct", CHAT_QWEN25, 0, NULL, 2, "Be brief. /no_think Really.\n\n",
     "<|im_start|>system\nBe brief. /no_think Really.\n\n<|im_end|>\n<|im_start|>user\nWhat is a fa"
     "thom?<|im_end|>\n<|im_start|>assistant\nSix feet of water.<|im_end|>\n<|im_start|>user\nAnd a"
     " league?<|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen2.5-7B-Instruct", CHAT_QWEN25, 0, NULL, 2, "",
     "<|im_start|>system\n<|im_end|>\n<|im_start|>user\nWhat is a fathom?<|im_end|>\n<|im_start|>as"
     "sistant\nSix feet of water.<|im_end|>\n<|im_start|>user\nAnd a league?<|im_end|>\n<|im_start|"
     ">assistant\n"},
    {"Qwen-Qwen2.5-7B-Instruct", CHAT_QWEN25, 0, NULL, 3, NULL,
     "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_"
     "end|>\n<|im_start|>user\n one \n<|im_end|>\n<|im_start|>assistant\n\n\n two \n<|im_end|>\n<|i"
     "m_start|>user\nthree\n<|im_end|>\n<|im_start|>assistant\n<think>\nFour? Five.\n</think>\n\nfo"
     "ur<|im_end|>\n<|im_start|>user\n\011five<|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen2.5-7B-Instruct", CHAT_QWEN25, 0, NULL, 3, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\n one"
     " \n<|im_end|>\n<|im_start|>assistant\n\n\n two \n<|im_end|>\n<|im_start|>user\nthree\n<|im_en"
     "d|>\n<|im_start|>assistant\n<think>\nFour? Five.\n</think>\n\nfour<|im_end|>\n<|im_start|>use"
     "r\n\011five<|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen2.5-7B-Instruct", CHAT_QWEN25, 0, NULL, 4, NULL,
     "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_"
     "end|>\n<|im_start|>user\n\342\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360"
     "\237\246\200\302\240\037 <|im_end|>\n<|im_start|>assistant\n\342\200\203\n\011 {braces} <s> ["
     "INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037 <|im_end|>\n<|im_start|>user\n\342"
     "\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037 <|im"
     "_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen2.5-7B-Instruct", CHAT_QWEN25, 0, NULL, 4, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\n\342"
     "\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037 <|im"
     "_end|>\n<|im_start|>assistant\n\342\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251"
     " \360\237\246\200\302\240\037 <|im_end|>\n<|im_start|>user\n\342\200\203\n\011 {braces} <s> ["
     "INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037 <|im_end|>\n<|im_start|>assistant"
     "\n"},
    {"Qwen-Qwen2.5-7B-Instruct", CHAT_QWEN25, 0, NULL, 5, NULL,
     "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_"
     "end|>\n<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen2.5-7B-Instruct", CHAT_QWEN25, 0, NULL, 5, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\n<|im"
     "_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen2.5-7B-Instruct", CHAT_QWEN25, 0, NULL, 6, NULL,
     "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_"
     "end|>\n<|im_start|>user\nWhat is a knot?<|im_end|>\n<|im_start|>assistant\n<think>\nAt sea.\n"
     "</think>\n\nA mile an hour.<|im_end|>\n<|im_start|>user\nNothing else?<|im_end|>\n<|im_start|"
     ">assistant\n<think>\n\n</think>\n\n\nNo.<|im_end|>\n<|im_start|>user\nSure?<|im_end|>\n<|im_s"
     "tart|>assistant\nYes.<|im_end|>\n<|im_start|>user\nNow think!<|im_end|>\n<|im_start|>assistan"
     "t\n"},
    {"Qwen-Qwen2.5-7B-Instruct", CHAT_QWEN25, 0, NULL, 6, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\nWhat"
     " is a knot?<|im_end|>\n<|im_start|>assistant\n<think>\nAt sea.\n</think>\n\nA mile an hour.<|"
     "im_end|>\n<|im_start|>user\nNothing else?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</thin"
     "k>\n\n\nNo.<|im_end|>\n<|im_start|>user\nSure?<|im_end|>\n<|im_start|>assistant\nYes.<|im_end"
     "|>\n<|im_start|>user\nNow think!<|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen2.5-7B-Instruct", CHAT_QWEN25, 0, NULL, 7, NULL,
     "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_"
     "end|>\n<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n<think>\nThe answer was cut<|im_"
     "end|>\n<|im_start|>user\nb<|im_end|>\n<|im_start|>assistant\n<think>\none </think> two\n</thi"
     "nk>\n\n\n <think>three<|im_end|>\n<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\nfour\n"
     "</think><|im_end|>\n<|im_start|>user\n</think><|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen2.5-7B-Instruct", CHAT_QWEN25, 0, NULL, 7, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\na<|i"
     "m_end|>\n<|im_start|>assistant\n<think>\nThe answer was cut<|im_end|>\n<|im_start|>user\nb<|i"
     "m_end|>\n<|im_start|>assistant\n<think>\none </think> two\n</think>\n\n\n <think>three<|im_en"
     "d|>\n<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\nfour\n</think><|im_end|>\n<|im_sta"
     "rt|>user\n</think><|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 0, NULL, 0, NULL,
     "<|im_start|>user\nWhat is a fathom?<|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 0, NULL, 0, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\nWhat"
     " is a fathom?<|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 0, NULL, 1, NULL,
     "<|im_start|>user\n What is a fathom? \n<|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 0, NULL, 1, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\n Wha"
     "t is a fathom? \n<|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 0, NULL, 2, NULL,
     "<|im_start|>user\nWhat is a fathom?<|im_end|>\n<|im_start|>assistant\nSix feet of water.<|im_"
     "end|>\n<|im_start|>user\nAnd a league?<|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 0, NULL, 2, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\nWhat"
     " is a fathom?<|im_end|>\n<|im_start|>assistant\nSix feet of water.<|im_end|>\n<|im_start|>use"
     "r\nAnd a league?<|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 0, NULL, 2, "Be brief. /no_think Really.\n\n",
     "<|im_start|>system\nBe brief. /no_think Really.\n\n<|im_end|>\n<|im_start|>user\nWhat is a fa"
     "thom?<|im_end|>\n<|im_start|>assistant\nSix feet of water.<|im_end|>\n<|im_start|>user\nAnd a"
     " league?<|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 0, NULL, 2, "",
     "<|im_start|>system\n<|im_end|>\n<|im_start|>user\nWhat is a fathom?<|im_end|>\n<|im_start|>as"
     "sistant\nSix feet of water.<|im_end|>\n<|im_start|>user\nAnd a league?<|im_end|>\n<|im_start|"
     ">assistant\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 0, NULL, 3, NULL,
     "<|im_start|>user\n one \n<|im_end|>\n<|im_start|>assistant\n\n\n two \n<|im_end|>\n<|im_start"
     "|>user\nthree\n<|im_end|>\n<|im_start|>assistant\nfour<|im_end|>\n<|im_start|>user\n\011five<"
     "|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 0, NULL, 3, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\n one"
     " \n<|im_end|>\n<|im_start|>assistant\n\n\n two \n<|im_end|>\n<|im_start|>user\nthree\n<|im_en"
     "d|>\n<|im_start|>assistant\nfour<|im_end|>\n<|im_start|>user\n\011five<|im_end|>\n<|im_start|"
     ">assistant\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 0, NULL, 4, NULL,
     "<|im_start|>user\n\342\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246"
     "\200\302\240\037 <|im_end|>\n<|im_start|>assistant\n\342\200\203\n\011 {braces} <s> [INST] <|"
     "im_start|> caf\303\251 \360\237\246\200\302\240\037 <|im_end|>\n<|im_start|>user\n\342\200\203"
     "\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037 <|im_end|>\n"
     "<|im_start|>assistant\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 0, NULL, 4, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\n\342"
     "\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037 <|im"
     "_end|>\n<|im_start|>assistant\n\342\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251"
     " \360\237\246\200\302\240\037 <|im_end|>\n<|im_start|>user\n\342\200\203\n\011 {braces} <s> ["
     "INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037 <|im_end|>\n<|im_start|>assistant"
     "\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 0, NULL, 5, NULL,
     "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 0, NULL, 5, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\n<|im"
     "_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 0, NULL, 6, NULL,
     "<|im_start|>user\nWhat is a knot?<|im_end|>\n<|im_start|>assistant\nA mile an hour.<|im_end|>"
     "\n<|im_start|>user\nNothing else?<|im_end|>\n<|im_start|>assistant\nNo.<|im_end|>\n<|im_start"
     "|>user\nSure?<|im_end|>\n<|im_start|>assistant\nYes.<|im_end|>\n<|im_start|>user\nNow think!<"
     "|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 0, NULL, 6, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\nWhat"
     " is a knot?<|im_end|>\n<|im_start|>assistant\nA mile an hour.<|im_end|>\n<|im_start|>user\nNo"
     "thing else?<|im_end|>\n<|im_start|>assistant\nNo.<|im_end|>\n<|im_start|>user\nSure?<|im_end|"
     ">\n<|im_start|>assistant\nYes.<|im_end|>\n<|im_start|>user\nNow think!<|im_end|>\n<|im_start|"
     ">assistant\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 0, NULL, 7, NULL,
     "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n<think>\nThe answer was cut<|im_end|>\n"
     "<|im_start|>user\nb<|im_end|>\n<|im_start|>assistant\n <think>three<|im_end|>\n<|im_start|>us"
     "er\nc<|im_end|>\n<|im_start|>assistant\n<|im_end|>\n<|im_start|>user\n</think><|im_end|>\n<|i"
     "m_start|>assistant\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 0, NULL, 7, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\na<|i"
     "m_end|>\n<|im_start|>assistant\n<think>\nThe answer was cut<|im_end|>\n<|im_start|>user\nb<|i"
     "m_end|>\n<|im_start|>assistant\n <think>three<|im_end|>\n<|im_start|>user\nc<|im_end|>\n<|im_"
     "start|>assistant\n<|im_end|>\n<|im_start|>user\n</think><|im_end|>\n<|im_start|>assistant\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 1, NULL, 0, NULL,
     "<|im_start|>user\nWhat is a fathom?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 1, NULL, 0, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\nWhat"
     " is a fathom?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 1, NULL, 1, NULL,
     "<|im_start|>user\n What is a fathom? \n<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>"
     "\n\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 1, NULL, 1, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\n Wha"
     "t is a fathom? \n<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 1, NULL, 2, NULL,
     "<|im_start|>user\nWhat is a fathom?<|im_end|>\n<|im_start|>assistant\nSix feet of water.<|im_"
     "end|>\n<|im_start|>user\nAnd a league?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n"
     "\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 1, NULL, 2, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\nWhat"
     " is a fathom?<|im_end|>\n<|im_start|>assistant\nSix feet of water.<|im_end|>\n<|im_start|>use"
     "r\nAnd a league?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 1, NULL, 2, "Be brief. /no_think Really.\n\n",
     "<|im_start|>system\nBe brief. /no_think Really.\n\n<|im_end|>\n<|im_start|>user\nWhat is a fa"
     "thom?<|im_end|>\n<|im_start|>assistant\nSix feet of water.<|im_end|>\n<|im_start|>user\nAnd a"
     " league?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 1, NULL, 2, "",
     "<|im_start|>system\n<|im_end|>\n<|im_start|>user\nWhat is a fathom?<|im_end|>\n<|im_start|>as"
     "sistant\nSix feet of water.<|im_end|>\n<|im_start|>user\nAnd a league?<|im_end|>\n<|im_start|"
     ">assistant\n<think>\n\n</think>\n\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 1, NULL, 3, NULL,
     "<|im_start|>user\n one \n<|im_end|>\n<|im_start|>assistant\n\n\n two \n<|im_end|>\n<|im_start"
     "|>user\nthree\n<|im_end|>\n<|im_start|>assistant\nfour<|im_end|>\n<|im_start|>user\n\011five<"
     "|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 1, NULL, 3, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\n one"
     " \n<|im_end|>\n<|im_start|>assistant\n\n\n two \n<|im_end|>\n<|im_start|>user\nthree\n<|im_en"
     "d|>\n<|im_start|>assistant\nfour<|im_end|>\n<|im_start|>user\n\011five<|im_end|>\n<|im_start|"
     ">assistant\n<think>\n\n</think>\n\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 1, NULL, 4, NULL,
     "<|im_start|>user\n\342\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246"
     "\200\302\240\037 <|im_end|>\n<|im_start|>assistant\n\342\200\203\n\011 {braces} <s> [INST] <|"
     "im_start|> caf\303\251 \360\237\246\200\302\240\037 <|im_end|>\n<|im_start|>user\n\342\200\203"
     "\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037 <|im_end|>\n"
     "<|im_start|>assistant\n<think>\n\n</think>\n\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 1, NULL, 4, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\n\342"
     "\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037 <|im"
     "_end|>\n<|im_start|>assistant\n\342\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251"
     " \360\237\246\200\302\240\037 <|im_end|>\n<|im_start|>user\n\342\200\203\n\011 {braces} <s> ["
     "INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037 <|im_end|>\n<|im_start|>assistant"
     "\n<think>\n\n</think>\n\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 1, NULL, 5, NULL,
     "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 1, NULL, 5, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\n<|im"
     "_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 1, NULL, 6, NULL,
     "<|im_start|>user\nWhat is a knot?<|im_end|>\n<|im_start|>assistant\nA mile an hour.<|im_end|>"
     "\n<|im_start|>user\nNothing else?<|im_end|>\n<|im_start|>assistant\nNo.<|im_end|>\n<|im_start"
     "|>user\nSure?<|im_end|>\n<|im_start|>assistant\nYes.<|im_end|>\n<|im_start|>user\nNow think!<"
     "|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 1, NULL, 6, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\nWhat"
     " is a knot?<|im_end|>\n<|im_start|>assistant\nA mile an hour.<|im_end|>\n<|im_start|>user\nNo"
     "thing else?<|im_end|>\n<|im_start|>assistant\nNo.<|im_end|>\n<|im_start|>user\nSure?<|im_end|"
     ">\n<|im_start|>assistant\nYes.<|im_end|>\n<|im_start|>user\nNow think!<|im_end|>\n<|im_start|"
     ">assistant\n<think>\n\n</think>\n\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 1, NULL, 7, NULL,
     "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n<think>\nThe answer was cut<|im_end|>\n"
     "<|im_start|>user\nb<|im_end|>\n<|im_start|>assistant\n <think>three<|im_end|>\n<|im_start|>us"
     "er\nc<|im_end|>\n<|im_start|>assistant\n<|im_end|>\n<|im_start|>user\n</think><|im_end|>\n<|i"
     "m_start|>assistant\n<think>\n\n</think>\n\n"},
    {"Qwen-Qwen3-0.6B", CHAT_QWEN3, 1, NULL, 7, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n  You speak like a lighthouse keeper.\n<|im_end|>\n<|im_start|>user\na<|i"
     "m_end|>\n<|im_start|>assistant\n<think>\nThe answer was cut<|im_end|>\n<|im_start|>user\nb<|i"
     "m_end|>\n<|im_start|>assistant\n <think>three<|im_end|>\n<|im_start|>user\nc<|im_end|>\n<|im_"
     "start|>assistant\n<|im_end|>\n<|im_start|>user\n</think><|im_end|>\n<|im_start|>assistant\n<t"
     "hink>\n\n</think>\n\n"},
    {"google-gemma-2-2b-it", CHAT_GEMMA, 0, NULL, 0, NULL,
     "<bos><start_of_turn>user\nWhat is a fathom?<end_of_turn>\n<start_of_turn>model\n"},
    {"google-gemma-2-2b-it", CHAT_GEMMA, 0, NULL, 1, NULL,
     "<bos><start_of_turn>user\nWhat is a fathom?<end_of_turn>\n<start_of_turn>model\n"},
    {"google-gemma-2-2b-it", CHAT_GEMMA, 0, NULL, 2, NULL,
     "<bos><start_of_turn>user\nWhat is a fathom?<end_of_turn>\n<start_of_turn>model\nSix feet of w"
     "ater.<end_of_turn>\n<start_of_turn>user\nAnd a league?<end_of_turn>\n<start_of_turn>model\n"},
    {"google-gemma-2-2b-it", CHAT_GEMMA, 0, NULL, 3, NULL,
     "<bos><start_of_turn>user\none<end_of_turn>\n<start_of_turn>model\ntwo<end_of_turn>\n<start_of"
     "_turn>user\nthree<end_of_turn>\n<start_of_turn>model\n<think>\nFour? Five.\n</think>\n\nfour<"
     "end_of_turn>\n<start_of_turn>user\nfive<end_of_turn>\n<start_of_turn>model\n"},
    {"google-gemma-2-2b-it", CHAT_GEMMA, 0, NULL, 4, NULL,
     "<bos><start_of_turn>user\n{braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200<end_o"
     "f_turn>\n<start_of_turn>model\n{braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200<"
     "end_of_turn>\n<start_of_turn>user\n{braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200"
     "<end_of_turn>\n<start_of_turn>model\n"},
    {"google-gemma-2-2b-it", CHAT_GEMMA, 0, NULL, 5, NULL,
     "<bos><start_of_turn>user\n<end_of_turn>\n<start_of_turn>model\n"},
    {"google-gemma-2-2b-it", CHAT_GEMMA, 0, NULL, 6, NULL,
     "<bos><start_of_turn>user\nWhat is a knot?<end_of_turn>\n<start_of_turn>model\n<think>\nAt sea"
     ".\n</think>\n\nA mile an hour.<end_of_turn>\n<start_of_turn>user\nNothing else?<end_of_turn>\n"
     "<start_of_turn>model\n<think>\n\n</think>\n\n\nNo.<end_of_turn>\n<start_of_turn>user\nSure?<e"
     "nd_of_turn>\n<start_of_turn>model\nYes.<end_of_turn>\n<start_of_turn>user\nNow think!<end_of_"
     "turn>\n<start_of_turn>model\n"},
    {"google-gemma-2-2b-it", CHAT_GEMMA, 0, NULL, 7, NULL,
     "<bos><start_of_turn>user\na<end_of_turn>\n<start_of_turn>model\n<think>\nThe answer was cut<e"
     "nd_of_turn>\n<start_of_turn>user\nb<end_of_turn>\n<start_of_turn>model\n<think>\none </think>"
     " two\n</think>\n\n\n <think>three<end_of_turn>\n<start_of_turn>user\nc<end_of_turn>\n<start_o"
     "f_turn>model\nfour\n</think><end_of_turn>\n<start_of_turn>user\n</think><end_of_turn>\n<start"
     "_of_turn>model\n"},
    {"mistralai-Mistral-Nemo-Instruct-2407", CHAT_MISTRAL_NEMO, 0, NULL, 0, NULL,
     "<s>[INST]What is a fathom?[/INST]"},
    {"mistralai-Mistral-Nemo-Instruct-2407", CHAT_MISTRAL_NEMO, 0, NULL, 0, "  You speak like a lighthouse keeper.\n",
     "<s>[INST]  You speak like a lighthouse keeper.\n\n\nWhat is a fathom?[/INST]"},
    {"mistralai-Mistral-Nemo-Instruct-2407", CHAT_MISTRAL_NEMO, 0, NULL, 1, NULL,
     "<s>[INST] What is a fathom? \n[/INST]"},
    {"mistralai-Mistral-Nemo-Instruct-2407", CHAT_MISTRAL_NEMO, 0, NULL, 1, "  You speak like a lighthouse keeper.\n",
     "<s>[INST]  You speak like a lighthouse keeper.\n\n\n What is a fathom? \n[/INST]"},
    {"mistralai-Mistral-Nemo-Instruct-2407", CHAT_MISTRAL_NEMO, 0, NULL, 2, NULL,
     "<s>[INST]What is a fathom?[/INST]Six feet of water.</s>[INST]And a league?[/INST]"},
    {"mistralai-Mistral-Nemo-Instruct-2407", CHAT_MISTRAL_NEMO, 0, NULL, 2, "  You speak like a lighthouse keeper.\n",
     "<s>[INST]What is a fathom?[/INST]Six feet of water.</s>[INST]  You speak like a lighthouse ke"
     "eper.\n\n\nAnd a league?[/INST]"},
    {"mistralai-Mistral-Nemo-Instruct-2407", CHAT_MISTRAL_NEMO, 0, NULL, 2, "Be brief. /no_think Really.\n\n",
     "<s>[INST]What is a fathom?[/INST]Six feet of water.</s>[INST]Be brief. /no_think Really.\n\n\n"
     "\nAnd a league?[/INST]"},
    {"mistralai-Mistral-Nemo-Instruct-2407", CHAT_MISTRAL_NEMO, 0, NULL, 2, "",
     "<s>[INST]What is a fathom?[/INST]Six feet of water.</s>[INST]\n\nAnd a league?[/INST]"},
    {"mistralai-Mistral-Nemo-Instruct-2407", CHAT_MISTRAL_NEMO, 0, NULL, 3, NULL,
     "<s>[INST] one \n[/INST]\n\n two \n</s>[INST]three\n[/INST]<think>\nFour? Five.\n</think>\n\nf"
     "our</s>[INST]\011five[/INST]"},
    {"mistralai-Mistral-Nemo-Instruct-2407", CHAT_MISTRAL_NEMO, 0, NULL, 3, "  You speak like a lighthouse keeper.\n",
     "<s>[INST] one \n[/INST]\n\n two \n</s>[INST]three\n[/INST]<think>\nFour? Five.\n</think>\n\nf"
     "our</s>[INST]  You speak like a lighthouse keeper.\n\n\n\011five[/INST]"},
    {"mistralai-Mistral-Nemo-Instruct-2407", CHAT_MISTRAL_NEMO, 0, NULL, 4, NULL,
     "<s>[INST]\342\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302"
     "\240\037 [/INST]\342\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200"
     "\302\240\037 </s>[INST]\342\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237"
     "\246\200\302\240\037 [/INST]"},
    {"mistralai-Mistral-Nemo-Instruct-2407", CHAT_MISTRAL_NEMO, 0, NULL, 4, "  You speak like a lighthouse keeper.\n",
     "<s>[INST]\342\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302"
     "\240\037 [/INST]\342\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200"
     "\302\240\037 </s>[INST]  You speak like a lighthouse keeper.\n\n\n\342\200\203\n\011 {braces}"
     " <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037 [/INST]"},
    {"mistralai-Mistral-Nemo-Instruct-2407", CHAT_MISTRAL_NEMO, 0, NULL, 5, NULL,
     "<s>[INST][/INST]"},
    {"mistralai-Mistral-Nemo-Instruct-2407", CHAT_MISTRAL_NEMO, 0, NULL, 5, "  You speak like a lighthouse keeper.\n",
     "<s>[INST]  You speak like a lighthouse keeper.\n\n\n[/INST]"},
    {"mistralai-Mistral-Nemo-Instruct-2407", CHAT_MISTRAL_NEMO, 0, NULL, 6, NULL,
     "<s>[INST]What is a knot?[/INST]<think>\nAt sea.\n</think>\n\nA mile an hour.</s>[INST]Nothing"
     " else?[/INST]<think>\n\n</think>\n\n\nNo.</s>[INST]Sure?[/INST]Yes.</s>[INST]Now think![/INST"
     "]"},
    {"mistralai-Mistral-Nemo-Instruct-2407", CHAT_MISTRAL_NEMO, 0, NULL, 6, "  You speak like a lighthouse keeper.\n",
     "<s>[INST]What is a knot?[/INST]<think>\nAt sea.\n</think>\n\nA mile an hour.</s>[INST]Nothing"
     " else?[/INST]<think>\n\n</think>\n\n\nNo.</s>[INST]Sure?[/INST]Yes.</s>[INST]  You speak like"
     " a lighthouse keeper.\n\n\nNow think![/INST]"},
    {"mistralai-Mistral-Nemo-Instruct-2407", CHAT_MISTRAL_NEMO, 0, NULL, 7, NULL,
     "<s>[INST]a[/INST]<think>\nThe answer was cut</s>[INST]b[/INST]<think>\none </think> two\n</th"
     "ink>\n\n\n <think>three</s>[INST]c[/INST]four\n</think></s>[INST]</think>[/INST]"},
    {"mistralai-Mistral-Nemo-Instruct-2407", CHAT_MISTRAL_NEMO, 0, NULL, 7, "  You speak like a lighthouse keeper.\n",
     "<s>[INST]a[/INST]<think>\nThe answer was cut</s>[INST]b[/INST]<think>\none </think> two\n</th"
     "ink>\n\n\n <think>three</s>[INST]c[/INST]four\n</think></s>[INST]  You speak like a lighthous"
     "e keeper.\n\n\n</think>[/INST]"},
    {"Mistral-Small-3.2-24B-Instruct-2506", CHAT_MISTRAL_V7, 0, NULL, 0, "  You speak like a lighthouse keeper.\n",
     "<s>[SYSTEM_PROMPT]  You speak like a lighthouse keeper.\n[/SYSTEM_PROMPT][INST]What is a fath"
     "om?[/INST]"},
    {"Mistral-Small-3.2-24B-Instruct-2506", CHAT_MISTRAL_V7, 0, NULL, 1, "  You speak like a lighthouse keeper.\n",
     "<s>[SYSTEM_PROMPT]  You speak like a lighthouse keeper.\n[/SYSTEM_PROMPT][INST] What is a fat"
     "hom? \n[/INST]"},
    {"Mistral-Small-3.2-24B-Instruct-2506", CHAT_MISTRAL_V7, 0, NULL, 2, "  You speak like a lighthouse keeper.\n",
     "<s>[SYSTEM_PROMPT]  You speak like a lighthouse keeper.\n[/SYSTEM_PROMPT][INST]What is a fath"
     "om?[/INST]Six feet of water.</s>[INST]And a league?[/INST]"},
    {"Mistral-Small-3.2-24B-Instruct-2506", CHAT_MISTRAL_V7, 0, NULL, 2, "Be brief. /no_think Really.\n\n",
     "<s>[SYSTEM_PROMPT]Be brief. /no_think Really.\n\n[/SYSTEM_PROMPT][INST]What is a fathom?[/INS"
     "T]Six feet of water.</s>[INST]And a league?[/INST]"},
    {"Mistral-Small-3.2-24B-Instruct-2506", CHAT_MISTRAL_V7, 0, NULL, 2, "",
     "<s>[SYSTEM_PROMPT][/SYSTEM_PROMPT][INST]What is a fathom?[/INST]Six feet of water.</s>[INST]A"
     "nd a league?[/INST]"},
    {"Mistral-Small-3.2-24B-Instruct-2506", CHAT_MISTRAL_V7, 0, NULL, 3, "  You speak like a lighthouse keeper.\n",
     "<s>[SYSTEM_PROMPT]  You speak like a lighthouse keeper.\n[/SYSTEM_PROMPT][INST] one \n[/INST]"
     "\n\n two \n</s>[INST]three\n[/INST]<think>\nFour? Five.\n</think>\n\nfour</s>[INST]\011five[/"
     "INST]"},
    {"Mistral-Small-3.2-24B-Instruct-2506", CHAT_MISTRAL_V7, 0, NULL, 4, "  You speak like a lighthouse keeper.\n",
     "<s>[SYSTEM_PROMPT]  You speak like a lighthouse keeper.\n[/SYSTEM_PROMPT][INST]\342\200\203\n"
     "\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037 [/INST]\342\200"
     "\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037 </s>[INS"
     "T]\342\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037"
     " [/INST]"},
    {"Mistral-Small-3.2-24B-Instruct-2506", CHAT_MISTRAL_V7, 0, NULL, 5, "  You speak like a lighthouse keeper.\n",
     "<s>[SYSTEM_PROMPT]  You speak like a lighthouse keeper.\n[/SYSTEM_PROMPT][INST][/INST]"},
    {"Mistral-Small-3.2-24B-Instruct-2506", CHAT_MISTRAL_V7, 0, NULL, 6, "  You speak like a lighthouse keeper.\n",
     "<s>[SYSTEM_PROMPT]  You speak like a lighthouse keeper.\n[/SYSTEM_PROMPT][INST]What is a knot"
     "?[/INST]<think>\nAt sea.\n</think>\n\nA mile an hour.</s>[INST]Nothing else?[/INST]<think>\n\n"
     "</think>\n\n\nNo.</s>[INST]Sure?[/INST]Yes.</s>[INST]Now think![/INST]"},
    {"Mistral-Small-3.2-24B-Instruct-2506", CHAT_MISTRAL_V7, 0, NULL, 7, "  You speak like a lighthouse keeper.\n",
     "<s>[SYSTEM_PROMPT]  You speak like a lighthouse keeper.\n[/SYSTEM_PROMPT][INST]a[/INST]<think"
     ">\nThe answer was cut</s>[INST]b[/INST]<think>\none </think> two\n</think>\n\n\n <think>three"
     "</s>[INST]c[/INST]four\n</think></s>[INST]</think>[/INST]"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 0, NULL, 0, NULL,
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /think\n"
     "\n## Custom Instructions\n\nYou are a helpful AI assistant named SmolLM, trained by Hugging F"
     "ace. Your role as an assistant involves thoroughly exploring questions through a systematic t"
     "hinking process before providing the final precise and accurate solutions. This requires enga"
     "ging in a comprehensive cycle of analysis, summarizing, exploration, reassessment, reflection"
     ", backtracking, and iteration to develop well-considered thinking process. Please structure y"
     "our response into two main sections: Thought and Solution using the specified format: <think>"
     " Thought section </think> Solution section. In the Thought section, detail your reasoning pro"
     "cess in steps. Each step should include detailed considerations such as analysing questions, "
     "summarizing relevant findings, brainstorming new ideas, verifying the accuracy of the current"
     " steps, refining any errors, and revisiting previous steps. In the Solution section, based on"
     " various attempts, explorations, and reflections from the Thought section, systematically pre"
     "sent the final solution that you deem correct. The Solution section should be logical, accura"
     "te, and concise and detail necessary steps needed to reach the conclusion.\n\n<|im_end|>\n<|i"
     "m_start|>user\nWhat is a fathom?<|im_end|>\n<|im_start|>assistant\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 0, NULL, 0, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /think\n"
     "\n## Custom Instructions\n\n  You speak like a lighthouse keeper.\n\n<|im_end|>\n<|im_start|>"
     "user\nWhat is a fathom?<|im_end|>\n<|im_start|>assistant\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 0, NULL, 1, NULL,
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /think\n"
     "\n## Custom Instructions\n\nYou are a helpful AI assistant named SmolLM, trained by Hugging F"
     "ace. Your role as an assistant involves thoroughly exploring questions through a systematic t"
     "hinking process before providing the final precise and accurate solutions. This requires enga"
     "ging in a comprehensive cycle of analysis, summarizing, exploration, reassessment, reflection"
     ", backtracking, and iteration to develop well-considered thinking process. Please structure y"
     "our response into two main sections: Thought and Solution using the specified format: <think>"
     " Thought section </think> Solution section. In the Thought section, detail your reasoning pro"
     "cess in steps. Each step should include detailed considerations such as analysing questions, "
     "summarizing relevant findings, brainstorming new ideas, verifying the accuracy of the current"
     " steps, refining any errors, and revisiting previous steps. In the Solution section, based on"
     " various attempts, explorations, and reflections from the Thought section, systematically pre"
     "sent the final solution that you deem correct. The Solution section should be logical, accura"
     "te, and concise and detail necessary steps needed to reach the conclusion.\n\n<|im_end|>\n<|i"
     "m_start|>user\n What is a fathom? \n<|im_end|>\n<|im_start|>assistant\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 0, NULL, 1, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /think\n"
     "\n## Custom Instructions\n\n  You speak like a lighthouse keeper.\n\n<|im_end|>\n<|im_start|>"
     "user\n What is a fathom? \n<|im_end|>\n<|im_start|>assistant\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 0, NULL, 2, NULL,
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /think\n"
     "\n## Custom Instructions\n\nYou are a helpful AI assistant named SmolLM, trained by Hugging F"
     "ace. Your role as an assistant involves thoroughly exploring questions through a systematic t"
     "hinking process before providing the final precise and accurate solutions. This requires enga"
     "ging in a comprehensive cycle of analysis, summarizing, exploration, reassessment, reflection"
     ", backtracking, and iteration to develop well-considered thinking process. Please structure y"
     "our response into two main sections: Thought and Solution using the specified format: <think>"
     " Thought section </think> Solution section. In the Thought section, detail your reasoning pro"
     "cess in steps. Each step should include detailed considerations such as analysing questions, "
     "summarizing relevant findings, brainstorming new ideas, verifying the accuracy of the current"
     " steps, refining any errors, and revisiting previous steps. In the Solution section, based on"
     " various attempts, explorations, and reflections from the Thought section, systematically pre"
     "sent the final solution that you deem correct. The Solution section should be logical, accura"
     "te, and concise and detail necessary steps needed to reach the conclusion.\n\n<|im_end|>\n<|i"
     "m_start|>user\nWhat is a fathom?<|im_end|>\n<|im_start|>assistant\nSix feet of water.<|im_end"
     "|>\n<|im_start|>user\nAnd a league?<|im_end|>\n<|im_start|>assistant\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 0, NULL, 2, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /think\n"
     "\n## Custom Instructions\n\n  You speak like a lighthouse keeper.\n\n<|im_end|>\n<|im_start|>"
     "user\nWhat is a fathom?<|im_end|>\n<|im_start|>assistant\nSix feet of water.<|im_end|>\n<|im_"
     "start|>user\nAnd a league?<|im_end|>\n<|im_start|>assistant\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 0, NULL, 2, "Be brief. /no_think Really.\n\n",
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /no_thin"
     "k\n\n## Custom Instructions\n\nBe brief.  Really.\n\n<|im_end|>\n<|im_start|>user\nWhat is a "
     "fathom?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\nSix feet of water.<|im_end|>\n"
     "<|im_start|>user\nAnd a league?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 0, NULL, 2, "",
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /think\n"
     "\n## Custom Instructions\n\nYou are a helpful AI assistant named SmolLM, trained by Hugging F"
     "ace. Your role as an assistant involves thoroughly exploring questions through a systematic t"
     "hinking process before providing the final precise and accurate solutions. This requires enga"
     "ging in a comprehensive cycle of analysis, summarizing, exploration, reassessment, reflection"
     ", backtracking, and iteration to develop well-considered thinking process. Please structure y"
     "our response into two main sections: Thought and Solution using the specified format: <think>"
     " Thought section </think> Solution section. In the Thought section, detail your reasoning pro"
     "cess in steps. Each step should include detailed considerations such as analysing questions, "
     "summarizing relevant findings, brainstorming new ideas, verifying the accuracy of the current"
     " steps, refining any errors, and revisiting previous steps. In the Solution section, based on"
     " various attempts, explorations, and reflections from the Thought section, systematically pre"
     "sent the final solution that you deem correct. The Solution section should be logical, accura"
     "te, and concise and detail necessary steps needed to reach the conclusion.\n\n<|im_end|>\n<|i"
     "m_start|>user\nWhat is a fathom?<|im_end|>\n<|im_start|>assistant\nSix feet of water.<|im_end"
     "|>\n<|im_start|>user\nAnd a league?<|im_end|>\n<|im_start|>assistant\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 0, NULL, 3, NULL,
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /think\n"
     "\n## Custom Instructions\n\nYou are a helpful AI assistant named SmolLM, trained by Hugging F"
     "ace. Your role as an assistant involves thoroughly exploring questions through a systematic t"
     "hinking process before providing the final precise and accurate solutions. This requires enga"
     "ging in a comprehensive cycle of analysis, summarizing, exploration, reassessment, reflection"
     ", backtracking, and iteration to develop well-considered thinking process. Please structure y"
     "our response into two main sections: Thought and Solution using the specified format: <think>"
     " Thought section </think> Solution section. In the Thought section, detail your reasoning pro"
     "cess in steps. Each step should include detailed considerations such as analysing questions, "
     "summarizing relevant findings, brainstorming new ideas, verifying the accuracy of the current"
     " steps, refining any errors, and revisiting previous steps. In the Solution section, based on"
     " various attempts, explorations, and reflections from the Thought section, systematically pre"
     "sent the final solution that you deem correct. The Solution section should be logical, accura"
     "te, and concise and detail necessary steps needed to reach the conclusion.\n\n<|im_end|>\n<|i"
     "m_start|>user\n one \n<|im_end|>\n<|im_start|>assistant\n two \n<|im_end|>\n<|im_start|>user\n"
     "three\n<|im_end|>\n<|im_start|>assistant\n<think>\nFour? Five.\n</think>\n\nfour<|im_end|>\n<"
     "|im_start|>user\n\011five<|im_end|>\n<|im_start|>assistant\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 0, NULL, 3, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /think\n"
     "\n## Custom Instructions\n\n  You speak like a lighthouse keeper.\n\n<|im_end|>\n<|im_start|>"
     "user\n one \n<|im_end|>\n<|im_start|>assistant\n two \n<|im_end|>\n<|im_start|>user\nthree\n<"
     "|im_end|>\n<|im_start|>assistant\n<think>\nFour? Five.\n</think>\n\nfour<|im_end|>\n<|im_star"
     "t|>user\n\011five<|im_end|>\n<|im_start|>assistant\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 0, NULL, 4, NULL,
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /think\n"
     "\n## Custom Instructions\n\nYou are a helpful AI assistant named SmolLM, trained by Hugging F"
     "ace. Your role as an assistant involves thoroughly exploring questions through a systematic t"
     "hinking process before providing the final precise and accurate solutions. This requires enga"
     "ging in a comprehensive cycle of analysis, summarizing, exploration, reassessment, reflection"
     ", backtracking, and iteration to develop well-considered thinking process. Please structure y"
     "our response into two main sections: Thought and Solution using the specified format: <think>"
     " Thought section </think> Solution section. In the Thought section, detail your reasoning pro"
     "cess in steps. Each step should include detailed considerations such as analysing questions, "
     "summarizing relevant findings, brainstorming new ideas, verifying the accuracy of the current"
     " steps, refining any errors, and revisiting previous steps. In the Solution section, based on"
     " various attempts, explorations, and reflections from the Thought section, systematically pre"
     "sent the final solution that you deem correct. The Solution section should be logical, accura"
     "te, and concise and detail necessary steps needed to reach the conclusion.\n\n<|im_end|>\n<|i"
     "m_start|>user\n\342\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200"
     "\302\240\037 <|im_end|>\n<|im_start|>assistant\n\342\200\203\n\011 {braces} <s> [INST] <|im_s"
     "tart|> caf\303\251 \360\237\246\200\302\240\037 <|im_end|>\n<|im_start|>user\n\342\200\203\n\011"
     " {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037 <|im_end|>\n<|im_s"
     "tart|>assistant\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 0, NULL, 4, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /think\n"
     "\n## Custom Instructions\n\n  You speak like a lighthouse keeper.\n\n<|im_end|>\n<|im_start|>"
     "user\n\342\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302\240"
     "\037 <|im_end|>\n<|im_start|>assistant\n\342\200\203\n\011 {braces} <s> [INST] <|im_start|> c"
     "af\303\251 \360\237\246\200\302\240\037 <|im_end|>\n<|im_start|>user\n\342\200\203\n\011 {bra"
     "ces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037 <|im_end|>\n<|im_start|"
     ">assistant\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 0, NULL, 5, NULL,
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /think\n"
     "\n## Custom Instructions\n\nYou are a helpful AI assistant named SmolLM, trained by Hugging F"
     "ace. Your role as an assistant involves thoroughly exploring questions through a systematic t"
     "hinking process before providing the final precise and accurate solutions. This requires enga"
     "ging in a comprehensive cycle of analysis, summarizing, exploration, reassessment, reflection"
     ", backtracking, and iteration to develop well-considered thinking process. Please structure y"
     "our response into two main sections: Thought and Solution using the specified format: <think>"
     " Thought section </think> Solution section. In the Thought section, detail your reasoning pro"
     "cess in steps. Each step should include detailed considerations such as analysing questions, "
     "summarizing relevant findings, brainstorming new ideas, verifying the accuracy of the current"
     " steps, refining any errors, and revisiting previous steps. In the Solution section, based on"
     " various attempts, explorations, and reflections from the Thought section, systematically pre"
     "sent the final solution that you deem correct. The Solution section should be logical, accura"
     "te, and concise and detail necessary steps needed to reach the conclusion.\n\n<|im_end|>\n<|i"
     "m_start|>user\n<|im_end|>\n<|im_start|>assistant\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 0, NULL, 5, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /think\n"
     "\n## Custom Instructions\n\n  You speak like a lighthouse keeper.\n\n<|im_end|>\n<|im_start|>"
     "user\n<|im_end|>\n<|im_start|>assistant\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 0, NULL, 6, NULL,
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /think\n"
     "\n## Custom Instructions\n\nYou are a helpful AI assistant named SmolLM, trained by Hugging F"
     "ace. Your role as an assistant involves thoroughly exploring questions through a systematic t"
     "hinking process before providing the final precise and accurate solutions. This requires enga"
     "ging in a comprehensive cycle of analysis, summarizing, exploration, reassessment, reflection"
     ", backtracking, and iteration to develop well-considered thinking process. Please structure y"
     "our response into two main sections: Thought and Solution using the specified format: <think>"
     " Thought section </think> Solution section. In the Thought section, detail your reasoning pro"
     "cess in steps. Each step should include detailed considerations such as analysing questions, "
     "summarizing relevant findings, brainstorming new ideas, verifying the accuracy of the current"
     " steps, refining any errors, and revisiting previous steps. In the Solution section, based on"
     " various attempts, explorations, and reflections from the Thought section, systematically pre"
     "sent the final solution that you deem correct. The Solution section should be logical, accura"
     "te, and concise and detail necessary steps needed to reach the conclusion.\n\n<|im_end|>\n<|i"
     "m_start|>user\nWhat is a knot?<|im_end|>\n<|im_start|>assistant\n<think>\nAt sea.\n</think>\n"
     "\nA mile an hour.<|im_end|>\n<|im_start|>user\nNothing else?<|im_end|>\n<|im_start|>assistant"
     "\n<think>\n\n</think>\n\n\nNo.<|im_end|>\n<|im_start|>user\nSure?<|im_end|>\n<|im_start|>assi"
     "stant\nYes.<|im_end|>\n<|im_start|>user\nNow think!<|im_end|>\n<|im_start|>assistant\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 0, NULL, 6, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /think\n"
     "\n## Custom Instructions\n\n  You speak like a lighthouse keeper.\n\n<|im_end|>\n<|im_start|>"
     "user\nWhat is a knot?<|im_end|>\n<|im_start|>assistant\n<think>\nAt sea.\n</think>\n\nA mile "
     "an hour.<|im_end|>\n<|im_start|>user\nNothing else?<|im_end|>\n<|im_start|>assistant\n<think>"
     "\n\n</think>\n\n\nNo.<|im_end|>\n<|im_start|>user\nSure?<|im_end|>\n<|im_start|>assistant\nYe"
     "s.<|im_end|>\n<|im_start|>user\nNow think!<|im_end|>\n<|im_start|>assistant\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 0, NULL, 7, NULL,
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /think\n"
     "\n## Custom Instructions\n\nYou are a helpful AI assistant named SmolLM, trained by Hugging F"
     "ace. Your role as an assistant involves thoroughly exploring questions through a systematic t"
     "hinking process before providing the final precise and accurate solutions. This requires enga"
     "ging in a comprehensive cycle of analysis, summarizing, exploration, reassessment, reflection"
     ", backtracking, and iteration to develop well-considered thinking process. Please structure y"
     "our response into two main sections: Thought and Solution using the specified format: <think>"
     " Thought section </think> Solution section. In the Thought section, detail your reasoning pro"
     "cess in steps. Each step should include detailed considerations such as analysing questions, "
     "summarizing relevant findings, brainstorming new ideas, verifying the accuracy of the current"
     " steps, refining any errors, and revisiting previous steps. In the Solution section, based on"
     " various attempts, explorations, and reflections from the Thought section, systematically pre"
     "sent the final solution that you deem correct. The Solution section should be logical, accura"
     "te, and concise and detail necessary steps needed to reach the conclusion.\n\n<|im_end|>\n<|i"
     "m_start|>user\na<|im_end|>\n<|im_start|>assistant\n<think>\nThe answer was cut<|im_end|>\n<|i"
     "m_start|>user\nb<|im_end|>\n<|im_start|>assistant\n<think>\none </think> two\n</think>\n\n\n "
     "<think>three<|im_end|>\n<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\nfour\n</think><"
     "|im_end|>\n<|im_start|>user\n</think><|im_end|>\n<|im_start|>assistant\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 0, NULL, 7, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /think\n"
     "\n## Custom Instructions\n\n  You speak like a lighthouse keeper.\n\n<|im_end|>\n<|im_start|>"
     "user\na<|im_end|>\n<|im_start|>assistant\n<think>\nThe answer was cut<|im_end|>\n<|im_start|>"
     "user\nb<|im_end|>\n<|im_start|>assistant\n<think>\none </think> two\n</think>\n\n\n <think>th"
     "ree<|im_end|>\n<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\nfour\n</think><|im_end|>"
     "\n<|im_start|>user\n</think><|im_end|>\n<|im_start|>assistant\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 1, NULL, 0, NULL,
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /no_thin"
     "k\n\n## Custom Instructions\n\nYou are a helpful AI assistant named SmolLM, trained by Huggin"
     "g Face.\n\n<|im_end|>\n<|im_start|>user\nWhat is a fathom?<|im_end|>\n<|im_start|>assistant\n"
     "<think>\n\n</think>\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 1, NULL, 0, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /no_thin"
     "k\n\n## Custom Instructions\n\n  You speak like a lighthouse keeper.\n\n<|im_end|>\n<|im_star"
     "t|>user\nWhat is a fathom?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 1, NULL, 1, NULL,
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /no_thin"
     "k\n\n## Custom Instructions\n\nYou are a helpful AI assistant named SmolLM, trained by Huggin"
     "g Face.\n\n<|im_end|>\n<|im_start|>user\n What is a fathom? \n<|im_end|>\n<|im_start|>assista"
     "nt\n<think>\n\n</think>\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 1, NULL, 1, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /no_thin"
     "k\n\n## Custom Instructions\n\n  You speak like a lighthouse keeper.\n\n<|im_end|>\n<|im_star"
     "t|>user\n What is a fathom? \n<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 1, NULL, 2, NULL,
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /no_thin"
     "k\n\n## Custom Instructions\n\nYou are a helpful AI assistant named SmolLM, trained by Huggin"
     "g Face.\n\n<|im_end|>\n<|im_start|>user\nWhat is a fathom?<|im_end|>\n<|im_start|>assistant\n"
     "<think>\n\n</think>\nSix feet of water.<|im_end|>\n<|im_start|>user\nAnd a league?<|im_end|>\n"
     "<|im_start|>assistant\n<think>\n\n</think>\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 1, NULL, 2, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /no_thin"
     "k\n\n## Custom Instructions\n\n  You speak like a lighthouse keeper.\n\n<|im_end|>\n<|im_star"
     "t|>user\nWhat is a fathom?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\nSix feet of"
     " water.<|im_end|>\n<|im_start|>user\nAnd a league?<|im_end|>\n<|im_start|>assistant\n<think>\n"
     "\n</think>\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 1, NULL, 2, "Be brief. /no_think Really.\n\n",
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /no_thin"
     "k\n\n## Custom Instructions\n\nBe brief.  Really.\n\n<|im_end|>\n<|im_start|>user\nWhat is a "
     "fathom?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\nSix feet of water.<|im_end|>\n"
     "<|im_start|>user\nAnd a league?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 1, NULL, 2, "",
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /no_thin"
     "k\n\n## Custom Instructions\n\nYou are a helpful AI assistant named SmolLM, trained by Huggin"
     "g Face.\n\n<|im_end|>\n<|im_start|>user\nWhat is a fathom?<|im_end|>\n<|im_start|>assistant\n"
     "<think>\n\n</think>\nSix feet of water.<|im_end|>\n<|im_start|>user\nAnd a league?<|im_end|>\n"
     "<|im_start|>assistant\n<think>\n\n</think>\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 1, NULL, 3, NULL,
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /no_thin"
     "k\n\n## Custom Instructions\n\nYou are a helpful AI assistant named SmolLM, trained by Huggin"
     "g Face.\n\n<|im_end|>\n<|im_start|>user\n one \n<|im_end|>\n<|im_start|>assistant\n<think>\n\n"
     "</think>\n two \n<|im_end|>\n<|im_start|>user\nthree\n<|im_end|>\n<|im_start|>assistant\n<thi"
     "nk>\n\n</think>\n<think>\nFour? Five.\n</think>\n\nfour<|im_end|>\n<|im_start|>user\n\011five"
     "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 1, NULL, 3, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /no_thin"
     "k\n\n## Custom Instructions\n\n  You speak like a lighthouse keeper.\n\n<|im_end|>\n<|im_star"
     "t|>user\n one \n<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n two \n<|im_end|>\n<|"
     "im_start|>user\nthree\n<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n<think>\nFour?"
     " Five.\n</think>\n\nfour<|im_end|>\n<|im_start|>user\n\011five<|im_end|>\n<|im_start|>assista"
     "nt\n<think>\n\n</think>\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 1, NULL, 4, NULL,
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /no_thin"
     "k\n\n## Custom Instructions\n\nYou are a helpful AI assistant named SmolLM, trained by Huggin"
     "g Face.\n\n<|im_end|>\n<|im_start|>user\n\342\200\203\n\011 {braces} <s> [INST] <|im_start|> "
     "caf\303\251 \360\237\246\200\302\240\037 <|im_end|>\n<|im_start|>assistant\n<think>\n\n</thin"
     "k>\n\342\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037"
     " <|im_end|>\n<|im_start|>user\n\342\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251"
     " \360\237\246\200\302\240\037 <|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 1, NULL, 4, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /no_thin"
     "k\n\n## Custom Instructions\n\n  You speak like a lighthouse keeper.\n\n<|im_end|>\n<|im_star"
     "t|>user\n\342\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302"
     "\240\037 <|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\342\200\203\n\011 {braces} "
     "<s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037 <|im_end|>\n<|im_start|>user"
     "\n\342\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037"
     " <|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 1, NULL, 5, NULL,
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /no_thin"
     "k\n\n## Custom Instructions\n\nYou are a helpful AI assistant named SmolLM, trained by Huggin"
     "g Face.\n\n<|im_end|>\n<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n<think>\n\n</thin"
     "k>\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 1, NULL, 5, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /no_thin"
     "k\n\n## Custom Instructions\n\n  You speak like a lighthouse keeper.\n\n<|im_end|>\n<|im_star"
     "t|>user\n<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 1, NULL, 6, NULL,
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /no_thin"
     "k\n\n## Custom Instructions\n\nYou are a helpful AI assistant named SmolLM, trained by Huggin"
     "g Face.\n\n<|im_end|>\n<|im_start|>user\nWhat is a knot?<|im_end|>\n<|im_start|>assistant\n<t"
     "hink>\n\n</think>\n<think>\nAt sea.\n</think>\n\nA mile an hour.<|im_end|>\n<|im_start|>user\n"
     "Nothing else?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n<think>\n\n</think>\n\n\n"
     "No.<|im_end|>\n<|im_start|>user\nSure?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n"
     "Yes.<|im_end|>\n<|im_start|>user\nNow think!<|im_end|>\n<|im_start|>assistant\n<think>\n\n</t"
     "hink>\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 1, NULL, 6, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /no_thin"
     "k\n\n## Custom Instructions\n\n  You speak like a lighthouse keeper.\n\n<|im_end|>\n<|im_star"
     "t|>user\nWhat is a knot?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n<think>\nAt s"
     "ea.\n</think>\n\nA mile an hour.<|im_end|>\n<|im_start|>user\nNothing else?<|im_end|>\n<|im_s"
     "tart|>assistant\n<think>\n\n</think>\n<think>\n\n</think>\n\n\nNo.<|im_end|>\n<|im_start|>use"
     "r\nSure?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\nYes.<|im_end|>\n<|im_start|>u"
     "ser\nNow think!<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 1, NULL, 7, NULL,
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /no_thin"
     "k\n\n## Custom Instructions\n\nYou are a helpful AI assistant named SmolLM, trained by Huggin"
     "g Face.\n\n<|im_end|>\n<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n<think>\n\n</thi"
     "nk>\n<think>\nThe answer was cut<|im_end|>\n<|im_start|>user\nb<|im_end|>\n<|im_start|>assist"
     "ant\n<think>\n\n</think>\n<think>\none </think> two\n</think>\n\n\n <think>three<|im_end|>\n<"
     "|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\nfour\n</think><|im_"
     "end|>\n<|im_start|>user\n</think><|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n"},
    {"HuggingFaceTB-SmolLM3-3B", CHAT_SMOLLM3, 1, NULL, 7, "  You speak like a lighthouse keeper.\n",
     "<|im_start|>system\n## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /no_thin"
     "k\n\n## Custom Instructions\n\n  You speak like a lighthouse keeper.\n\n<|im_end|>\n<|im_star"
     "t|>user\na<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n<think>\nThe answer was cut"
     "<|im_end|>\n<|im_start|>user\nb<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n<think"
     ">\none </think> two\n</think>\n\n\n <think>three<|im_end|>\n<|im_start|>user\nc<|im_end|>\n<|"
     "im_start|>assistant\n<think>\n\n</think>\nfour\n</think><|im_end|>\n<|im_start|>user\n</think"
     "><|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n"},
    {"openai-gpt-oss-120b", CHAT_GPT_OSS, 0, "2026-11-24", 0, NULL,
     "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\nKnowled"
     "ge cutoff: 2024-06\nCurrent date: 2026-11-24\n\nReasoning: medium\n\n# Valid channels: analys"
     "is, commentary, final. Channel must be included for every message.<|end|><|start|>user<|messa"
     "ge|>What is a fathom?<|end|><|start|>assistant"},
    {"openai-gpt-oss-120b", CHAT_GPT_OSS, 0, "2026-11-24", 0, "  You speak like a lighthouse keeper.\n",
     "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\nKnowled"
     "ge cutoff: 2024-06\nCurrent date: 2026-11-24\n\nReasoning: medium\n\n# Valid channels: analys"
     "is, commentary, final. Channel must be included for every message.<|end|><|start|>developer<|"
     "message|># Instructions\n\n  You speak like a lighthouse keeper.\n\n\n<|end|><|start|>user<|m"
     "essage|>What is a fathom?<|end|><|start|>assistant"},
    {"openai-gpt-oss-120b", CHAT_GPT_OSS, 0, "2026-11-24", 1, NULL,
     "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\nKnowled"
     "ge cutoff: 2024-06\nCurrent date: 2026-11-24\n\nReasoning: medium\n\n# Valid channels: analys"
     "is, commentary, final. Channel must be included for every message.<|end|><|start|>user<|messa"
     "ge|> What is a fathom? \n<|end|><|start|>assistant"},
    {"openai-gpt-oss-120b", CHAT_GPT_OSS, 0, "2026-11-24", 1, "  You speak like a lighthouse keeper.\n",
     "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\nKnowled"
     "ge cutoff: 2024-06\nCurrent date: 2026-11-24\n\nReasoning: medium\n\n# Valid channels: analys"
     "is, commentary, final. Channel must be included for every message.<|end|><|start|>developer<|"
     "message|># Instructions\n\n  You speak like a lighthouse keeper.\n\n\n<|end|><|start|>user<|m"
     "essage|> What is a fathom? \n<|end|><|start|>assistant"},
    {"openai-gpt-oss-120b", CHAT_GPT_OSS, 0, "2026-11-24", 2, NULL,
     "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\nKnowled"
     "ge cutoff: 2024-06\nCurrent date: 2026-11-24\n\nReasoning: medium\n\n# Valid channels: analys"
     "is, commentary, final. Channel must be included for every message.<|end|><|start|>user<|messa"
     "ge|>What is a fathom?<|end|><|start|>assistant<|channel|>final<|message|>Six feet of water.<|"
     "end|><|start|>user<|message|>And a league?<|end|><|start|>assistant"},
    {"openai-gpt-oss-120b", CHAT_GPT_OSS, 0, "2026-11-24", 2, "  You speak like a lighthouse keeper.\n",
     "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\nKnowled"
     "ge cutoff: 2024-06\nCurrent date: 2026-11-24\n\nReasoning: medium\n\n# Valid channels: analys"
     "is, commentary, final. Channel must be included for every message.<|end|><|start|>developer<|"
     "message|># Instructions\n\n  You speak like a lighthouse keeper.\n\n\n<|end|><|start|>user<|m"
     "essage|>What is a fathom?<|end|><|start|>assistant<|channel|>final<|message|>Six feet of wate"
     "r.<|end|><|start|>user<|message|>And a league?<|end|><|start|>assistant"},
    {"openai-gpt-oss-120b", CHAT_GPT_OSS, 0, "2026-11-24", 2, "Be brief. /no_think Really.\n\n",
     "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\nKnowled"
     "ge cutoff: 2024-06\nCurrent date: 2026-11-24\n\nReasoning: medium\n\n# Valid channels: analys"
     "is, commentary, final. Channel must be included for every message.<|end|><|start|>developer<|"
     "message|># Instructions\n\nBe brief. /no_think Really.\n\n\n\n<|end|><|start|>user<|message|>"
     "What is a fathom?<|end|><|start|>assistant<|channel|>final<|message|>Six feet of water.<|end|"
     "><|start|>user<|message|>And a league?<|end|><|start|>assistant"},
    {"openai-gpt-oss-120b", CHAT_GPT_OSS, 0, "2026-11-24", 2, "",
     "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\nKnowled"
     "ge cutoff: 2024-06\nCurrent date: 2026-11-24\n\nReasoning: medium\n\n# Valid channels: analys"
     "is, commentary, final. Channel must be included for every message.<|end|><|start|>user<|messa"
     "ge|>What is a fathom?<|end|><|start|>assistant<|channel|>final<|message|>Six feet of water.<|"
     "end|><|start|>user<|message|>And a league?<|end|><|start|>assistant"},
    {"openai-gpt-oss-120b", CHAT_GPT_OSS, 0, "2026-11-24", 3, NULL,
     "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\nKnowled"
     "ge cutoff: 2024-06\nCurrent date: 2026-11-24\n\nReasoning: medium\n\n# Valid channels: analys"
     "is, commentary, final. Channel must be included for every message.<|end|><|start|>user<|messa"
     "ge|> one \n<|end|><|start|>assistant<|channel|>final<|message|>\n\n two \n<|end|><|start|>use"
     "r<|message|>three\n<|end|><|start|>assistant<|channel|>final<|message|>four<|end|><|start|>us"
     "er<|message|>\011five<|end|><|start|>assistant"},
    {"openai-gpt-oss-120b", CHAT_GPT_OSS, 0, "2026-11-24", 3, "  You speak like a lighthouse keeper.\n",
     "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\nKnowled"
     "ge cutoff: 2024-06\nCurrent date: 2026-11-24\n\nReasoning: medium\n\n# Valid channels: analys"
     "is, commentary, final. Channel must be included for every message.<|end|><|start|>developer<|"
     "message|># Instructions\n\n  You speak like a lighthouse keeper.\n\n\n<|end|><|start|>user<|m"
     "essage|> one \n<|end|><|start|>assistant<|channel|>final<|message|>\n\n two \n<|end|><|start|"
     ">user<|message|>three\n<|end|><|start|>assistant<|channel|>final<|message|>four<|end|><|start"
     "|>user<|message|>\011five<|end|><|start|>assistant"},
    {"openai-gpt-oss-120b", CHAT_GPT_OSS, 0, "2026-11-24", 4, NULL,
     "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\nKnowled"
     "ge cutoff: 2024-06\nCurrent date: 2026-11-24\n\nReasoning: medium\n\n# Valid channels: analys"
     "is, commentary, final. Channel must be included for every message.<|end|><|start|>user<|messa"
     "ge|>\342\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037"
     " <|end|><|start|>assistant<|channel|>final<|message|>\342\200\203\n\011 {braces} <s> [INST] <"
     "|im_start|> caf\303\251 \360\237\246\200\302\240\037 <|end|><|start|>user<|message|>\342\200\203"
     "\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037 <|end|><|sta"
     "rt|>assistant"},
    {"openai-gpt-oss-120b", CHAT_GPT_OSS, 0, "2026-11-24", 4, "  You speak like a lighthouse keeper.\n",
     "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\nKnowled"
     "ge cutoff: 2024-06\nCurrent date: 2026-11-24\n\nReasoning: medium\n\n# Valid channels: analys"
     "is, commentary, final. Channel must be included for every message.<|end|><|start|>developer<|"
     "message|># Instructions\n\n  You speak like a lighthouse keeper.\n\n\n<|end|><|start|>user<|m"
     "essage|>\342\200\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302\240"
     "\037 <|end|><|start|>assistant<|channel|>final<|message|>\342\200\203\n\011 {braces} <s> [INS"
     "T] <|im_start|> caf\303\251 \360\237\246\200\302\240\037 <|end|><|start|>user<|message|>\342\200"
     "\203\n\011 {braces} <s> [INST] <|im_start|> caf\303\251 \360\237\246\200\302\240\037 <|end|><"
     "|start|>assistant"},
    {"openai-gpt-oss-120b", CHAT_GPT_OSS, 0, "2026-11-24", 5, NULL,
     "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\nKnowled"
     "ge cutoff: 2024-06\nCurrent date: 2026-11-24\n\nReasoning: medium\n\n# Valid channels: analys"
     "is, commentary, final. Channel must be included for every message.<|end|><|start|>user<|messa"
     "ge|><|end|><|start|>assistant"},
    {"openai-gpt-oss-120b", CHAT_GPT_OSS, 0, "2026-11-24", 5, "  You speak like a lighthouse keeper.\n",
     "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\nKnowled"
     "ge cutoff: 2024-06\nCurrent date: 2026-11-24\n\nReasoning: medium\n\n# Valid channels: analys"
     "is, commentary, final. Channel must be included for every message.<|end|><|start|>developer<|"
     "message|># Instructions\n\n  You speak like a lighthouse keeper.\n\n\n<|end|><|start|>user<|m"
     "essage|><|end|><|start|>assistant"},
    {"openai-gpt-oss-120b", CHAT_GPT_OSS, 0, "2026-11-24", 6, NULL,
     "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\nKnowled"
     "ge cutoff: 2024-06\nCurrent date: 2026-11-24\n\nReasoning: medium\n\n# Valid channels: analys"
     "is, commentary, final. Channel must be included for every message.<|end|><|start|>user<|messa"
     "ge|>What is a knot?<|end|><|start|>assistant<|channel|>final<|message|>A mile an hour.<|end|>"
     "<|start|>user<|message|>Nothing else?<|end|><|start|>assistant<|channel|>final<|message|>\nNo"
     ".<|end|><|start|>user<|message|>Sure?<|end|><|start|>assistant<|channel|>final<|message|>Yes."
     "<|end|><|start|>user<|message|>Now think!<|end|><|start|>assistant"},
    {"openai-gpt-oss-120b", CHAT_GPT_OSS, 0, "2026-11-24", 6, "  You speak like a lighthouse keeper.\n",
     "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\nKnowled"
     "ge cutoff: 2024-06\nCurrent date: 2026-11-24\n\nReasoning: medium\n\n# Valid channels: analys"
     "is, commentary, final. Channel must be included for every message.<|end|><|start|>developer<|"
     "message|># Instructions\n\n  You speak like a lighthouse keeper.\n\n\n<|end|><|start|>user<|m"
     "essage|>What is a knot?<|end|><|start|>assistant<|channel|>final<|message|>A mile an hour.<|e"
     "nd|><|start|>user<|message|>Nothing else?<|end|><|start|>assistant<|channel|>final<|message|>"
     "\nNo.<|end|><|start|>user<|message|>Sure?<|end|><|start|>assistant<|channel|>final<|message|>"
     "Yes.<|end|><|start|>user<|message|>Now think!<|end|><|start|>assistant"},
    {"openai-gpt-oss-120b", CHAT_GPT_OSS, 0, "2026-11-24", 7, NULL,
     "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\nKnowled"
     "ge cutoff: 2024-06\nCurrent date: 2026-11-24\n\nReasoning: medium\n\n# Valid channels: analys"
     "is, commentary, final. Channel must be included for every message.<|end|><|start|>user<|messa"
     "ge|>a<|end|><|start|>assistant<|channel|>final<|message|><think>\nThe answer was cut<|end|><|"
     "start|>user<|message|>b<|end|><|start|>assistant<|channel|>final<|message|>\n <think>three<|e"
     "nd|><|start|>user<|message|>c<|end|><|start|>assistant<|channel|>final<|message|>four\n</thin"
     "k><|end|><|start|>user<|message|></think><|end|><|start|>assistant"},
    {"openai-gpt-oss-120b", CHAT_GPT_OSS, 0, "2026-11-24", 7, "  You speak like a lighthouse keeper.\n",
     "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\nKnowled"
     "ge cutoff: 2024-06\nCurrent date: 2026-11-24\n\nReasoning: medium\n\n# Valid channels: analys"
     "is, commentary, final. Channel must be included for every message.<|end|><|start|>developer<|"
     "message|># Instructions\n\n  You speak like a lighthouse keeper.\n\n\n<|end|><|start|>user<|m"
     "essage|>a<|end|><|start|>assistant<|channel|>final<|message|><think>\nThe answer was cut<|end"
     "|><|start|>user<|message|>b<|end|><|start|>assistant<|channel|>final<|message|>\n <think>thre"
     "e<|end|><|start|>user<|message|>c<|end|><|start|>assistant<|channel|>final<|message|>four\n</"
     "think><|end|><|start|>user<|message|></think><|end|><|start|>assistant"}};
