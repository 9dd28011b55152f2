# What attn.h costs where memory is small; `make` alone builds none of it. BARS: the most that figures may be, if not
# those that come along.
BARS        = $(wildcard tests/boards/bars)
boards_tools = arm-none-eabi-gcc qemu-system-arm riscv64-unknown-elf-gcc qemu-system-riscv32
boards_lacks = for tool in $(boards_tools); do command -v $$tool > /dev/null || echo $$tool; done; \
    echo '\#include <math.h>' | riscv64-unknown-elf-gcc --specs=picolibc.specs -E - > /dev/null 2>&1 || echo picolibc

.PHONY: test-boards
test-boards:                              ## measure attn.h on microcontrollers that QEMU emulates; minutes
	@lacks=$$($(boards_lacks)); if [ -n "$$lacks" ]; then echo "Nothing is measured: it needs" $$lacks'. On Debian:' \
	    'apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf' \
	    'qemu-system-arm qemu-system-misc'; exit 1; fi
	@$(check) tests/boards/boards.sh figures $(BARS)
