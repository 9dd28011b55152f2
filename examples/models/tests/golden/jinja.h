/* Written by make_jinja.py with transformers 5.24.0, for test_jinja.c. */
/* clang-format off */

/* Roles and texts in turn. */
static const char *const jinja_conversations[][14] = {
    {"user", "Hi <b> \303\251", "assistant", "It's \"so\"\n\001 \342\200\250 \303\237", NULL},
    {"user", " What is a fathom? \n", NULL},
    {"system", " Be brief.\n", "user", "What is a fathom?", "assistant", "<think>\nHm.\n</think>\n\nSix feet. ", "user", "And a league?", "assistant", "no thought", "user", "Sure?", NULL},
    {"user", "a", "assistant", "b</think>\n\nc", "user", "", NULL}};

/* Templates, the conversation, and what they are rendered to. */
static const jinja_golden jinja_goldens[] = {
    {"\n  {%- if true -%}\n   x\n  {%- endif %}\ny", 0,
     "xy"},
    {"a\n   {% if true %}\n b\n   {% endif %}\nc", 0,
     "a\n b\nc"},
    {"{# c #}\nx\n  {# d -#}\n\n  y {{- ' z ' -}}  w {#- e -#} v", 0,
     "x\ny z wv"},
    {"{%+ if true %}a{% endif %}\n  {%+ if true +%}\nb{% endif %}\n", 0,
     "a  \nb"},
    {"a\nb\n", 0,
     "a\nb"},
    {"{% if true %}\nx\n{% endif %}", 0,
     "x\n"},
    {"{{ messages[0].content[1:] }}{{ messages[1].content[-3:] }}{{ messages[1].content[2] }}", 0,
     "i <b> \303\251\342\200\250 \303\237'"},
    {"{{ [1,2,3][::-1]|join }}{{ [1,2,3][:-1]|join }}{{ [1,2,3][5:]|length }}{{ (1,2,3)[:2]|join }}"
     "{{ messages[0].content[5:9] }}{{ 'abc'[-5:2] }}{{ [[1,2],[3]][0][1] }}{{ [1,2,3][-9:-1]|join "
     "}}", 0,
     "32112012> \303\251ab212"},
    {"{% for m in messages %}{{ loop.index0 }}{{ m['role']|upper }}{{ m.content.split(' ')|join('/'"
     ") }}{% endfor %}", 0,
     "0USERHi/<b>/\303\2511ASSISTANTIt's/\"so\"\n\001/\342\200\250/\303\237"},
    {"{{ 'a,b,,c'.split(',')|join('/') }}{{ 'a,b,,c'.split(',', 1)|join('/') }}{{ 'aaa'.split('aa')"
     "|join('/') }}{{ ''.split(',')|length }}{{ 'a,b'.split(',', maxsplit=0)|first }}", 0,
     "a/b//ca/b,,c/a1a,b"},
    {"{{ 'xxabxx'.strip('x') }}{{ 'xxabxx'.lstrip('x') }}{{ 'xxabxx'.rstrip('xb') }}|{{ '  q '|trim"
     " }}|{{ 'aab'|trim('a') }}", 0,
     "ababxxxxa|q|b"},
    {"{{ 'hello'.replace('l','L') }}{{ 'hello'|replace('l','') }}{{ 'abc'.startswith('ab') }}{{ 'ab"
     "c'.startswith('') }}", 0,
     "heLLoheoTrueTrue"},
    {"{% set ns = namespace(found=false, x=[]) %}{% for i in range(3) %}{% if i == 1 %}{% set ns.fo"
     "und = true %}{% endif %}{% set ns.x = ns.x + [i] %}{% endfor %}{{ ns.found }}{{ ns.x|join }}{"
     "{ ns['x']|length }}{{ ns.y is defined }}", 0,
     "True0123False"},
    {"{% macro m(a, b='d', c=none) %}[{{ a }}{{ b }}{{ c }}]{% endmacro %}{{ m(1) }}{{ m(1, c=2) }}"
     "{{ m() }}{% macro n(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ n(1) }}{{ n(b=3) }}", 0,
     "[1dNone][1d2][dNone]113"},
    {"{% macro r(l) %}{% for x in l %}{% if x is string %}{{ x }}{% else %}({{ r(x) }}){% endif %}{"
     "% endfor %}{% endmacro %}{{ r(['a',['b',['c']]]) }}", 0,
     "a(b(c))"},
    {"{% macro f() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ f() }}{% set x = 2 %}{{ f() }}", 0,
     "12"},
    {"{% for i in [1,2,3] %}{% if i==1 %}{% set a=5 %}{% endif %}{{a}};{% endfor %}{% set a=0 %}{% "
     "for i in [1,2] %}{{a}};{% set a = i %}{% endfor %}{{a}}", 0,
     "5;;;0;0;0"},
    {"{% for a, b in [(1,2),[3,4]] %}{{ a }}-{{ b }};{% endfor %}{% for c in messages[0].content %}"
     "{{ c }}.{% endfor %}{% for k in {'a':1,'b':2} %}{{ k }}{% endfor %}", 0,
     "1-2;3-4;H.i. .<.b.>. .\303\251.ab"},
    {"{% for i in range(10) %}{% if i == 2 %}{% continue %}{% endif %}{% if i > 4 %}{% break %}{% e"
     "ndif %}{{ i }}{% endfor %}{% for i in range(2, 10, 3) %}{{ i }} {% endfor %}{{ range(5, 0, -2"
     ")|join(' ') }}{% for i in [1,2] %}{% set x %}a{% break %}{% endset %}{{ i }}{% endfor %}", 0,
     "01342 5 8 5 3 1"},
    {"{% for m in messages if m.role == 'user' %}{{ loop.last }}{{ m.content }}{% else %}none{% end"
     "for %}{% for m in [] %}x{% else %}none{% endfor %}{% for x in [1,2] %}{{ x }}{% break %}{% el"
     "se %}e{% endfor %}{% for x in [1,2] %}{% if x == 2 %}{% break %}{% endif %}{% else %}e{% endf"
     "or %}", 0,
     "TrueHi <b> \303\251none1e"},
    {"{% set ns = namespace(i=0) %}{% for m in messages if ns.i < 1 %}{% set ns.i = ns.i + 1 %}{{ m"
     ".role }}{% endfor %}", 0,
     "user"},
    {"{% for i in [1,2,3] %}{{ loop.previtem }}{{ loop.first }}{% for j in [1] %}{{ loop.index }}{%"
     " endfor %}{{ loop.index }}{% endfor %}", 0,
     "True111False122False13"},
    {"{{ messages|selectattr('role','equalto','user')|list|length }}{% for m in messages|rejectattr"
     "('role','eq','user') %}{{ m.role }}{% endfor %}{{ (messages|selectattr('content')|list)[-1].r"
     "ole }}", 0,
     "1assistantassistant"},
    {"{{ ['a',none,'']|select|join(',') }}{{ none|selectattr('a')|list|length }}{{ ['a',1]|select('"
     "string')|join }}{{ ['a',1]|reject('string')|join }}", 0,
     "a0a1"},
    {"{{ 'yes' if messages|selectattr('role','eq','zzz') else 'no' }}{{ 'yes' if messages|selectatt"
     "r('role','eq','zzz')|list else 'no' }}", 0,
     "yesno"},
    {"{{ 'x' if messages[0]['role'] == 'user' and not tools else 'y' }}{{ 1 if tools is none }}{{ '"
     "a' if false else 'b' if false else 'c' }}{{ 'x' if false }}", 0,
     "x1c"},
    {"{{ none == none }}{{ 1 != 2 }}{{ 'a' == 1 }}{{ nope == none }}{{ 1 < 2 < 3 }}{{ 3 > 2 > 2 }}", 0,
     "TrueTrueFalseFalseTrueFalse"},
    {"{{ 7 % 3 }}{{ -7 % 3 }}{{ 1 - 2 }}{{ -3 }}{{ +3 }}{{ - 2 + 5 }}{{ true + 1 }}", 0,
     "12-1-3332"},
    {"{{ 'a' ~ 1 ~ none ~ true }}{{ ([1] + [2])|join }}{{ ((1,) + (2,))|join }}{{ 'it' \"'s\" 'x' }"
     "}{{ '\\n\\t\\\\\\'\\\"' }}", 0,
     "a1NoneTrue1212it'sx\n\011\\'\""},
    {"{{ 'b' in 'abc' }}{{ 'z' not in 'abc' }}{{ 1 in [1] }}{{ 'role' in messages[0] }}{{ 'x' in no"
     "pe }}{{ 1 in (2,3) }}{{ '' in '' }}", 0,
     "TrueTrueTrueTrueFalseFalseTrue"},
    {"{{ x is defined }}{{ tools is defined }}{{ tools is none }}{{ 'a' is string }}{{ {} is mappin"
     "g }}{{ [] is sequence }}{{ [] is iterable }}{{ true is true }}{{ true is boolean }}{{ 1 is bo"
     "olean }}{{ 1 is integer }}{{ x is not defined }}{{ 'a' is in ['a'] }}{{ 1 is not none }}{{ 'a"
     "' is ne 'b' }}{{ true is integer }}{{ true is number }}{{ x is sequence }}{{ none is iterable"
     " }}", 0,
     "FalseTrueTrueTrueTrueTrueTrueTrueTrueFalseTrueTrueTrueTrueTrueFalseTrueTrueFalse"},
    {"{{ x|default('d') }}{{ ''|default('d') }}{{ ''|default('d', true) }}{{ none|d('e', boolean=tr"
     "ue) }}{{ x|d }}{{ x }}|{{ messages[0].nope }}|{{ messages[9] is defined }}{{ tools.x is defin"
     "ed }}{{ 'a'.text is defined }}{{ x|length }}", 0,
     "dde||FalseFalseFalse0"},
    {"{% for k, v in {1: 'a', 20: 'b', 30: 'c'}|dictsort %}{{ k }}{{ v }}{% endfor %}", 0,
     "1a20b30c"},
    {"{{ 'hello world'|title }}{{ 'hELLO'|capitalize }}{{ messages[0].content|capitalize }}{{ \"the"
     "y're bill's\"|title }}{{ \"they're bill's\".title() }}{{ messages[0].content|lower }}{{ 'aBC'"
     ".capitalize() }}{{ '\303\211'|lower }}", 0,
     "Hello WorldHelloHi <b> \303\251They're Bill'sThey'Re Bill'Shi <b> \303\251Abc\303\251"},
    {"{{ 42|string + 'x' }}{{ true|int }}{{ 7|int }}", 0,
     "42x17"},
    {"{{ 'abc'|list|join('-') }}{{ {'a':1}|list|join }}{{ 'abc'|first }}{{ 'abc'|last }}{{ [1,2,3]|"
     "last }}{{ []|first is defined }}{{ [1,2]|join }}", 0,
     "a-b-caac3False12"},
    {"{{ {'a':1,'b':2}.keys()|join }}{{ {'a':1}.values()|join }}{{ {'a':1}.get('a') }}{{ {'a':1}.ge"
     "t('z') }}{{ {'a':1}.get('z','q') }}{% for k, v in {'a':1}|items %}{{ k }}{{ v }}{% endfor %}{"
     "% for k, v in {'a':1}.items() %}{{ k }}{{ v }}{% endfor %}{{ {'a':1}.items()|length }}{{ {'it"
     "ems':1}['items'] }}{{ dict(a=1, b=2).b }}", 0,
     "ab11Noneqa1a1112"},
    {"{% set x %}ab {{ messages[0].role }}{% endset %}{{ x|upper }}{% filter upper|replace('A', 'x'"
     ") %}a{{ 'b' }}{% endfilter %}{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set (c, d) = 'xy' %}{{ c }"
     "}{{ d }}{% set t = 1, %}{{ t|length }}", 0,
     "AB USERxB12xy1"},
    {"{% generation %}a{{ 1 }}{% endgeneration %}\n{% for m in messages %}{% generation %}{{ m.role"
     " }}{% endgeneration %}{% endfor %}", 0,
     "a1userassistant"},
    {"{{ not true }}{{ not not 1 }}{{ 0 or 'x' }}{{ 'x' and '' }}{{ none or none }}{{ true and 1 or"
     " 2 }}{{ 'a' | upper ~ 'b' }}{{ 1 + 2 | string | length }}{{ not x is defined }}", 0,
     "FalseTruexNone1Ab2True"},
    {"{% if messages[0].role == 'user' %}u{% elif messages[0].role == 'x' %}x{% else %}e{% endif %}"
     "{% if false %}{% elif true %}el{% endif %}{% if 0 %}{% else %}E{% endif %}{%if true%}tight{%e"
     "ndif%}{{1}} {{+ 2 }} {{- 3 }}", 0,
     "uelEtight1 23"},
    {"{{ {1: 'x'}[1] }}{{ [1, 2,]|length }}{{ {'a': 1,}|length }}{{ ()|length }}{{ {'a': 1} is mapp"
     "ing and 1 or 2 }}", 0,
     "x2101"},
    {"{% set b='x' %}{% macro f(b=b) %}[{{ b }}]{% endmacro %}{{ f() }}{{ f('y') }}", 0,
     "[][y]"},
    {"{% set c='x' %}{% macro f(a=c, c='y') %}[{{ a }}{{ c }}]{% endmacro %}{{ f() }}{{ f(c='z') }}"
     "{{ f(1, 2) }}", 0,
     "[y][zz][12]"},
    {"{% for m in messages %}{{ loop is iterable }}{{ loop is sequence }}{% endfor %}{{ range(3)|la"
     "st }}{{ 'abc'|last }}\n", 0,
     "TrueFalseTrueFalse2c"},
    {"{%- for m in messages %}{%- set said = m.content %}\n{%- if m.role == 'assistant' and '</thin"
     "k>' in said %}{%- set said = said.split('</think>')[-1].lstrip('\\n') %}{%- endif %}\n{{- '<|"
     "im_start|>' + m.role + '\\n' + said + '<|im_end|>' + '\\n' }}{%- endfor %}\n{%- if add_genera"
     "tion_prompt %}{{- '<|im_start|>assistant\\n<think>\\n' }}{%- endif %}", 1,
     "<|im_start|>user\n What is a fathom? \n<|im_end|>\n<|im_start|>assistant\n<think>\n"},
    {"{%- for m in messages %}{%- set said = m.content %}\n{%- if m.role == 'assistant' and '</thin"
     "k>' in said %}{%- set said = said.split('</think>')[-1].lstrip('\\n') %}{%- endif %}\n{{- '<|"
     "im_start|>' + m.role + '\\n' + said + '<|im_end|>' + '\\n' }}{%- endfor %}\n{%- if add_genera"
     "tion_prompt %}{{- '<|im_start|>assistant\\n<think>\\n' }}{%- endif %}", 2,
     "<|im_start|>system\n Be brief.\n<|im_end|>\n<|im_start|>user\nWhat is a fathom?<|im_end|>\n<|"
     "im_start|>assistant\nSix feet. <|im_end|>\n<|im_start|>user\nAnd a league?<|im_end|>\n<|im_st"
     "art|>assistant\nno thought<|im_end|>\n<|im_start|>user\nSure?<|im_end|>\n<|im_start|>assistan"
     "t\n<think>\n"},
    {"{%- for m in messages %}{%- set said = m.content %}\n{%- if m.role == 'assistant' and '</thin"
     "k>' in said %}{%- set said = said.split('</think>')[-1].lstrip('\\n') %}{%- endif %}\n{{- '<|"
     "im_start|>' + m.role + '\\n' + said + '<|im_end|>' + '\\n' }}{%- endfor %}\n{%- if add_genera"
     "tion_prompt %}{{- '<|im_start|>assistant\\n<think>\\n' }}{%- endif %}", 3,
     "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nc<|im_end|>\n<|im_start|>user\n<|im_end"
     "|>\n<|im_start|>assistant\n<think>\n"},
    {"{%- set ns = namespace(waits=true, last=messages|length - 1) %}\n{%- for m in messages[::-1] "
     "%}{%- set at = messages|length - 1 - loop.index0 %}\n{%- if ns.waits and m.role == \"user\" a"
     "nd m.content is string and not (m.content.startswith('<r>') and m.content.endswith('</r>')) %"
     "}\n{%- set ns.waits = false %}{%- set ns.last = at %}{%- endif %}{%- endfor %}\n{%- for m in "
     "messages %}{%- if m.content is string %}{%- set said = m.content %}{%- else %}{%- set said = "
     "'' %}{%- endif %}\n{%- if m.role == \"assistant\" %}{%- set why = '' %}{%- if m.why is string"
     " %}{%- set why = m.why %}{%- elif '</think>' in said %}\n{%- set why = said.split('</think>')"
     "[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}\n{%- set said = said.split('</think>'"
     ")[-1].lstrip('\\n') %}{%- endif %}\n{%- if loop.index0 > ns.last and (loop.last or why) %}{{-"
     " '<think>\\n' + why.strip('\\n') + '\\n</think>\\n\\n' }}{%- endif %}{%- endif %}\n{{- '<|im_"
     "start|>' + m.role + '\\n' + said + '<|im_end|>\\n' }}{%- endfor %}\n{%- if add_generation_pro"
     "mpt %}{{- '<|im_start|>assistant\\n' }}\n{%- if enable_thinking is defined and enable_thinkin"
     "g is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}{%- endif %}", 1,
     "<|im_start|>user\n What is a fathom? \n<|im_end|>\n<|im_start|>assistant\n"},
    {"{%- set ns = namespace(waits=true, last=messages|length - 1) %}\n{%- for m in messages[::-1] "
     "%}{%- set at = messages|length - 1 - loop.index0 %}\n{%- if ns.waits and m.role == \"user\" a"
     "nd m.content is string and not (m.content.startswith('<r>') and m.content.endswith('</r>')) %"
     "}\n{%- set ns.waits = false %}{%- set ns.last = at %}{%- endif %}{%- endfor %}\n{%- for m in "
     "messages %}{%- if m.content is string %}{%- set said = m.content %}{%- else %}{%- set said = "
     "'' %}{%- endif %}\n{%- if m.role == \"assistant\" %}{%- set why = '' %}{%- if m.why is string"
     " %}{%- set why = m.why %}{%- elif '</think>' in said %}\n{%- set why = said.split('</think>')"
     "[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}\n{%- set said = said.split('</think>'"
     ")[-1].lstrip('\\n') %}{%- endif %}\n{%- if loop.index0 > ns.last and (loop.last or why) %}{{-"
     " '<think>\\n' + why.strip('\\n') + '\\n</think>\\n\\n' }}{%- endif %}{%- endif %}\n{{- '<|im_"
     "start|>' + m.role + '\\n' + said + '<|im_end|>\\n' }}{%- endfor %}\n{%- if add_generation_pro"
     "mpt %}{{- '<|im_start|>assistant\\n' }}\n{%- if enable_thinking is defined and enable_thinkin"
     "g is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}{%- endif %}", 2,
     "<|im_start|>system\n Be brief.\n<|im_end|>\n<|im_start|>user\nWhat is a fathom?<|im_end|>\n<|"
     "im_start|>assistant\nSix feet. <|im_end|>\n<|im_start|>user\nAnd a league?<|im_end|>\n<|im_st"
     "art|>assistant\nno thought<|im_end|>\n<|im_start|>user\nSure?<|im_end|>\n<|im_start|>assistan"
     "t\n"},
    {"{%- set ns = namespace(waits=true, last=messages|length - 1) %}\n{%- for m in messages[::-1] "
     "%}{%- set at = messages|length - 1 - loop.index0 %}\n{%- if ns.waits and m.role == \"user\" a"
     "nd m.content is string and not (m.content.startswith('<r>') and m.content.endswith('</r>')) %"
     "}\n{%- set ns.waits = false %}{%- set ns.last = at %}{%- endif %}{%- endfor %}\n{%- for m in "
     "messages %}{%- if m.content is string %}{%- set said = m.content %}{%- else %}{%- set said = "
     "'' %}{%- endif %}\n{%- if m.role == \"assistant\" %}{%- set why = '' %}{%- if m.why is string"
     " %}{%- set why = m.why %}{%- elif '</think>' in said %}\n{%- set why = said.split('</think>')"
     "[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}\n{%- set said = said.split('</think>'"
     ")[-1].lstrip('\\n') %}{%- endif %}\n{%- if loop.index0 > ns.last and (loop.last or why) %}{{-"
     " '<think>\\n' + why.strip('\\n') + '\\n</think>\\n\\n' }}{%- endif %}{%- endif %}\n{{- '<|im_"
     "start|>' + m.role + '\\n' + said + '<|im_end|>\\n' }}{%- endfor %}\n{%- if add_generation_pro"
     "mpt %}{{- '<|im_start|>assistant\\n' }}\n{%- if enable_thinking is defined and enable_thinkin"
     "g is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}{%- endif %}", 3,
     "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nc<|im_end|>\n<|im_start|>user\n<|im_end"
     "|>\n<|im_start|>assistant\n"},
    {"{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set s "
     "= messages[0]['content'].strip() + '\\n\\n' %}\n{% else %}{% set rest = messages %}{% set s ="
     " '' %}{% endif %}{% for m in rest %}\n{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %"
     "}{{ raise_exception('Turns must alternate: user, assistant, user') }}{% endif %}\n{% set said"
     " = (s if loop.index0 == 0 else '') + m['content'] %}{% if m['role'] == 'user' %}{{ '[INST] ' "
     "+ said.strip() + ' [/INST]' }}\n{% elif m['role'] == 'assistant' %}{{ ' ' + said.strip() + eo"
     "s_token }}{% endif %}{% endfor %}", 1,
     "<s>[INST] What is a fathom? [/INST]\n"},
    {"{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set s "
     "= messages[0]['content'].strip() + '\\n\\n' %}\n{% else %}{% set rest = messages %}{% set s ="
     " '' %}{% endif %}{% for m in rest %}\n{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %"
     "}{{ raise_exception('Turns must alternate: user, assistant, user') }}{% endif %}\n{% set said"
     " = (s if loop.index0 == 0 else '') + m['content'] %}{% if m['role'] == 'user' %}{{ '[INST] ' "
     "+ said.strip() + ' [/INST]' }}\n{% elif m['role'] == 'assistant' %}{{ ' ' + said.strip() + eo"
     "s_token }}{% endif %}{% endfor %}", 2,
     "<s>[INST] Be brief.\n\nWhat is a fathom? [/INST]\n <think>\nHm.\n</think>\n\nSix feet.</s>[IN"
     "ST] And a league? [/INST]\n no thought</s>[INST] Sure? [/INST]\n"},
    {"{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set s "
     "= messages[0]['content'].strip() + '\\n\\n' %}\n{% else %}{% set rest = messages %}{% set s ="
     " '' %}{% endif %}{% for m in rest %}\n{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %"
     "}{{ raise_exception('Turns must alternate: user, assistant, user') }}{% endif %}\n{% set said"
     " = (s if loop.index0 == 0 else '') + m['content'] %}{% if m['role'] == 'user' %}{{ '[INST] ' "
     "+ said.strip() + ' [/INST]' }}\n{% elif m['role'] == 'assistant' %}{{ ' ' + said.strip() + eo"
     "s_token }}{% endif %}{% endfor %}", 3,
     "<s>[INST] a [/INST]\n b</think>\n\nc</s>[INST]  [/INST]\n"},
    {"{%- set today = strftime_now('%Y') if false else '1 May 2030' %}{%- set standard = \"You are "
     "small.\\nToday is \" + today + \".\" %}\n{{- bos_token }}{%- if messages[0]['role'] == 'syste"
     "m' %}{%- set s = messages[0]['content'] %}{%- set rest = messages[1:] %}\n{%- else %}{%- set "
     "s = standard %}{%- set rest = messages %}{%- endif %}{{- '[SYSTEM_PROMPT]' + s + '[/SYSTEM_PR"
     "OMPT]' }}\n{%- if tools is not none and tools|length > 0 %}{{- '[AVAILABLE_TOOLS]' + tools|to"
     "json + '[/AVAILABLE_TOOLS]' }}{%- endif %}\n{%- for m in rest %}{%- if m['role'] == 'user' %}"
     "{{- '[INST]' + m['content'] + '[/INST]' }}\n{%- elif m['role'] == 'assistant' and m.tool_call"
     "s is not defined %}{{- m['content'] + eos_token }}\n{%- else %}{{- raise_exception('Only user"
     " and assistant, not ' + m['role']) }}{%- endif %}{%- endfor %}", 1,
     "<s>[SYSTEM_PROMPT]You are small.\nToday is 1 May 2030.[/SYSTEM_PROMPT][INST] What is a fathom"
     "? \n[/INST]"},
    {"{%- set today = strftime_now('%Y') if false else '1 May 2030' %}{%- set standard = \"You are "
     "small.\\nToday is \" + today + \".\" %}\n{{- bos_token }}{%- if messages[0]['role'] == 'syste"
     "m' %}{%- set s = messages[0]['content'] %}{%- set rest = messages[1:] %}\n{%- else %}{%- set "
     "s = standard %}{%- set rest = messages %}{%- endif %}{{- '[SYSTEM_PROMPT]' + s + '[/SYSTEM_PR"
     "OMPT]' }}\n{%- if tools is not none and tools|length > 0 %}{{- '[AVAILABLE_TOOLS]' + tools|to"
     "json + '[/AVAILABLE_TOOLS]' }}{%- endif %}\n{%- for m in rest %}{%- if m['role'] == 'user' %}"
     "{{- '[INST]' + m['content'] + '[/INST]' }}\n{%- elif m['role'] == 'assistant' and m.tool_call"
     "s is not defined %}{{- m['content'] + eos_token }}\n{%- else %}{{- raise_exception('Only user"
     " and assistant, not ' + m['role']) }}{%- endif %}{%- endfor %}", 2,
     "<s>[SYSTEM_PROMPT] Be brief.\n[/SYSTEM_PROMPT][INST]What is a fathom?[/INST]<think>\nHm.\n</t"
     "hink>\n\nSix feet. </s>[INST]And a league?[/INST]no thought</s>[INST]Sure?[/INST]"},
    {"{%- set today = strftime_now('%Y') if false else '1 May 2030' %}{%- set standard = \"You are "
     "small.\\nToday is \" + today + \".\" %}\n{{- bos_token }}{%- if messages[0]['role'] == 'syste"
     "m' %}{%- set s = messages[0]['content'] %}{%- set rest = messages[1:] %}\n{%- else %}{%- set "
     "s = standard %}{%- set rest = messages %}{%- endif %}{{- '[SYSTEM_PROMPT]' + s + '[/SYSTEM_PR"
     "OMPT]' }}\n{%- if tools is not none and tools|length > 0 %}{{- '[AVAILABLE_TOOLS]' + tools|to"
     "json + '[/AVAILABLE_TOOLS]' }}{%- endif %}\n{%- for m in rest %}{%- if m['role'] == 'user' %}"
     "{{- '[INST]' + m['content'] + '[/INST]' }}\n{%- elif m['role'] == 'assistant' and m.tool_call"
     "s is not defined %}{{- m['content'] + eos_token }}\n{%- else %}{{- raise_exception('Only user"
     " and assistant, not ' + m['role']) }}{%- endif %}{%- endfor %}", 3,
     "<s>[SYSTEM_PROMPT]You are small.\nToday is 1 May 2030.[/SYSTEM_PROMPT][INST]a[/INST]b</think>"
     "\n\nc</s>[INST][/INST]"},
    {"{%- macro head(role, more='') -%}{{ '<|start_header_id|>' ~ role ~ more ~ '<|end_header_id|>\\"
     "n\\n' }}{%- endmacro -%}\n{{ bos_token }}{%- if not date_string is defined %}{%- set date_str"
     "ing = '26 Jul 2024' %}{%- endif -%}\n{%- if messages[0].role == 'system' -%}{%- set s = messa"
     "ges[0].content|trim -%}{%- set messages = messages[1:] -%}{%- else -%}{%- set s = '' -%}{%- e"
     "ndif -%}\n{{ head('system') }}{{ 'Today: ' + date_string + '\\n\\n' }}{{ s }}<|eot_id|>\n{%- "
     "for m in messages %}{{ head(m.role, more='') }}{{ m['content'] | trim + '<|eot_id|>' }}{% end"
     "for -%}\n{% if add_generation_prompt %}{{ head('assistant') }}{% endif %}", 1,
     "<s><|start_header_id|>system<|end_header_id|>\n\nToday: 26 Jul 2024\n\n<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\nWhat is a fathom?<|eot_id|><|start_header_id|>assistant<|end_"
     "header_id|>\n\n"},
    {"{%- macro head(role, more='') -%}{{ '<|start_header_id|>' ~ role ~ more ~ '<|end_header_id|>\\"
     "n\\n' }}{%- endmacro -%}\n{{ bos_token }}{%- if not date_string is defined %}{%- set date_str"
     "ing = '26 Jul 2024' %}{%- endif -%}\n{%- if messages[0].role == 'system' -%}{%- set s = messa"
     "ges[0].content|trim -%}{%- set messages = messages[1:] -%}{%- else -%}{%- set s = '' -%}{%- e"
     "ndif -%}\n{{ head('system') }}{{ 'Today: ' + date_string + '\\n\\n' }}{{ s }}<|eot_id|>\n{%- "
     "for m in messages %}{{ head(m.role, more='') }}{{ m['content'] | trim + '<|eot_id|>' }}{% end"
     "for -%}\n{% if add_generation_prompt %}{{ head('assistant') }}{% endif %}", 2,
     "<s><|start_header_id|>system<|end_header_id|>\n\nToday: 26 Jul 2024\n\nBe brief.<|eot_id|><|s"
     "tart_header_id|>user<|end_header_id|>\n\nWhat is a fathom?<|eot_id|><|start_header_id|>assist"
     "ant<|end_header_id|>\n\n<think>\nHm.\n</think>\n\nSix feet.<|eot_id|><|start_header_id|>user<"
     "|end_header_id|>\n\nAnd a league?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nn"
     "o thought<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nSure?<|eot_id|><|start_header_"
     "id|>assistant<|end_header_id|>\n\n"},
    {"{%- macro head(role, more='') -%}{{ '<|start_header_id|>' ~ role ~ more ~ '<|end_header_id|>\\"
     "n\\n' }}{%- endmacro -%}\n{{ bos_token }}{%- if not date_string is defined %}{%- set date_str"
     "ing = '26 Jul 2024' %}{%- endif -%}\n{%- if messages[0].role == 'system' -%}{%- set s = messa"
     "ges[0].content|trim -%}{%- set messages = messages[1:] -%}{%- else -%}{%- set s = '' -%}{%- e"
     "ndif -%}\n{{ head('system') }}{{ 'Today: ' + date_string + '\\n\\n' }}{{ s }}<|eot_id|>\n{%- "
     "for m in messages %}{{ head(m.role, more='') }}{{ m['content'] | trim + '<|eot_id|>' }}{% end"
     "for -%}\n{% if add_generation_prompt %}{{ head('assistant') }}{% endif %}", 3,
     "<s><|start_header_id|>system<|end_header_id|>\n\nToday: 26 Jul 2024\n\n<|eot_id|><|start_head"
     "er_id|>user<|end_header_id|>\n\na<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nb"
     "</think>\n\nc<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n<|eot_id|><|start_header_i"
     "d|>assistant<|end_header_id|>\n\n"},
    {"{% for m in messages %}\n{% if m['role'] == 'user' %}\n{{ '<|user|>\n' + m['content'] + eos_t"
     "oken }}\n{% elif m['role'] == 'system' %}\n{{ '<|system|>\n' + m['content'] + eos_token }}\n{"
     "% elif m['role'] == 'assistant' %}\n{{ '<|assistant|>\n' + m['content'] + eos_token }}\n{% en"
     "dif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% "
     "endfor %}\n", 1,
     "<|user|>\n What is a fathom? \n</s>\n<|assistant|>\n"},
    {"{% for m in messages %}\n{% if m['role'] == 'user' %}\n{{ '<|user|>\n' + m['content'] + eos_t"
     "oken }}\n{% elif m['role'] == 'system' %}\n{{ '<|system|>\n' + m['content'] + eos_token }}\n{"
     "% elif m['role'] == 'assistant' %}\n{{ '<|assistant|>\n' + m['content'] + eos_token }}\n{% en"
     "dif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% "
     "endfor %}\n", 2,
     "<|system|>\n Be brief.\n</s>\n<|user|>\nWhat is a fathom?</s>\n<|assistant|>\n<think>\nHm.\n<"
     "/think>\n\nSix feet. </s>\n<|user|>\nAnd a league?</s>\n<|assistant|>\nno thought</s>\n<|user"
     "|>\nSure?</s>\n<|assistant|>\n"},
    {"{% for m in messages %}\n{% if m['role'] == 'user' %}\n{{ '<|user|>\n' + m['content'] + eos_t"
     "oken }}\n{% elif m['role'] == 'system' %}\n{{ '<|system|>\n' + m['content'] + eos_token }}\n{"
     "% elif m['role'] == 'assistant' %}\n{{ '<|assistant|>\n' + m['content'] + eos_token }}\n{% en"
     "dif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% "
     "endfor %}\n", 3,
     "<|user|>\na</s>\n<|assistant|>\nb</think>\n\nc</s>\n<|user|>\n</s>\n<|assistant|>\n"},
    {"{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set first = messages[0]['content'] "
     "~ '\\n\\n' %}{% set loop_messages = messages[1:] %}{% else %}{% set first = '' %}{% set loop_"
     "messages = messages %}{% endif %}{% for m in loop_messages %}{% if m['role'] == 'assistant' %"
     "}{% set role = 'model' %}{% else %}{% set role = m['role'] %}{% endif %}{{ '<start_of_turn>' "
     "+ role + '\\n' + (first if loop.first else '') + m['content'] | trim + '<end_of_turn>\\n' }}{"
     "% endfor %}{{ '<start_of_turn>model\\n' if add_generation_prompt }}", 1,
     "<s><start_of_turn>user\nWhat is a fathom?<end_of_turn>\n<start_of_turn>model\n"},
    {"{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set first = messages[0]['content'] "
     "~ '\\n\\n' %}{% set loop_messages = messages[1:] %}{% else %}{% set first = '' %}{% set loop_"
     "messages = messages %}{% endif %}{% for m in loop_messages %}{% if m['role'] == 'assistant' %"
     "}{% set role = 'model' %}{% else %}{% set role = m['role'] %}{% endif %}{{ '<start_of_turn>' "
     "+ role + '\\n' + (first if loop.first else '') + m['content'] | trim + '<end_of_turn>\\n' }}{"
     "% endfor %}{{ '<start_of_turn>model\\n' if add_generation_prompt }}", 2,
     "<s><start_of_turn>user\n Be brief.\n\n\nWhat is a fathom?<end_of_turn>\n<start_of_turn>model\n"
     "<think>\nHm.\n</think>\n\nSix feet.<end_of_turn>\n<start_of_turn>user\nAnd a league?<end_of_t"
     "urn>\n<start_of_turn>model\nno thought<end_of_turn>\n<start_of_turn>user\nSure?<end_of_turn>\n"
     "<start_of_turn>model\n"},
    {"{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set first = messages[0]['content'] "
     "~ '\\n\\n' %}{% set loop_messages = messages[1:] %}{% else %}{% set first = '' %}{% set loop_"
     "messages = messages %}{% endif %}{% for m in loop_messages %}{% if m['role'] == 'assistant' %"
     "}{% set role = 'model' %}{% else %}{% set role = m['role'] %}{% endif %}{{ '<start_of_turn>' "
     "+ role + '\\n' + (first if loop.first else '') + m['content'] | trim + '<end_of_turn>\\n' }}{"
     "% endfor %}{{ '<start_of_turn>model\\n' if add_generation_prompt }}", 3,
     "<s><start_of_turn>user\na<end_of_turn>\n<start_of_turn>model\nb</think>\n\nc<end_of_turn>\n<s"
     "tart_of_turn>user\n<end_of_turn>\n<start_of_turn>model\n"},
    {"{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif "
     "%}{% set ns = namespace(first=true, s='') %}{%- for m in messages %}{%- if m['role'] == 'syst"
     "em' %}{% set ns.s = m['content'] %}{%- endif %}{%- endfor %}{{ bos_token }}{{ ns.s }}{%- for "
     "m in messages %}{%- if m['role'] == 'user' %}{%- set ns.first = false -%}{{ '<|User|>' + m['c"
     "ontent'] }}{%- endif %}{%- if m['role'] == 'assistant' and m['content'] is not none %}{% set "
     "said = m['content'] %}{% if '</think>' in said %}{% set said = said.split('</think>')[-1] %}{"
     "% endif %}{{ '<|Assistant|>' + said + '<|end|>' }}{%- endif %}{%- endfor -%}{% if add_generat"
     "ion_prompt and not ns.first %}{{ '<|Assistant|><think>\\n' }}{% endif %}", 1,
     "<s><|User|> What is a fathom? \n<|Assistant|><think>\n"},
    {"{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif "
     "%}{% set ns = namespace(first=true, s='') %}{%- for m in messages %}{%- if m['role'] == 'syst"
     "em' %}{% set ns.s = m['content'] %}{%- endif %}{%- endfor %}{{ bos_token }}{{ ns.s }}{%- for "
     "m in messages %}{%- if m['role'] == 'user' %}{%- set ns.first = false -%}{{ '<|User|>' + m['c"
     "ontent'] }}{%- endif %}{%- if m['role'] == 'assistant' and m['content'] is not none %}{% set "
     "said = m['content'] %}{% if '</think>' in said %}{% set said = said.split('</think>')[-1] %}{"
     "% endif %}{{ '<|Assistant|>' + said + '<|end|>' }}{%- endif %}{%- endfor -%}{% if add_generat"
     "ion_prompt and not ns.first %}{{ '<|Assistant|><think>\\n' }}{% endif %}", 2,
     "<s> Be brief.\n<|User|>What is a fathom?<|Assistant|>\n\nSix feet. <|end|><|User|>And a leagu"
     "e?<|Assistant|>no thought<|end|><|User|>Sure?<|Assistant|><think>\n"},
    {"{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif "
     "%}{% set ns = namespace(first=true, s='') %}{%- for m in messages %}{%- if m['role'] == 'syst"
     "em' %}{% set ns.s = m['content'] %}{%- endif %}{%- endfor %}{{ bos_token }}{{ ns.s }}{%- for "
     "m in messages %}{%- if m['role'] == 'user' %}{%- set ns.first = false -%}{{ '<|User|>' + m['c"
     "ontent'] }}{%- endif %}{%- if m['role'] == 'assistant' and m['content'] is not none %}{% set "
     "said = m['content'] %}{% if '</think>' in said %}{% set said = said.split('</think>')[-1] %}{"
     "% endif %}{{ '<|Assistant|>' + said + '<|end|>' }}{%- endif %}{%- endfor -%}{% if add_generat"
     "ion_prompt and not ns.first %}{{ '<|Assistant|><think>\\n' }}{% endif %}", 3,
     "<s><|User|>a<|Assistant|>\n\nc<|end|><|User|><|Assistant|><think>\n"}};

