# How the Makefile builds the benchmarks.

# With ATTN_BENCH_ONLY, those whose rows it chooses from.
benches = $(if $(ATTN_BENCH_ONLY),$B/bench_query $B/bench_sdpa $B/bench_steps,$(filter-out $B/bench_targets,\
    $(patsubst tests/bench/%.c,$B/%,$(wildcard tests/bench/bench_*.c))))
peers   = $(patsubst %,$B/peer_%.o,plain fast sdpa loop loop_avx2 loop_plain)
targets = $(patsubst %,$B/targets_%.o,attn plain fast)
compile = $(CC) -O2 -I$(ATTN) -c -o $B/bench_compiled.o tests/config/implementation.c

# One library for all; the peers are plain loops, compiled as their users would compile them for speed.
bench bench-report: export ATTN_BENCH_TSV = $B/bench$(if $(ATTN_BENCH_QUICK),-quick)$(if $(ATTN_BENCH_ONLY),-only).tsv
bench: export ATTN_BENCH_COMPILE = $(compile)
bench: export ATTN_BENCH_OBJECT = $B/bench_compiled.o

$B/bench_%: tests/bench/bench_%.c $(wildcard tests/bench/*.h) $B/bench_library.o $(peers)
	$(call short,CC $<)$(CC) -std=c99 $(warnings) $(CFLAGS) $(LDFLAGS) -I$(ATTN) -o $@ $< $B/bench_library.o $(peers) -lm -lpthread -ldl

$B/libbench.so: $B/bench_library.o
	$(call short,LD $@)$(CC) -shared -o $@ $< -lm -lpthread

$B/bench_library.o: tests/bench/library.c tests/bench/library.h $(ATTN)/attn.h $B/flags
	$(call short,CC $<)$(CC) -std=c99 $(warnings) $(CFLAGS) $(IMPL_CFLAGS) -fPIC -I$(ATTN) -c -o $@ $<

$B/peer_%.o: tests/bench/peer.c tests/bench/peer.h $B/flags
	$(call short,CC $<)$(CC) -std=c99 $(warnings) -O3 $(peer_$*) -DPEER=softmax_$* -c -o $@ $<
peer_fast = -ffast-math

$B/peer_sdpa.o: tests/bench/peer_sdpa.c tests/bench/peer.h $B/flags
	$(call short,CC $<)$(CC) -std=c99 $(warnings) -O3 -ffast-math -c -o $@ $<

# The loop that everybody writes, with the flags that everybody has for it: the first that the compiler takes without
# a word. Not every gcc can tell its CPU; newer clang has another name for -Ofast.
taken = $(shell for flags in $1; do $(CC) -Werror $$flags -E -x c /dev/null > /dev/null 2>&1 && echo $$flags && break; done)
fastest      = $(call taken,'-Ofast -march=native' '-O3 -ffast-math -march=native' $(fastest_any))
fastest_avx2 = $(call taken,'-Ofast -mavx2 -mfma' '-O3 -ffast-math -mavx2 -mfma' $(fastest_any))
fastest_any  = -Ofast '-O3 -ffast-math'
fastest_plain = $(call taken,$(fastest_any))
$B/peer_loop.o: tests/bench/peer_loop.c tests/bench/peer.h $B/flags
	$(call short,CC $<)$(CC) -std=c99 $(warnings) $(fastest) -DPEER=peer_attend -DPEER_FLAGS='"$(fastest)"' -c -o $@ $<

$B/peer_loop_%.o: tests/bench/peer_loop.c tests/bench/peer.h $B/flags
	$(call short,CC $<)$(CC) -std=c99 $(warnings) $(fastest_$*) -DPEER=peer_attend_$* -c -o $@ $<

# attn_sdpa and the plain loop for any target, whose flags both have: targets.sh builds this for many.
$B/bench_targets: tests/bench/bench_targets.c tests/bench/peer_targets.h $(targets)
	$(call short,CC $<)$(CC) -std=c99 $(warnings) $(CFLAGS) $(LDFLAGS) -I$(ATTN) -o $@ $< $(targets) -lm

$B/targets_attn.o: tests/config/implementation.c $(ATTN)/attn.h $B/flags
	$(call short,CC $<)$(CC) -std=c99 $(warnings) $(CFLAGS) $(IMPL_CFLAGS) -I$(ATTN) -c -o $@ $<

$B/targets_%.o: tests/bench/peer_targets.c tests/bench/peer_targets.h $B/flags
	$(call short,CC $<)$(CC) -std=c99 $(warnings) $(targets_$*) -DPEER_F32=$*_f32 -DPEER_F64=$*_f64 -c -o $@ $<
targets_plain = $(CFLAGS)
targets_fast = $(filter-out -O%,$(CFLAGS)) -O3 -ffast-math
