"""Writes jinja.h beside itself: templates, and what the environment of transformers makes of them.

    python3 make_jinja.py [FILE]        (transformers 5, jinja2)

The first are of single constructs, the others chat templates in our own words, with the constructs of those that are
published: each is rendered in several conversations."""
import os
import sys

import transformers
from transformers.utils.chat_template_utils import _compile_jinja_template

from make_chat import literal

here = os.path.dirname(os.path.abspath(__file__))

CONVERSATIONS = [
    [("user", "Hi <b> \u00e9"), ("assistant", "It's \"so\"\n\x01 \u2028 \u00df")],
    [("user", " What is a fathom? \n")],
    [("system", " Be brief.\n"), ("user", "What is a fathom?"), ("assistant", "<think>\nHm.\n</think>\n\nSix feet. "),
     ("user", "And a league?"), ("assistant", "no thought"), ("user", "Sure?")],
    [("user", "a"), ("assistant", "b</think>\n\nc"), ("user", "")],
]

SINGLE = r'''
====

  {%- if true -%}
   x
  {%- endif %}
y
====
a
   {% if true %}
 b
   {% endif %}
c
====
{# c #}
x
  {# d -#}

  y {{- ' z ' -}}  w {#- e -#} v
====
{%+ if true %}a{% endif %}
  {%+ if true +%}
b{% endif %}

====
a
b

====
{% if true %}
x
{% endif %}
====
{{ messages[0].content[1:] }}{{ messages[1].content[-3:] }}{{ messages[1].content[2] }}
====
{{ [1,2,3][::-1]|join }}{{ [1,2,3][:-1]|join }}{{ [1,2,3][5:]|length }}{{ (1,2,3)[:2]|join }}{{ messages[0].content[5:9] }}{{ 'abc'[-5:2] }}{{ [[1,2],[3]][0][1] }}{{ [1,2,3][-9:-1]|join }}
====
{% for m in messages %}{{ loop.index0 }}{{ m['role']|upper }}{{ m.content.split(' ')|join('/') }}{% endfor %}
====
{{ 'a,b,,c'.split(',')|join('/') }}{{ 'a,b,,c'.split(',', 1)|join('/') }}{{ 'aaa'.split('aa')|join('/') }}{{ ''.split(',')|length }}{{ 'a,b'.split(',', maxsplit=0)|first }}
====
{{ 'xxabxx'.strip('x') }}{{ 'xxabxx'.lstrip('x') }}{{ 'xxabxx'.rstrip('xb') }}|{{ '  q '|trim }}|{{ 'aab'|trim('a') }}
====
{{ 'hello'.replace('l','L') }}{{ 'hello'|replace('l','') }}{{ 'abc'.startswith('ab') }}{{ 'abc'.startswith('') }}
====
{% set ns = namespace(found=false, x=[]) %}{% for i in range(3) %}{% if i == 1 %}{% set ns.found = true %}{% endif %}{% set ns.x = ns.x + [i] %}{% endfor %}{{ ns.found }}{{ ns.x|join }}{{ ns['x']|length }}{{ ns.y is defined }}
====
{% macro m(a, b='d', c=none) %}[{{ a }}{{ b }}{{ c }}]{% endmacro %}{{ m(1) }}{{ m(1, c=2) }}{{ m() }}{% macro n(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ n(1) }}{{ n(b=3) }}
====
{% macro r(l) %}{% for x in l %}{% if x is string %}{{ x }}{% else %}({{ r(x) }}){% endif %}{% endfor %}{% endmacro %}{{ r(['a',['b',['c']]]) }}
====
{% macro f() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ f() }}{% set x = 2 %}{{ f() }}
====
{% for i in [1,2,3] %}{% if i==1 %}{% set a=5 %}{% endif %}{{a}};{% endfor %}{% set a=0 %}{% for i in [1,2] %}{{a}};{% set a = i %}{% endfor %}{{a}}
====
{% for a, b in [(1,2),[3,4]] %}{{ a }}-{{ b }};{% endfor %}{% for c in messages[0].content %}{{ c }}.{% endfor %}{% for k in {'a':1,'b':2} %}{{ k }}{% endfor %}
====
{% for i in range(10) %}{% if i == 2 %}{% continue %}{% endif %}{% if i > 4 %}{% break %}{% endif %}{{ i }}{% endfor %}{% for i in range(2, 10, 3) %}{{ i }} {% endfor %}{{ range(5, 0, -2)|join(' ') }}{% for i in [1,2] %}{% set x %}a{% break %}{% endset %}{{ i }}{% endfor %}
====
{% for m in messages if m.role == 'user' %}{{ loop.last }}{{ m.content }}{% else %}none{% endfor %}{% for m in [] %}x{% else %}none{% endfor %}{% for x in [1,2] %}{{ x }}{% break %}{% else %}e{% endfor %}{% for x in [1,2] %}{% if x == 2 %}{% break %}{% endif %}{% else %}e{% endfor %}
====
{% set ns = namespace(i=0) %}{% for m in messages if ns.i < 1 %}{% set ns.i = ns.i + 1 %}{{ m.role }}{% endfor %}
====
{% for i in [1,2,3] %}{{ loop.previtem }}{{ loop.first }}{% for j in [1] %}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}
====
{{ messages|selectattr('role','equalto','user')|list|length }}{% for m in messages|rejectattr('role','eq','user') %}{{ m.role }}{% endfor %}{{ (messages|selectattr('content')|list)[-1].role }}
====
{{ ['a',none,'']|select|join(',') }}{{ none|selectattr('a')|list|length }}{{ ['a',1]|select('string')|join }}{{ ['a',1]|reject('string')|join }}
====
{{ 'yes' if messages|selectattr('role','eq','zzz') else 'no' }}{{ 'yes' if messages|selectattr('role','eq','zzz')|list else 'no' }}
====
{{ 'x' if messages[0]['role'] == 'user' and not tools else 'y' }}{{ 1 if tools is none }}{{ 'a' if false else 'b' if false else 'c' }}{{ 'x' if false }}
====
{{ none == none }}{{ 1 != 2 }}{{ 'a' == 1 }}{{ nope == none }}{{ 1 < 2 < 3 }}{{ 3 > 2 > 2 }}
====
{{ 7 % 3 }}{{ -7 % 3 }}{{ 1 - 2 }}{{ -3 }}{{ +3 }}{{ - 2 + 5 }}{{ true + 1 }}
====
{{ 'a' ~ 1 ~ none ~ true }}{{ ([1] + [2])|join }}{{ ((1,) + (2,))|join }}{{ 'it' "'s" 'x' }}{{ '\n\t\\\'\"' }}
====
{{ 'b' in 'abc' }}{{ 'z' not in 'abc' }}{{ 1 in [1] }}{{ 'role' in messages[0] }}{{ 'x' in nope }}{{ 1 in (2,3) }}{{ '' in '' }}
====
{{ x is defined }}{{ tools is defined }}{{ tools is none }}{{ 'a' is string }}{{ {} is mapping }}{{ [] is sequence }}{{ [] is iterable }}{{ true is true }}{{ true is boolean }}{{ 1 is boolean }}{{ 1 is integer }}{{ x is not defined }}{{ 'a' is in ['a'] }}{{ 1 is not none }}{{ 'a' is ne 'b' }}{{ true is integer }}{{ true is number }}{{ x is sequence }}{{ none is iterable }}
====
{{ x|default('d') }}{{ ''|default('d') }}{{ ''|default('d', true) }}{{ none|d('e', boolean=true) }}{{ x|d }}{{ x }}|{{ messages[0].nope }}|{{ messages[9] is defined }}{{ tools.x is defined }}{{ 'a'.text is defined }}{{ x|length }}
====
{% for k, v in {1: 'a', 20: 'b', 30: 'c'}|dictsort %}{{ k }}{{ v }}{% endfor %}
====
{{ 'hello world'|title }}{{ 'hELLO'|capitalize }}{{ messages[0].content|capitalize }}{{ "they're bill's"|title }}{{ "they're bill's".title() }}{{ messages[0].content|lower }}{{ 'aBC'.capitalize() }}{{ 'É'|lower }}
====
{{ 42|string + 'x' }}{{ true|int }}{{ 7|int }}
====
{{ 'abc'|list|join('-') }}{{ {'a':1}|list|join }}{{ 'abc'|first }}{{ 'abc'|last }}{{ [1,2,3]|last }}{{ []|first is defined }}{{ [1,2]|join }}
====
{{ {'a':1,'b':2}.keys()|join }}{{ {'a':1}.values()|join }}{{ {'a':1}.get('a') }}{{ {'a':1}.get('z') }}{{ {'a':1}.get('z','q') }}{% for k, v in {'a':1}|items %}{{ k }}{{ v }}{% endfor %}{% for k, v in {'a':1}.items() %}{{ k }}{{ v }}{% endfor %}{{ {'a':1}.items()|length }}{{ {'items':1}['items'] }}{{ dict(a=1, b=2).b }}
====
{% set x %}ab {{ messages[0].role }}{% endset %}{{ x|upper }}{% filter upper|replace('A', 'x') %}a{{ 'b' }}{% endfilter %}{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set (c, d) = 'xy' %}{{ c }}{{ d }}{% set t = 1, %}{{ t|length }}
====
{% generation %}a{{ 1 }}{% endgeneration %}
{% for m in messages %}{% generation %}{{ m.role }}{% endgeneration %}{% endfor %}
====
{{ not true }}{{ not not 1 }}{{ 0 or 'x' }}{{ 'x' and '' }}{{ none or none }}{{ true and 1 or 2 }}{{ 'a' | upper ~ 'b' }}{{ 1 + 2 | string | length }}{{ not x is defined }}
====
{% if messages[0].role == 'user' %}u{% elif messages[0].role == 'x' %}x{% else %}e{% endif %}{% if false %}{% elif true %}el{% endif %}{% if 0 %}{% else %}E{% endif %}{%if true%}tight{%endif%}{{1}} {{+ 2 }} {{- 3 }}
====
{{ {1: 'x'}[1] }}{{ [1, 2,]|length }}{{ {'a': 1,}|length }}{{ ()|length }}{{ {'a': 1} is mapping and 1 or 2 }}
====
{% set b='x' %}{% macro f(b=b) %}[{{ b }}]{% endmacro %}{{ f() }}{{ f('y') }}
====
{% set c='x' %}{% macro f(a=c, c='y') %}[{{ a }}{{ c }}]{% endmacro %}{{ f() }}{{ f(c='z') }}{{ f(1, 2) }}
====
{% for m in messages %}{{ loop is iterable }}{{ loop is sequence }}{% endfor %}{{ range(3)|last }}{{ 'abc'|last }}
'''