/* What jinja2 refuses. */
static const char *const jinja_failing[] = {
    "{{ (messages|selectattr('role','equalto','user')|last).content }}",
    "{{ messages is defined is true }}",
    "{{ range(100001)|length }}",
    "{{ x.y }}",
    "{{ messages[0].nope.x }}",
    "{{ 'a' + 1 }}",
    "{{ x + 1 }}",
    "{{ raise_exception('Bad ' ~ 1) }}",
    "{{ 1 / 0 }}",
    "{% for i in 5 %}{% endfor %}",
    "{{ none|length }}",
    "{{ x() }}",
    "{{ 'abc'.index('z') }}",
    "{{ {[]: 1} }}",
    "{% set a, b = [1] %}",
    "{% set a, b = [1, 2, 3] %}",
    "{{ [1] < ['a'] }}",
    "{{ 1 in 'a' }}",
    "{{ x in 'a' }}",
    "{% set x = {} %}{% set x.y = 1 %}",
    "{% set x = none %}{{ x[1:] }}",
    "{% if %}",
    "{{ 'a }}",
    "{{ 1 + }}",
    "{% for %}",
    "{{ (1 }}",
    "{% endif %}",
    "{% if true %}",
    "{{ [1, 2 }}",
    "{# x",
    "{% raw %}x",
    "{{ 'a'|nope }}",
    "{{ 'a' is nope }}",
    "{% nope %}",
    "{{ 'a'.split('') }}",
    "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}",
    "{{ [1][::0] }}",
    "{{ [x]|tojson }}",
    "{{ x|dictsort }}",
    "{{ [[1]]|unique|list }}",
    "{{ [1]|indent }}",
    "{{ (1,2)|map('upper')|length }}"};

