# 15_small on a microcontroller, an emulated one; on this machine it is built and run as the other notebooks are.
M          = $B/small
ARM        = arm-none-eabi-
ARM_FLAGS  = -Os -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -ffunction-sections -fdata-sections
ARM_MACROS = -DATTN_NO_STDLIB -DATTN_NO_SIMD -DATTN_NO_TRAINING -DATTN_SMALL -DATTN_NO_F64 -DATTN_STATIC
QEMU_ARM   = qemu-system-arm -M mps2-an386 -icount shift=0 -display none -monitor none -serial none \
    -semihosting-config enable=on,target=native
small_has  = command -v $(ARM)gcc > /dev/null
small_says = echo 'The small model is not built: it needs $(ARM)gcc and newlib.' \
    'On Debian: apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi'
board_has  = command -v $(firstword $(QEMU_ARM)) > /dev/null
board_says = echo 'It is not run: that needs $(firstword $(QEMU_ARM)). On Debian: apt-get install qemu-system-arm'

.PHONY: small small-train test-small
small:                                   ## build build/small/15_small.elf for a Cortex-M4, run it on an emulated one
	@if $(small_has); then $(MAKE) -s $M/15_small.elf; else $(small_says); exit 1; fi
	@$(ARM)size $M/15_small.elf | awk 'NR == 2 { print $$3 + $$2 " bytes of RAM, stack included"; \
	    print $$1 + $$2 " bytes of flash" }'
	@$(ARM)nm -S -t d $M/15_small.elf | awk '$$3 ~ /[tTrRdD]/ && $$4 ~ /^attn_/ { attention += $$2 } \
	    $$4 ~ /^small_/ { weights += $$2 } END { print "    " attention " attention\n    " weights " weights" }'
	@if $(board_has); then $(QEMU_ARM) -kernel $M/15_small.elf > $M/there.txt 2>&1; status=$$?; cat $M/there.txt; \
	    exit $$status; else $(board_says); exit 1; fi

test-small: small $B/15_small            ## compare what it writes there with what it writes here
	@$(RUN) $B/15_small > $M/here.txt
	@head -n "$$(wc -l < $M/here.txt)" $M/there.txt | diff $M/here.txt - && echo 'The same text here and there.'

small-train: $B/grammar $B/small_train   ## train it anew, to build/small/weights.h; minutes
	@mkdir -p $M
	@$(RUN) $B/grammar --corpus | $(RUN) $B/small_train > $M/weights.h

$M/15_small.elf: examples/15_small.c attn.h $(wildcard examples/small/*)
	@mkdir -p $M
	$(call short,CC $<)$(ARM)gcc -std=c99 $(warnings) $(ARM_FLAGS) $(ARM_MACROS) -DSMALL_BOARD --specs=nano.specs \
	    -nostartfiles -Wl,--gc-sections -T examples/small/board.ld -o $@ $< examples/small/board.c -lm

$B/small_train: $B/examples/small/train.o $B/attn.o; $(program)
-include $B/examples/small/train.d