FAILING = ["{{ (messages|selectattr('role','equalto','user')|last).content }}", "{{ messages is defined is true }}",
           "{{ range(100001)|length }}",
           "{{ x.y }}", "{{ messages[0].nope.x }}", "{{ 'a' + 1 }}", "{{ x + 1 }}", "{{ raise_exception('Bad ' ~ 1) }}", "{{ 1 / 0 }}",
           "{% for i in 5 %}{% endfor %}", "{{ none|length }}", "{{ x() }}", "{{ 'abc'.index('z') }}", "{{ {[]: 1} }}",
           "{% set a, b = [1] %}", "{% set a, b = [1, 2, 3] %}", "{{ [1] < ['a'] }}", "{{ 1 in 'a' }}", "{{ x in 'a' }}",
           "{% set x = {} %}{% set x.y = 1 %}", "{% set x = none %}{{ x[1:] }}", "{% if %}", "{{ 'a }}", "{{ 1 + }}", "{% for %}", "{{ (1 }}", "{% endif %}",
           "{% if true %}", "{{ [1, 2 }}", "{# x", "{% raw %}x", "{{ 'a'|nope }}", "{{ 'a' is nope }}", "{% nope %}", "{{ 'a'.split('') }}",
           "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "{{ [1][::0] }}", "{{ [x]|tojson }}", "{{ x|dictsort }}", "{{ [[1]]|unique|list }}", "{{ [1]|indent }}", "{{ (1,2)|map('upper')|length }}"]

# rendered by jinja2, and refused here
REFUSED = [r"{{ [['',1],['y',2]]|selectattr('0')|list|length }}",
           r"{{ [['a','b']].0.1 }}",
           r"{{ ['a'].00 }}",
           r"{{ messages[1].content[::-1] }}",
           r"{{ [1,2,3][::-1] }}",
           r"{{ [1,2,3][:-1] }}",
           r"{{ [1,2,3][5:] }}",
           r"{{ (1,2,3)[:2] }}",
           r"{{ 'h\u00e9llo'[1:3] }}",
           r"{{ 'h\u00e9llo'[::2] }}",
           r"{{ [1,2,3,4][3:0:-2] }}",
           r"{{ messages|tojson }}",
           r"{{ messages|tojson(indent=2) }}",
           r"{{ {}|tojson(indent=1) }}",
           r"{{ [1,2.5,none,true]|tojson(separators=(',',':')) }}",
           r"{{ {'b':1,'a':[]}|tojson(sort_keys=true) }}",
           r"{{ messages }}",
           r"{{ (1,2) }}",
           r"{{ [1,'a',(2,),{'k':[none,true,1.5]}] }}",
           r"""{{ {'it\'s':"q"} }}""",
           r"""{{ ['a\tb\x00\u200b\U0001f980\u00e9\\', 'it\'s "so"'] }}""",
           r"{{ 'a,b,,c'.split(',') }}",
           r"{{ 'a,b,,c'.split(',', 1) }}",
           r"{{ 'a,b,,c'.rsplit(',',1) }}",
           r"{{ 'aaa'.rsplit('aa') }}",
           r"{{ 'aaa'.split('aa') }}",
           r"{{ 'a b'.rsplit() }}",
           r"{{ 'a,b'.rsplit(',') }}",
           r"{{ '  a  b '.split() }}",
           r"{{ ' a  b c '.split(none, 1) }}",
           r"{{ ''.split() }}",
           r"{{ ''.split(',') }}",
           r"{{ 'a\nb\r\nc\n'.splitlines() }}",
           r"{{ ' \u2003q\x1f'.strip() }}",
           r"{{ 'hello'.replace('l','L',1) }}",
           r"{{ 'abc'.endswith(('x','c')) }}",
           r"{{ messages|map(attribute='role')|join(', ') }}",
           r"{{ messages|rejectattr('role','eq','user')|map(attribute='content')|first }}",
           r"{{ messages|join(',', attribute='role') }}",
           r"{{ [1,2,3,4]|select('even')|list }}",
           r"{{ [1,2,3]|reject('odd')|list }}",
           r"{{ ['a',none,'']|select|list }}",
           r"{{ none|selectattr('a')|list }}",
           r"{{ ['a ',' b']|map('trim')|list }}",
           r"{{ ['aXb']|map('replace','X','-')|list }}",
           r"{{ [{'n':1},{}]|map(attribute='n', default=0)|list }}",
           r"{{ 1 == 1.0 }}",
           r"{{ [1] == [1] }}",
           r"{{ {'a':1} == {'a':1} }}",
           r"{{ (1,) == [1] }}",
           r"{{ 'a' < 'b' }}",
           r"{{ [1] < [2] }}",
           r"{{ 7 // -2 }}",
           r"{{ 7 / 2 }}",
           r"{{ 6 / 2 }}",
           r"{{ 2 * 3.5 }}",
           r"{{ 1e3 }}",
           r"{{ 1.0e-5 }}",
           r"{{ 123456789.125 }}",
           r"{{ 0.1 + 0.2 }}",
           r"{{ 1e16 }}",
           r"{{ 1.5e300 * 1.0 }}",
           r"{{ 'a' ~ 1 ~ none ~ [1] ~ 1.0 }}",
           r"{{ 'a' + 'b' * 3 }}",
           r"{{ [1] + [2] }}",
           r"{{ 'ab' * 0 }}",
           r"{{ (1,) + (2,) }}",
           r"""{{ '\n\t\\\'\"\x41\101\u00e9\U0001f980\q' }}""",
           r"{{ 1 is odd }}",
           r"{{ 4 is divisibleby 2 }}",
           r"{{ 4 is divisibleby(3) }}",
           r"{{ 1.5 is float }}",
           r"{{ none is sameas none }}",
           r"{{ 'AB' is upper }}",
           r"{{ 'ab' is lower }}",
           r"{{ 5 is gt 3 }}",
           r"{{ 5 is lessthan(3) }}",
           r"{{ raise_exception is callable }}",
           r"{{ {'b':1,'A':2}|dictsort }}",
           r"{{ {'b':1,'A':2}|dictsort(true) }}",
           r"{{ {'b':1,'a':2}|dictsort(by='value', reverse=true) }}",
           r"{{ [3,1,2]|sort(reverse=true) }}",
           r"{{ messages|sort(attribute='role')|map(attribute='role')|list }}",
           r"{{ ['b','A','a']|unique|list }}",
           r"{{ ['b','A','a']|sort(case_sensitive=true) }}",
           r"{{ 'h\u00e9LLO'|capitalize }}",
           r"{{ '\u00c9'|lower }}",
           r"{{ 'a\n b\n\nc'|indent }}",
           r"{{ 'a\nb\n'|indent(2) }}",
           r"{{ 'a\n\nb'|indent(2, blank=true) }}",
           r"{{ 'a\nb'|indent('>>', first=true) }}",
           r"{{ ''|indent(first=true) }}",
           r"{{ '42'|int + 1 }}",
           r"{{ 'x'|int(7) }}",
           r"{{ '1.5'|float }}",
           r"{{ 'q'|float }}",
           r"{{ 3.99|int }}",
           r"{{ ' 12 '|int }}",
           r"{{ none|int }}",
           r"{{ '1e2'|int }}",
           r"{{ -3.5|abs }}",
           r"{{ -3|abs }}",
           r"{{ 1.5|round }}",
           r"{{ 2.5|round }}",
           r"{{ 2.4|round(method='ceil') }}",
           r"{{ 2.6|round(0,'floor') }}",
           r"{{ 5|round }}",
           r"{{ true|round }}",
           r"{{ x is callable }}",
           r"{{ 'abc'|list }}",
           r"{{ {'a':1}|list }}",
           r"{{ 'abc'|reverse }}",
           r"{{ [1,2]|reverse|list }}",
           r"{{ 'y' if []|map('int')|reverse else 'n' }}",
           r"{{ ','.join(['a','b']) }}",
           r"{{ '-'.join('abc') }}",
           r"{{ 'a b c'.find('b') }}",
           r"{{ 'abcabc'.rfind('b') }}",
           r"{{ '\u00e9 b'.find('b') }}",
           r"{{ 'aXbX'.count('X') }}",
           r"{{ [1,1,2].count(1) }}",
           r"{{ 'abc'.find('z') }}",
           r"{{ 'prefix-x'.removeprefix('prefix-') }}",
           r"{{ 'x.py'.removesuffix('.py') }}",
           r"{{ '12'.isdigit() }}",
           r"{{ 'a1'.isalnum() }}",
           r"{{ 'ab'.isalpha() }}",
           r"{{ 'AB'.isupper() }}",
           r"{{ ' '.isspace() }}",
           r"{{ ''.isdigit() }}",
           r"{{ 'a1'.islower() }}",
           r"{{ '1'.islower() }}",
           r"{{ 'a'|safe }}",
           r"{{ 'a'|safe ~ '<' }}",
           r"{{ [none, x, true]|string }}",
           r"{{ [1, 2,] }}",
           r"{{ {'a': 1,} }}",
           r"{{ () }}",
           r"{% raw %}a{% endraw %}",
           r"{% with a = 1 %}{% endwith %}",
           r"{% set y | upper %} q {% endset %}",
           r"{% for i in [1] %}{{ loop.length }}{% endfor %}", r"{% for i in [1] %}{{ loop.nextitem }}{% endfor %}", "{% for i in [1] %}{{ loop.nextitem }}{% endfor %}",
           r"{% for i in [1] recursive %}{% endfor %}",
           r"{{ dict({'x':1}, y=2) }}",
           r"{% for i in [1] %}{{ loop.cycle('o','e') }}{{ loop.depth }}{% endfor %}"]

CHAT = [
    # a thought that the question opens, dropped from answers of the past
    r"""{%- for m in messages %}{%- set said = m.content %}
{%- if m.role == 'assistant' and '</think>' in said %}{%- set said = said.split('</think>')[-1].lstrip('\n') %}{%- endif %}
{{- '<|im_start|>' + m.role + '\n' + said + '<|im_end|>' + '\n' }}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n<think>\n' }}{%- endif %}""",
    # the last question of the user is looked for from behind; thoughts after it stay
    r"""{%- set ns = namespace(waits=true, last=messages|length - 1) %}
{%- for m in messages[::-1] %}{%- set at = messages|length - 1 - loop.index0 %}
{%- if ns.waits and m.role == "user" and m.content is string and not (m.content.startswith('<r>') and m.content.endswith('</r>')) %}
{%- set ns.waits = false %}{%- set ns.last = at %}{%- endif %}{%- endfor %}
{%- for m in messages %}{%- if m.content is string %}{%- set said = m.content %}{%- else %}{%- set said = '' %}{%- endif %}
{%- if m.role == "assistant" %}{%- set why = '' %}{%- if m.why is string %}{%- set why = m.why %}{%- elif '</think>' in said %}
{%- set why = said.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
{%- set said = said.split('</think>')[-1].lstrip('\n') %}{%- endif %}
{%- if loop.index0 > ns.last and (loop.last or why) %}{{- '<think>\n' + why.strip('\n') + '\n</think>\n\n' }}{%- endif %}{%- endif %}
{{- '<|im_start|>' + m.role + '\n' + said + '<|im_end|>\n' }}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}{%- endif %}{%- endif %}""",
    # turns must alternate; the system text goes into the first one
    r"""{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set s = messages[0]['content'].strip() + '\n\n' %}
{% else %}{% set rest = messages %}{% set s = '' %}{% endif %}{% for m in rest %}
{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Turns must alternate: user, assistant, user') }}{% endif %}
{% set said = (s if loop.index0 == 0 else '') + m['content'] %}{% if m['role'] == 'user' %}{{ '[INST] ' + said.strip() + ' [/INST]' }}
{% elif m['role'] == 'assistant' %}{{ ' ' + said.strip() + eos_token }}{% endif %}{% endfor %}""",
    # a default system text with a date, and tools that are not there
    r"""{%- set today = strftime_now('%Y') if false else '1 May 2030' %}{%- set standard = "You are small.\nToday is " + today + "." %}
{{- bos_token }}{%- if messages[0]['role'] == 'system' %}{%- set s = messages[0]['content'] %}{%- set rest = messages[1:] %}
{%- else %}{%- set s = standard %}{%- set rest = messages %}{%- endif %}{{- '[SYSTEM_PROMPT]' + s + '[/SYSTEM_PROMPT]' }}
{%- if tools is not none and tools|length > 0 %}{{- '[AVAILABLE_TOOLS]' + tools|tojson + '[/AVAILABLE_TOOLS]' }}{%- endif %}
{%- for m in rest %}{%- if m['role'] == 'user' %}{{- '[INST]' + m['content'] + '[/INST]' }}
{%- elif m['role'] == 'assistant' and m.tool_calls is not defined %}{{- m['content'] + eos_token }}
{%- else %}{{- raise_exception('Only user and assistant, not ' + m['role']) }}{%- endif %}{%- endfor %}""",
    # headers by role, with macros and a default in several lines
    r"""{%- macro head(role, more='') -%}{{ '<|start_header_id|>' ~ role ~ more ~ '<|end_header_id|>\n\n' }}{%- endmacro -%}
{{ bos_token }}{%- if not date_string is defined %}{%- set date_string = '26 Jul 2024' %}{%- endif -%}
{%- if messages[0].role == 'system' -%}{%- set s = messages[0].content|trim -%}{%- set messages = messages[1:] -%}{%- else -%}{%- set s = '' -%}{%- endif -%}
{{ head('system') }}{{ 'Today: ' + date_string + '\n\n' }}{{ s }}<|eot_id|>
{%- for m in messages %}{{ head(m.role, more='') }}{{ m['content'] | trim + '<|eot_id|>' }}{% endfor -%}
{% if add_generation_prompt %}{{ head('assistant') }}{% endif %}""",
    # tags in lines of their own, with trim_blocks at work
    """{% for m in messages %}
{% if m['role'] == 'user' %}
{{ '<|user|>\n' + m['content'] + eos_token }}
{% elif m['role'] == 'system' %}
{{ '<|system|>\n' + m['content'] + eos_token }}
{% elif m['role'] == 'assistant' %}
{{ '<|assistant|>\n' + m['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}
""",
    # roles renamed, and pieces of tags joined
    r"""{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set first = messages[0]['content'] ~ '\n\n' %}{% set loop_messages = messages[1:] %}{% else %}{% set first = '' %}{% set loop_messages = messages %}{% endif %}{% for m in loop_messages %}{% if m['role'] == 'assistant' %}{% set role = 'model' %}{% else %}{% set role = m['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\n' + (first if loop.first else '') + m['content'] | trim + '<end_of_turn>\n' }}{% endfor %}{{ '<start_of_turn>model\n' if add_generation_prompt }}""",
    # a namespace that says whether it is the first, and thoughts cut by slices
    r"""{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{% set ns = namespace(first=true, s='') %}{%- for m in messages %}{%- if m['role'] == 'system' %}{% set ns.s = m['content'] %}{%- endif %}{%- endfor %}{{ bos_token }}{{ ns.s }}{%- for m in messages %}{%- if m['role'] == 'user' %}{%- set ns.first = false -%}{{ '<|User|>' + m['content'] }}{%- endif %}{%- if m['role'] == 'assistant' and m['content'] is not none %}{% set said = m['content'] %}{% if '</think>' in said %}{% set said = said.split('</think>')[-1] %}{% endif %}{{ '<|Assistant|>' + said + '<|end|>' }}{%- endif %}{%- endfor -%}{% if add_generation_prompt and not ns.first %}{{ '<|Assistant|><think>\n' }}{% endif %}""",
]


def render(template, conversation):
    return _compile_jinja_template(template).render(
        messages=[{"role": role, "content": text} for role, text in CONVERSATIONS[conversation]], tools=None,
        add_generation_prompt=True, bos_token="<s>", eos_token="</s>")


def fails(template):
    try:
        render(template, 0)
    except Exception:
        return True
    return False


if __name__ == "__main__":
    single = [text[1:] if text.startswith("\n") else text for text in SINGLE.split("\n====")][1:]
    rows = [(text, 0) for text in single] + [(text, i) for text in CHAT for i in range(1, len(CONVERSATIONS))]
    assert not any(fails(text) for text in REFUSED), [text for text in REFUSED if fails(text)]
    assert all(fails(text) for text in FAILING), [text for text in FAILING if not fails(text)]
    with open(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "jinja.h"), "w") as out:
        out.write(f"/* Written by make_jinja.py with transformers {transformers.__version__}, for test_jinja.c. */\n"
                  "/* clang-format off */\n\n/* Roles and texts in turn. */\n"
                  "static const char *const jinja_conversations[][14] = {\n")
        out.write(",\n".join("    {" + ", ".join(literal(part) for turn in turns for part in turn) + ", NULL}"
                             for turns in CONVERSATIONS) + "};\n\n")
        out.write("/* Templates, the conversation, and what they are rendered to. */\n"
                  "static const jinja_golden jinja_goldens[] = {\n")
        out.write(",\n".join(f"    {{{literal(text)}, {number},\n     {literal(render(text, number))}}}"
                             for text, number in rows) + "};\n\n")
        out.write("/* What jinja2 refuses. */\nstatic const char *const jinja_failing[] = {\n    "
                  + ",\n    ".join(literal(text) for text in FAILING) + "};\n\n")
        out.write("/* What jinja2 renders, and jinja.c refuses. */\nstatic const char *const jinja_refused[] = {\n    "
                  + ",\n    ".join(literal(text) for text in REFUSED) + "};\n")
        print(len(rows), "renderings", file=sys.stderr)
