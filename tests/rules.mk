# The tests are parts of scripts, $B/log/SCRIPT/PART, which run side by side: what takes longest comes first.
log = $(addprefix $B/log/,$1)
of_library  = $(call log,tests/config.sh/library)
of_examples = $(call log,$T/readers.sh/examples $(notes)/single $T/bundled.sh/model $T/readers.sh/readers \
    $T/generate.sh/generate $T/translate.sh/translate $T/search.sh/search $T/tools.sh/tools $(notes)/pictures $(notes)/output \
    $(notes)/page)
of_readme   = $(call log,tests/config.sh/embedding tests/boards/boards.sh/sizes tests/config.sh/readme)
notes       = examples/tests/notebooks.sh
check       = CC='$(CC)' LDFLAGS='$(LDFLAGS)' RUN='$(RUN)' B='$B' sh

# Runs a part; when it ends, shows what it has counted, and printed.
$B/log/%: FORCE
	@mkdir -p $(@D)
	@$(check) $(*D) $(*F) > $@ 2>&1; tail -n 1 $@ | grep -q '^[0-9]* passed, [0-9]* failed$$' || \
	    printf 'FAIL $(*F) reaches its end\n0 passed, 1 failed\n' >> $@
	@awk -v head="== $(*F): $$(tail -n 1 $@)" '{ print NR == 1 ? head : last; last = $$0 }' $@

# Adds up what they have counted.
test test-library test-examples:
	@awk '/^FAIL/ { print } /^[0-9]+ passed, [0-9]+ failed$$/ { passed += $$1; failed += $$3 } \
	    END { print passed + 0 " passed, " failed + 0 " failed"; exit !passed || failed }' $(filter $B/log/%,$^)

# What each needs.
test: $B/tests/attn_impl.o $B/attn.o
$(of_library): $B/test
$(call log,tests/config.sh/readme): $B/attn.o $B/cover.h
$(call log,$(notes)/single): $(models)
$(call log,$T/readers.sh/examples): $B/test_examples
$(call log,$T/bundled.sh/model): $(learners) $B/05_translate
$(call log,$T/generate.sh/generate): $B/13_generate
$(call log,$T/translate.sh/translate): $B/05_translate
$(call log,$T/search.sh/search): $B/12_search
$(call log,$T/tools.sh/tools): $B/tokenize $B/tensors
$(call log,$(notes)/pictures $(notes)/output): $(notebooks) $B/05_translate
$(call log,$(notes)/page): $B/notebooks.html $(outputs)
