# attention.html: a page to play with, in one file. It holds page.c with all of attn.h as WebAssembly, twice: with
# vectors, and without for browsers that have none; the bundled translator; sentences and words that it knows.
P         = $B/page
page_in   = t5 beam translate layers checkpoint json safetensors gguf gguf_files sentencepiece unicode $(of_bpe)
page_cc   = clang --target=wasm32-wasi -O2 -DMAPPED_NEVER
page_has  = mkdir -p $P && echo '\#include <stdio.h>' | $(page_cc) -mexec-model=reactor -x c - -o $P/has.wasm 2> /dev/null
page_says = echo 'The page to play with is not built: it needs clang, lld and wasi-libc. On Debian:'; \
            echo '    apt-get install clang lld wasi-libc libclang-rt-dev-wasm32'
page_with = $P/vectors.base64 $P/scalar.base64 $P/config.base64 $P/weights.base64 $P/pieces.base64 \
            $P/words.txt $P/sentences.txt examples/page/page.css $P/page.js

# The modules of the page's script, in the order in which they are joined. Each knows only those before it; its name
# stands above it, for who follows an error to its line.
page_js   = numbers engine cells grid pictures parts view steps_presets steps_sums steps_play steps_show steps masking \
            translation_search translation_heads translation own training cache page

.PHONY: page test-page page-picture
page:                                    ## build build/page/attention.html: attention to play with, in a browser
	@if $(page_has); then $(MAKE) -s $P/attention.html; else $(page_says); exit 1; fi

test-page: page $(notebooks) $B/05_translate $B/notebooks.html ## test the pages with node, chromium and, if it is there, firefox-esr
	@node tests/page/wasm.mjs $B
	@node tests/page/notebooks.mjs $B $(BROWSERS)
	@node tests/page/page.mjs $B $(BROWSERS)

page-picture: page                       ## take the picture of the page that README shows, with chromium
	@node tests/page/picture.mjs $B examples/pictures/page.png

# A line @FILE@ of page.html becomes that file.
$P/attention.html: examples/page/page.html $(page_with) examples/page/rules.mk
	@sed $(foreach file,$(page_with),-e '/^@$(notdir $(file))@$$/{' -e 'r $(file)' -e 'd' -e '}') $< > $@
	@echo "The page to play with is $@."

$P/page.js: $(page_js:%=examples/page/js/%.js) examples/page/rules.mk
	@mkdir -p $P
	@(echo "'use strict';" && awk 'FNR == 1 { print "\n// ==== " FILENAME } !/^ *\/\// { sub(/^ +/, ""); print }' \
	    $(filter %.js,$^)) > $@

page_model = examples/models/bundled
$P/config.base64: $(page_model)/config.json
$P/weights.base64: $(page_model)/model.safetensors
$P/pieces.base64: $(page_model)/spiece.model
$P/vectors.base64 $P/scalar.base64: %.base64: %.wasm
$P/%.base64: examples/page/rules.mk
	@mkdir -p $P
	@gzip -9 -n -c $(filter-out %.mk,$^) | base64 -w 0 > $@

# Of the corpus; those that it was not trained on serve as examples.
$P/words.txt: $B/grammar
	@mkdir -p $P
	@$(RUN) $B/grammar --corpus 60000 | cut -f 1 | tr 'A-Z' 'a-z' | tr -s '.?!, ' '\n' | sort -u | sed '/^$$/d' > $@
$P/sentences.txt: examples/models/train/held_out.tsv
	@mkdir -p $P
	@cut -f 1 $< > $@

page_cc_vectors = $(page_cc) -msimd128
page_cc_scalar  = $(page_cc) -DATTN_NO_SIMD -Oz# small: few will need it; and readers of files, below, need not be fast
page_heads = $(wildcard examples/models/*.h) $B/api examples/page/rules.mk
define page_wasm
$P/$1.wasm: $(patsubst %,$P/$1/%.o,page $(page_in))
	$(call short,LD $$@)$(page_cc) -mexec-model=reactor -Wl,-s -Wl,-z,stack-size=1048576 -o $$@ $$^
$P/$1/page.o: examples/page/page.c examples/10_training.c examples/show.h attn.h $(page_heads)
	@mkdir -p $$(@D)
	$(call short,CC $$<)$(page_cc_$1) $(warnings) -Wno-shadow -c -o $$@ $$<
$P/$1/%.o: examples/models/%.c $(page_heads)
	@mkdir -p $$(@D)
	$(call short,CC $$<)$(subst -O2,-Os,$(page_cc_$1)) -c -o $$@ $$<
endef
$(eval $(call page_wasm,vectors))
$(eval $(call page_wasm,scalar))