/* What jinja2 renders, and jinja.c refuses. */
static const char *const jinja_refused[] = {
    "{{ [['',1],['y',2]]|selectattr('0')|list|length }}",
    "{{ [['a','b']].0.1 }}",
    "{{ ['a'].00 }}",
    "{{ messages[1].content[::-1] }}",
    "{{ [1,2,3][::-1] }}",
    "{{ [1,2,3][:-1] }}",
    "{{ [1,2,3][5:] }}",
    "{{ (1,2,3)[:2] }}",
    "{{ 'h\\u00e9llo'[1:3] }}",
    "{{ 'h\\u00e9llo'[::2] }}",
    "{{ [1,2,3,4][3:0:-2] }}",
    "{{ messages|tojson }}",
    "{{ messages|tojson(indent=2) }}",
    "{{ {}|tojson(indent=1) }}",
    "{{ [1,2.5,none,true]|tojson(separators=(',',':')) }}",
    "{{ {'b':1,'a':[]}|tojson(sort_keys=true) }}",
    "{{ messages }}",
    "{{ (1,2) }}",
    "{{ [1,'a',(2,),{'k':[none,true,1.5]}] }}",
    "{{ {'it\\'s':\"q\"} }}",
    "{{ ['a\\tb\\x00\\u200b\\U0001f980\\u00e9\\\\', 'it\\'s \"so\"'] }}",
    "{{ 'a,b,,c'.split(',') }}",
    "{{ 'a,b,,c'.split(',', 1) }}",
    "{{ 'a,b,,c'.rsplit(',',1) }}",
    "{{ 'aaa'.rsplit('aa') }}",
    "{{ 'aaa'.split('aa') }}",
    "{{ 'a b'.rsplit() }}",
    "{{ 'a,b'.rsplit(',') }}",
    "{{ '  a  b '.split() }}",
    "{{ ' a  b c '.split(none, 1) }}",
    "{{ ''.split() }}",
    "{{ ''.split(',') }}",
    "{{ 'a\\nb\\r\\nc\\n'.splitlines() }}",
    "{{ ' \\u2003q\\x1f'.strip() }}",
    "{{ 'hello'.replace('l','L',1) }}",
    "{{ 'abc'.endswith(('x','c')) }}",
    "{{ messages|map(attribute='role')|join(', ') }}",
    "{{ messages|rejectattr('role','eq','user')|map(attribute='content')|first }}",
    "{{ messages|join(',', attribute='role') }}",
    "{{ [1,2,3,4]|select('even')|list }}",
    "{{ [1,2,3]|reject('odd')|list }}",
    "{{ ['a',none,'']|select|list }}",
    "{{ none|selectattr('a')|list }}",
    "{{ ['a ',' b']|map('trim')|list }}",
    "{{ ['aXb']|map('replace','X','-')|list }}",
    "{{ [{'n':1},{}]|map(attribute='n', default=0)|list }}",
    "{{ 1 == 1.0 }}",
    "{{ [1] == [1] }}",
    "{{ {'a':1} == {'a':1} }}",
    "{{ (1,) == [1] }}",
    "{{ 'a' < 'b' }}",
    "{{ [1] < [2] }}",
    "{{ 7 // -2 }}",
    "{{ 7 / 2 }}",
    "{{ 6 / 2 }}",
    "{{ 2 * 3.5 }}",
    "{{ 1e3 }}",
    "{{ 1.0e-5 }}",
    "{{ 123456789.125 }}",
    "{{ 0.1 + 0.2 }}",
    "{{ 1e16 }}",
    "{{ 1.5e300 * 1.0 }}",
    "{{ 'a' ~ 1 ~ none ~ [1] ~ 1.0 }}",
    "{{ 'a' + 'b' * 3 }}",
    "{{ [1] + [2] }}",
    "{{ 'ab' * 0 }}",
    "{{ (1,) + (2,) }}",
    "{{ '\\n\\t\\\\\\'\\\"\\x41\\101\\u00e9\\U0001f980\\q' }}",
    "{{ 1 is odd }}",
    "{{ 4 is divisibleby 2 }}",
    "{{ 4 is divisibleby(3) }}",
    "{{ 1.5 is float }}",
    "{{ none is sameas none }}",
    "{{ 'AB' is upper }}",
    "{{ 'ab' is lower }}",
    "{{ 5 is gt 3 }}",
    "{{ 5 is lessthan(3) }}",
    "{{ raise_exception is callable }}",
    "{{ {'b':1,'A':2}|dictsort }}",
    "{{ {'b':1,'A':2}|dictsort(true) }}",
    "{{ {'b':1,'a':2}|dictsort(by='value', reverse=true) }}",
    "{{ [3,1,2]|sort(reverse=true) }}",
    "{{ messages|sort(attribute='role')|map(attribute='role')|list }}",
    "{{ ['b','A','a']|unique|list }}",
    "{{ ['b','A','a']|sort(case_sensitive=true) }}",
    "{{ 'h\\u00e9LLO'|capitalize }}",
    "{{ '\\u00c9'|lower }}",
    "{{ 'a\\n b\\n\\nc'|indent }}",
    "{{ 'a\\nb\\n'|indent(2) }}",
    "{{ 'a\\n\\nb'|indent(2, blank=true) }}",
    "{{ 'a\\nb'|indent('>>', first=true) }}",
    "{{ ''|indent(first=true) }}",
    "{{ '42'|int + 1 }}",
    "{{ 'x'|int(7) }}",
    "{{ '1.5'|float }}",
    "{{ 'q'|float }}",
    "{{ 3.99|int }}",
    "{{ ' 12 '|int }}",
    "{{ none|int }}",
    "{{ '1e2'|int }}",
    "{{ -3.5|abs }}",
    "{{ -3|abs }}",
    "{{ 1.5|round }}",
    "{{ 2.5|round }}",
    "{{ 2.4|round(method='ceil') }}",
    "{{ 2.6|round(0,'floor') }}",
    "{{ 5|round }}",
    "{{ true|round }}",
    "{{ x is callable }}",
    "{{ 'abc'|list }}",
    "{{ {'a':1}|list }}",
    "{{ 'abc'|reverse }}",
    "{{ [1,2]|reverse|list }}",
    "{{ 'y' if []|map('int')|reverse else 'n' }}",
    "{{ ','.join(['a','b']) }}",
    "{{ '-'.join('abc') }}",
    "{{ 'a b c'.find('b') }}",
    "{{ 'abcabc'.rfind('b') }}",
    "{{ '\\u00e9 b'.find('b') }}",
    "{{ 'aXbX'.count('X') }}",
    "{{ [1,1,2].count(1) }}",
    "{{ 'abc'.find('z') }}",
    "{{ 'prefix-x'.removeprefix('prefix-') }}",
    "{{ 'x.py'.removesuffix('.py') }}",
    "{{ '12'.isdigit() }}",
    "{{ 'a1'.isalnum() }}",
    "{{ 'ab'.isalpha() }}",
    "{{ 'AB'.isupper() }}",
    "{{ ' '.isspace() }}",
    "{{ ''.isdigit() }}",
    "{{ 'a1'.islower() }}",
    "{{ '1'.islower() }}",
    "{{ 'a'|safe }}",
    "{{ 'a'|safe ~ '<' }}",
    "{{ [none, x, true]|string }}",
    "{{ [1, 2,] }}",
    "{{ {'a': 1,} }}",
    "{{ () }}",
    "{% raw %}a{% endraw %}",
    "{% with a = 1 %}{% endwith %}",
    "{% set y | upper %} q {% endset %}",
    "{% for i in [1] %}{{ loop.length }}{% endfor %}",
    "{% for i in [1] %}{{ loop.nextitem }}{% endfor %}",
    "{% for i in [1] %}{{ loop.nextitem }}{% endfor %}",
    "{% for i in [1] recursive %}{% endfor %}",
    "{{ dict({'x':1}, y=2) }}",
    "{% for i in [1] %}{{ loop.cycle('o','e') }}{{ loop.depth }}{% endfor %}"};
