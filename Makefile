# attn.h: `make` builds and runs the notebooks, `make test` tests the library, `make help` lists the rest.

## CC, CFLAGS    the compiler and the flags of everything it compiles (cc, -O2)
## IMPL_CFLAGS   more flags for the implementation alone, such as -O3 or -ffast-math
## LDFLAGS       flags of the linker, such as -static
## RUN           what runs the programs, such as qemu-aarch64-static
## B             where everything built goes (build)
## PREFIX        where `install` puts the library (/usr/local), below DESTDIR
## ATTN          the directory of the attn.h that the benchmarks measure (.)
## ATTN_BENCH_PYTHON   what may have numpy, PyTorch and ONNX Runtime for the benchmarks, PyTorch for `train` (python3)
## TEST_LEVEL    in the environment: quick, for a shorter test

CFLAGS  = -O2
B       = build
PREFIX  = /usr/local
ATTN    = .

warnings  = -Wall -Wextra -Wpedantic -Wshadow -Wconversion
tools     = $B/tokenize $B/tensors $B/05_translate
notebooks = $(filter-out $(tools),$(patsubst examples/%.c,$B/%,$(wildcard examples/[0-9][0-9]_*.c)))
sentence  = It is easy to translate languages with transformers
parts     = json safetensors sentencepiece t5 beam translate
headers   = $(wildcard tests/*.h tests/golden/*.h examples/translate/*.h)
tests     = $(patsubst tests/%.c,$B/tests/%.o,$(wildcard tests/*.c)) $(parts:%=$B/tests/%.o)
benches   = $(patsubst tests/bench/%.c,$B/%,$(wildcard tests/bench/bench_*.c))
peers     = $B/peer_plain.o $B/peer_fast.o $B/peer_sdpa.o
python    = $(or $(ATTN_BENCH_PYTHON),python3)
compile   = $(CC) -O2 -x c -DATTN_IMPLEMENTATION -c -o $B/bench_compiled.o $(ATTN)/attn.h
version   = $(shell sed -n 's/^.define ATTN_VERSION_STRING "\(.*\)"/\1/p' attn.h)

.PHONY: all test check-t5 train bench bench-quick bench-report bench-translate install clean help FORCE
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:

all: $(notebooks) $(tools)               ## build and run the notebooks; what you get by default
	@mkdir -p $B/pictures
	@for notebook in $(notebooks); do $(RUN) $$notebook $B/pictures || exit 1; done
	@echo && echo '== Translation, with T5'
	@echo '$(sentence)'
	@$(RUN) $B/05_translate --attention $B/pictures/05_cross_attention.svg examples/translate/model '$(sentence)'
	@echo 'A tiny demonstration model of 200 words. For t5-base: $B/05_translate DIRECTORY "text", see examples/README.md'
	@echo && echo "The pictures are in $B/pictures."

test: $B/test $(notebooks) $(tools)      ## test the library, the examples, README and embedding
	@CC='$(CC)' RUN='$(RUN)' B='$B' sh tests/config.sh program pictures output tools model readme quick

check-t5: $B/05_translate                ## compare translation with transformers on models of the published sizes
	@$(python) tests/check_t5.py $B/05_translate

train: $B/05_translate                   ## train the bundled model anew, to build/model, and score it; 15 minutes
	@$(python) -B examples/translate/train/train.py $B/model
	@RUN='$(RUN)' B='$B' MODEL='$B/model' sh tests/config.sh model

bench: $(benches) $B/libbench.so         ## compare speed with this machine's limits and with peers; minutes
	@rm -f $(ATTN_BENCH_TSV)
	@for bench in $(benches); do $(RUN) $$bench || exit 1; done
	@if command -v $(python) > /dev/null; then $(python) tests/bench/peers.py $B/libbench.so; fi

bench-quick: export ATTN_BENCH_QUICK = 1
bench-quick: bench                       ## a part of that; less than a minute

bench-report:                            ## write what `make bench` found into README.md and its picture
	@$(python) tests/bench/report.py $(ATTN_BENCH_TSV) README.md tests/bench/speed.svg

bench-translate: $B/05_translate         ## compare translation with transformers and CTranslate2; minutes
	@$(python) tests/bench/translate.py $B/05_translate

install:                                 ## install the header and its pkg-config file
	install -d '$(DESTDIR)$(PREFIX)/include' '$(DESTDIR)$(PREFIX)/share/pkgconfig'
	install -m 644 attn.h '$(DESTDIR)$(PREFIX)/include/attn.h'
	@printf '%s\n' 'prefix=$(PREFIX)' 'includedir=$${prefix}/include' '' 'Name: attn' \
	    'Description: attention for C and C++ in one header' 'Version: $(version)' \
	    'Cflags: -I$${includedir}' 'Libs: -lm' > '$(DESTDIR)$(PREFIX)/share/pkgconfig/attn.pc'

clean:                                   ## remove everything built
	rm -rf $B

help:                                    ## list the targets and variables
	@echo 'Targets:'; sed -n 's/^\([a-z0-9-]*\):.*## */    \1\t/p' Makefile | expand -t 18
	@echo 'Variables:'; sed -n 's/^## /    /p' Makefile

# Notebooks and other examples: each is one file that compiles the implementation too.
$B/%: examples/%.c $(wildcard examples/*.h) attn.h $B/flags
	$(CC) $(CFLAGS) $(IMPL_CFLAGS) $(LDFLAGS) -o $@ $< -lm $(libraries)
$B/08_threads: libraries = -lpthread

# The translator, and tools that show what model files hold.
$B/tokenize: $(addprefix examples/translate/,tokenize.c sentencepiece.c)
$B/tensors: $(addprefix examples/translate/,tensors.c safetensors.c json.c)
$B/05_translate: examples/05_translate.c $(parts:%=examples/translate/%.c) examples/show.h attn.h
$B/05_translate: libraries = -lpthread
$(tools): $(wildcard examples/translate/*.h) $B/flags
	$(CC) $(CFLAGS) $(IMPL_CFLAGS) $(LDFLAGS) -o $@ $(filter %.c,$^) -lm $(libraries)

# The test program: tests/attn_impl.c is the implementation, the other files see its interface alone.
$B/test: $(tests)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lm -lpthread

$B/tests/%.o: tests/%.c $(headers) attn.h $B/cover.h $B/flags_of_tests
	@mkdir -p $(@D)
	$(CC) -std=c99 $(warnings) $(CFLAGS) -fno-fast-math -I. -I$B -c -o $@ $<

$B/tests/attn_impl.o: tests/attn_impl.c tests/test_malloc.h attn.h $B/flags
	@mkdir -p $(@D)
	$(CC) -std=c99 $(warnings) $(CFLAGS) $(IMPL_CFLAGS) -I. -c -o $@ $<

$B/tests/%.o: examples/translate/%.c $(wildcard examples/translate/*.h) attn.h $B/flags
	@mkdir -p $(@D)
	$(CC) -std=c99 $(warnings) $(CFLAGS) $(filter-out $(lax),$(IMPL_CFLAGS)) $(heap) -c -o $@ $<
$B/tests/t5.o: lax = -ffast-math# t5.h says why
heap = -Dmalloc=test_malloc -Dcalloc=test_calloc -Drealloc=test_realloc -Dfree=test_free

# One macro for each public function, which notes that a test has called it; and the list of them all.
$B/cover.h: attn.h
	@mkdir -p $(@D)
	@sed -n 's/^ATTN_API .*[ *]\(attn_[a-z0-9_]*\)(.*/\1/p' attn.h | sort -u > $@.names
	@sed 's/.*/#define &(...) (test_cover("&"), &(__VA_ARGS__))/' $@.names > $@
	@{ printf '#define TEST_PUBLIC_FUNCTIONS'; sed 's/.*/ "&"/; $$!s/$$/,/' $@.names | tr -d '\n'; echo; } >> $@

# Benchmarks: one library for all; the peers are plain loops, compiled as their users would compile them for speed.
bench bench-report: export ATTN_BENCH_TSV = $B/bench$(if $(ATTN_BENCH_QUICK),-quick).tsv
bench: export ATTN_BENCH_COMPILE = $(compile)
bench: export ATTN_BENCH_OBJECT = $B/bench_compiled.o

$B/bench_%: tests/bench/bench_%.c $(wildcard tests/bench/*.h) $B/bench_library.o $(peers)
	$(CC) -std=c99 $(warnings) $(CFLAGS) $(LDFLAGS) -I$(ATTN) -o $@ $< $B/bench_library.o $(peers) -lm -lpthread -ldl

$B/libbench.so: $B/bench_library.o
	$(CC) -shared -o $@ $< -lm -lpthread

$B/bench_library.o: tests/bench/library.c tests/bench/library.h $(ATTN)/attn.h $B/flags
	$(CC) -std=c99 $(warnings) $(CFLAGS) $(IMPL_CFLAGS) -fPIC -I$(ATTN) -c -o $@ $<

$B/peer_%.o: tests/bench/peer.c tests/bench/peer.h $B/flags
	$(CC) -std=c99 $(warnings) -O3 $(peer_$*) -DPEER=softmax_$* -c -o $@ $<
peer_fast = -ffast-math

$B/peer_sdpa.o: tests/bench/peer_sdpa.c tests/bench/peer.h $B/flags
	$(CC) -std=c99 $(warnings) -O3 -ffast-math -c -o $@ $<

# Changes only when a flag does: what was built with other flags is then built anew.
$B/flags: export FLAGS = $(CC) $(CFLAGS) $(IMPL_CFLAGS) $(LDFLAGS) -I$(ATTN)
$B/flags_of_tests: export FLAGS = $(CC) $(CFLAGS)
$B/flags $B/flags_of_tests: FORCE
	@mkdir -p $B
	@echo "$$FLAGS" | cmp -s - $@ || echo "$$FLAGS" > $@
