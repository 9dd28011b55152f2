# notebooks.html: what is to be learnt from the examples, step by step; and the gallery of all pictures.
N        = examples/notebooks
learn    = $(sort $(notdir $(basename $(wildcard $(patsubst %,examples/%_*.c,00 01 02 03 04 05 06 09 10)))))
outputs  = $(learn:%=$B/output/%.txt)
sentence = It is easy to translate languages with transformers
page_uri = file://$(subst $(hash),%23,$(subst $(space),%20,$(subst %,%25,$(abspath $B))))
space    = $() $()
hash     = \#

how_to_run = $(if $(filter %10_training,$1),--long) $(if $(filter %07_kv_cache %08_threads %15_small,$1),,$2)# where it draws

sources  = examples/$1.c $(if $(filter 05_%,$1),examples/models/t5.c)

$B/notebooks.html: $(outputs) $(wildcard $N/*) $(foreach name,$(learn),$(call sources,$(name))) examples/README.md
	@awk -v pictures=$B/output -f $N/page.awk examples/README.md $(foreach name,$(learn),$(call sources,$(name)) \
	    $B/output/$(name).txt) $N/page.html > $@

$B/output/%.txt: $B/% $N/rules.mk
	@mkdir -p $B/output
	@$(RUN) $< $(call how_to_run,$<,$B/output) > $@

$B/output/05_translate.txt: $B/05_translate $N/rules.mk $(wildcard examples/models/bundled/*)
	@mkdir -p $B/output
	@{ echo '== 1. Translation, with T5' && echo '$$ build/05_translate examples/models/bundled "$(sentence)"' && \
	    $(RUN) $< --attention $B/output/05_cross_attention.svg examples/models/bundled '$(sentence)' && \
	    echo 'picture: 05_cross_attention.svg'; } > $@

# All pictures that are there, with their titles.
gallery_head = <!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"> \
    <title>Pictures</title><style>:root { color-scheme: light dark } body { margin: 20px; font: 16px sans-serif } \
    img { display: block; max-width: 100%; height: auto }</style>
gallery = { echo '$(gallery_head)' && for picture in *.svg; do sed -n \
    "s|^<title>\(.*\)</title>\$$|<h2>$$picture</h2><img src=\"$$picture\" alt=\"\1\">|p" $$picture; done; } > index.html
