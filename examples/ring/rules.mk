# 14_ring, which is compiled by mpicc: `make` alone neither builds nor runs it.
MPICC    = mpicc
ring_has = command -v $(MPICC) > /dev/null
ring_says = echo 'The ring is not built: it needs $(MPICC). On Debian: apt-get install openmpi-bin libopenmpi-dev'

.PHONY: ring test-ring
ring:                                    ## build build/14_ring: attention over the ranks of an MPI program
	@if $(ring_has); then $(MAKE) -s $B/14_ring; else $(ring_says); exit 1; fi

test-ring: ring                          ## test it, with 1 to 7 ranks on this machine; minutes
	@$(check) tests/ring/ring.sh

$B/14_ring: examples/14_ring.c examples/ring/ring.h examples/show.h $(addprefix examples/models/,program.h shown.h) \
            $B/attn.o $B/flags
	$(call short,CC $<)$(MPICC) $(CFLAGS) -std=c99 $(warnings) -DATTN_INTERFACE_ONLY -o $@ $< $B/attn.o -lm -lpthread
