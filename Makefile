# SPDX-License-Identifier: Apache-2.0
# One non-recursive Makefile. Variants live in build/<variant>/; build/pinfold is the release one.
#
#	make                      build/pinfold, build/libpinfold.a, manual and completions
#	make check                every test (root and ordinary user); see CONTRIBUTING.md
#	make SAN=address,undefined check
#	make DROP=seccomp         a pinfold without one protection, or (a+b) two, for check-red
#	make help                 all targets

VERSION := 0.1.0
PREFIX ?= /usr/local
DESTDIR ?=
CC ?= cc
ifeq ($(origin CC),default)
CC := gcc
endif
ARCH := $(shell $(CC) -dumpmachine | cut -d- -f1)
comma := ,

# Variant: where objects go and what is special about them.
VARIANT := release
ifneq ($(SAN),)
VARIANT := san-$(subst $(comma),-,$(SAN))
endif
ifneq ($(DROP),)
VARIANT := drop-$(DROP)
endif
ifeq ($(FIXTURES),1)
VARIANT := fixtures
endif
B := build/$(VARIANT)

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 -Wundef
ifeq ($(DEV),1)
WARN += -Werror
endif
OPT := -O2 -g
CPPFLAGS_ALL := -D_GNU_SOURCE -Isrc -Iinclude -I$(B)/gen -DPINFOLD_VERSION='"$(VERSION)"'
ifneq ($(DROP),)
CPPFLAGS_ALL += $(addprefix -DDROP_,$(shell echo $(DROP) | tr a-z- A-Z_ | tr + ' '))
endif
ifeq ($(FIXTURES),1)
CPPFLAGS_ALL += -DPINFOLD_FIXTURES
endif
CFLAGS_ALL := -std=gnu17 $(OPT) $(WARN) -fvisibility=hidden -fno-strict-aliasing \
	-fstack-protector-strong -fPIE -fno-plt
LDFLAGS_ALL := -Wl,-z,relro -Wl,-z,now
ifneq ($(SAN),)
# Sanitizers need the dynamic libc; the sandboxed side (the guest) is never instrumented.
CFLAGS_ALL += -fsanitize=$(SAN) -fno-omit-frame-pointer
LDFLAGS_ALL += -fsanitize=$(SAN) -pie
else
CPPFLAGS_ALL += -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
# Static: half of a short run is the start of programs, and a dynamic one takes twice as long.
ifeq ($(DROP),static)
LDFLAGS_ALL += -pie
else
LDFLAGS_ALL += -static-pie
endif
endif
# A static libcrypto may be one that compresses certificates (Debian 13).
CRYPTO_LIBS := -lcrypto -lz -lzstd
LIBS := -lcrypto -lsqlite3 -lzstd -lz -ljansson -lyaml -lm
# Static libarchive leaves it to us to name what its filters need; of its formats only tar is linked.
ARCHIVE_LIBS := -larchive -ljansson -llzma -lz -lzstd

GUEST_CFLAGS := -std=gnu17 -O2 $(WARN) -ffreestanding -fno-stack-protector -fno-pie \
	-fno-asynchronous-unwind-tables -fcf-protection=none
ifeq ($(ARCH),aarch64)
GUEST_CFLAGS := $(filter-out -fcf-protection=none,$(GUEST_CFLAGS))
endif
GUEST_LDFLAGS := -static -nostdlib -no-pie -Wl,--build-id=none -Wl,-z,noseparate-code \
	-Wl,-z,norelro -Wl,-z,noexecstack -s

# The reader, too, is static and never instrumented: it runs in a sandbox that shows no library.
READER_CFLAGS := -std=gnu17 -O2 $(WARN) -fno-strict-aliasing -fstack-protector-strong -fPIE \
	-ffunction-sections -fdata-sections
# Links without the linker's remarks on libc functions that no static program of ours calls.
LINK := tools/link $(CC)
READER_LDFLAGS := -static-pie -Wl,--gc-sections -Wl,--build-id=none -Wl,-z,relro -Wl,-z,now -s

LIB_ROOMS := base kernel wire http egress tree sync evidence ledger sandbox warden apply store deps alert engine
# libssl has 18,000 places to relocate: a static program that holds it starts 0.4 ms later. So it is
# not in the library, but in programs of their own that end TLS; these name TLS_OBJ and TLS_LIBS.
TLS_SRC := src/http/tls.c
TLS_LIBS := -lssl
# Signing, too, is in a program of its own: the EVP interface has as many places to relocate.
SIGN_SRC := src/ledger/sign.c src/ledger/p256.c
SIGN_LIBS := -lsodium -lhogweed -lnettle -lgmp
# Of archive/ the host side has what parses no archive.
LIB_ARCHIVE := $(addprefix src/archive/,about.c export.c name.c pax.c pieces.c)
# The gate is a program of its own, embedded in the library as the reader is.
GATE_ONLY := $(sort $(wildcard src/egress/gate*.c)) \
	$(addprefix src/egress/,stage.c authority.c channel.c roots.c inspect.c h2.c h2_up.c h2_trailer.c)
LIB_SRC := $(filter-out $(TLS_SRC) $(SIGN_SRC) $(GATE_ONLY),$(foreach r,$(LIB_ROOMS),$(sort $(wildcard src/$(r)/*.c)))) \
	$(LIB_ARCHIVE)
ARCHIVE_SRC := $(filter-out $(LIB_ARCHIVE),$(sort $(wildcard src/archive/*.c)))
CMD_SRC := $(sort $(wildcard src/cmd/*.c src/measure/*.c src/api/*.c src/mcp/*.c)) src/tls/image.c
ifneq ($(FIXTURES),1)
CMD_SRC := $(filter-out src/mcp/fixture%,$(CMD_SRC))
endif
# The loader is an object for interpreters to load, and bytes for the guest.
LOADER_SRC := src/guest/loader.c src/guest/forked.c
GUEST_SRC := $(filter-out $(LOADER_SRC),$(sort $(wildcard src/guest/*.c))) \
	src/wire/plan.c src/wire/files.c
READER_SRC := $(addprefix src/base/,err.c fd.c glob.c hash.c parse.c utf8.c) \
	$(sort $(wildcard src/tree/*.c src/sync/*.c src/archive/*.c src/reader/*.c))
# The program that ends TLS for the API.
ENDS_TLS_SRC := $(addprefix src/base/,discard.c err.c fd.c parse.c passfd.c) $(TLS_SRC) \
	$(addprefix src/kernel/,confine.c landlock.c) $(addprefix src/tls/,alone.c main.c relay.c)
GATE_SRC := $(addprefix src/base/,discard.c err.c fd.c hash.c passfd.c parse.c utf8.c value.c) src/kernel/landlock.c \
	$(filter-out $(TLS_SRC),$(sort $(wildcard src/http/*.c))) \
	$(filter-out $(addprefix src/egress/,yaml.c doc.c schema.c source.c trust.c preset.c preset_text.c vault.c),$(sort $(wildcard src/egress/*.c)))
GATE_LIBS := -lcares -lnghttp2 $(TLS_LIBS)
NOTARY_SRC := $(addprefix src/base/,err.c fd.c) $(SIGN_SRC) src/notary/main.c
LIB_OBJ := $(LIB_SRC:src/%.c=$(B)/%.o)
SIGN_OBJ := $(SIGN_SRC:src/%.c=$(B)/%.o)
NOTARY_OBJ := $(NOTARY_SRC:src/%.c=$(B)/in-reader/%.o)
CMD_OBJ := $(CMD_SRC:src/%.c=$(B)/%.o)
ARCHIVE_OBJ := $(ARCHIVE_SRC:src/%.c=$(B)/%.o)
TLS_OBJ := $(TLS_SRC:src/%.c=$(B)/%.o)
GUEST_OBJ := $(GUEST_SRC:src/%.c=$(B)/in-guest/%.o)
READER_OBJ := $(READER_SRC:src/%.c=$(B)/in-reader/%.o)
ENDS_TLS_OBJ := $(ENDS_TLS_SRC:src/%.c=$(B)/in-reader/%.o)
GATE_OBJ := $(GATE_SRC:src/%.c=$(B)/in-reader/%.o)
UNIT := $(patsubst tests/unit/%.c,$(B)/unit/%,$(sort $(wildcard tests/unit/*.c)))

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY: $(ARCHIVE_OBJ) $(TLS_OBJ) $(SIGN_OBJ)
.SUFFIXES:
.PHONY: all unit clean help check-deps

ifeq ($(VARIANT),release)
all: build/pinfold build/libpinfold.a build/reader build/doc.stamp
build/pinfold: $(B)/pinfold
	@ln -f $< $@
build/reader: $(B)/reader
	@ln -f $< $@
build/libpinfold.a: $(B)/libpinfold.a
	@ln -f $< $@
else
all: $(B)/pinfold $(B)/libpinfold.a
endif

# Flags in a file: objects are rebuilt when they change.
FLAGS := $(CC) $(CFLAGS_ALL) $(CPPFLAGS_ALL) $(GUEST_CFLAGS) $(GUEST_LDFLAGS) $(LDFLAGS_ALL) \
	$(READER_CFLAGS) $(READER_LDFLAGS)
$(shell mkdir -p $(B); echo '$(subst ','"'"',$(FLAGS))' | cmp -s - $(B)/flags || \
	echo '$(subst ','"'"',$(FLAGS))' > $(B)/flags)

$(B)/%.o: src/%.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(CPPFLAGS_ALL) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/in-guest/%.o: src/%.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(GUEST_CFLAGS) $(filter-out -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2,$(CPPFLAGS_ALL)) \
		-MMD -MP -c -o $@ $<

LOADER_CFLAGS := $(filter-out -fno-pie,$(GUEST_CFLAGS)) -fPIC -fvisibility=hidden
LOADER_LDFLAGS := -shared -nostdlib -Wl,--build-id=none -Wl,-init,loader_main -Wl,-z,noexecstack \
	-Wl,-z,norelro -Wl,-z,noseparate-code -Wl,-z,max-page-size=4096 -s
LOADER_SRC += src/guest/identity.c src/guest/util.c
$(B)/loader.so: $(LOADER_SRC) $(wildcard src/wire/*.h src/guest/*.h src/base/*.h) $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(LOADER_CFLAGS) $(filter-out -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2,$(CPPFLAGS_ALL)) \
		$(LOADER_LDFLAGS) -o $@ $(LOADER_SRC)
$(B)/in-guest/guest/loader_image.o: CPPFLAGS_ALL += -DLOADER_IMAGE='"$(B)/loader.so"'
$(B)/in-guest/guest/loader_image.o: $(B)/loader.so

# What dynamic programs of a deterministic run load. libc is theirs: only headers of it are used.
PINNED_SRC := $(sort $(wildcard src/pinned/*.c))
PINNED_CFLAGS := $(filter-out -fno-pie -ffreestanding,$(GUEST_CFLAGS)) -fPIC -fvisibility=hidden \
	-fno-builtin
PINNED_LDFLAGS := -shared -nostdlib -Wl,--build-id=none -Wl,-z,noexecstack -Wl,-z,noseparate-code \
	-Wl,-z,max-page-size=4096 -s
$(B)/pinned.so: $(PINNED_SRC) $(wildcard src/pinned/*.h src/wire/*.h src/base/*.h) $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(PINNED_CFLAGS) $(filter-out -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2,$(CPPFLAGS_ALL)) \
		$(PINNED_LDFLAGS) -o $@ $(PINNED_SRC)
$(B)/sandbox/pinned_image.o: CPPFLAGS_ALL += -DPINNED_IMAGE='"$(B)/pinned.so"'
$(B)/sandbox/pinned_image.o: $(B)/pinned.so

$(B)/guest: $(GUEST_OBJ)
	$(CC) $(GUEST_CFLAGS) $(GUEST_LDFLAGS) -o $@ $^

$(B)/in-reader/%.o: src/%.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(READER_CFLAGS) $(CPPFLAGS_ALL) -MMD -MP -c -o $@ $<
$(B)/reader: $(READER_OBJ)
	$(LINK) $(READER_CFLAGS) $(READER_LDFLAGS) -o $@ $^ $(ARCHIVE_LIBS) $(LIBS)
$(B)/sandbox/reader_image.o: CPPFLAGS_ALL += -DREADER_IMAGE='"$(B)/reader"'
$(B)/sandbox/reader_image.o: $(B)/reader

# Static and not instrumented for the same reason: it runs without any right, and is carried along.
$(B)/pinfold-tls: $(ENDS_TLS_OBJ)
	$(LINK) $(READER_CFLAGS) $(READER_LDFLAGS) -o $@ $^ $(TLS_LIBS) $(CRYPTO_LIBS)
$(B)/tls/image.o: CPPFLAGS_ALL += -DTLS_IMAGE='"$(B)/pinfold-tls"'
$(B)/tls/image.o: $(B)/pinfold-tls
$(B)/gate: $(GATE_OBJ)
	$(LINK) $(READER_CFLAGS) $(READER_LDFLAGS) -o $@ $^ $(GATE_LIBS) $(LIBS)
$(B)/sandbox/gate_image.o: CPPFLAGS_ALL += -DGATE_IMAGE='"$(B)/gate"'
$(B)/sandbox/gate_image.o: $(B)/gate
# The notary: static, small, and never instrumented, for the same reasons as the reader.
$(B)/notary: $(NOTARY_OBJ)
	$(LINK) $(READER_CFLAGS) $(READER_LDFLAGS) -o $@ $^ $(SIGN_LIBS)
$(B)/ledger/notary_image.o: CPPFLAGS_ALL += -DNOTARY_IMAGE='"$(B)/notary"'
$(B)/ledger/notary_image.o: $(B)/notary

$(B)/sandbox/guest_image.o: CPPFLAGS_ALL += -DGUEST_IMAGE='"$(B)/guest"'
$(B)/sandbox/guest_image.o: $(B)/guest $(wildcard src/guest/driver.* src/guest/session.*)
$(B)/deps/scanners.o: $(wildcard src/deps/scan*.*)
$(B)/deps/drivers.o: $(wildcard src/deps/*.py src/deps/*.js src/deps/*.R)
$(B)/kernel/seccomp.o: $(B)/gen/seccomp_filters.inc

$(B)/gen-seccomp: tools/gen-seccomp.c src/kernel/seccomp.def src/kernel/seccomp.h | check-deps
	@mkdir -p $(@D)
	$(CC) -std=gnu17 -O1 $(WARN) -D_GNU_SOURCE -Isrc -o $@ $< -lseccomp
$(B)/gen/seccomp_filters.inc: $(B)/gen-seccomp
	@mkdir -p $(@D)
	$(B)/gen-seccomp $(ARCH) > $@

# The CLI sees the library as any program does, and base/, http/ and egress/ beside it.
BASE_OBJ := $(filter $(B)/base/% $(B)/http/% $(B)/egress/% $(B)/kernel/confine.o \
	$(B)/kernel/landlock.o,$(LIB_OBJ))
$(B)/pinfold: $(CMD_OBJ) $(BASE_OBJ) $(B)/libpinfold.a
	$(LINK) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(LIBS)

# Only pinfold_* are visible outside of the library.
$(B)/libpinfold.a: $(LIB_OBJ)
	ld -r -o $(B)/libpinfold.o $^
	objcopy --localize-hidden $(B)/libpinfold.o
	@rm -f $@
	ar rcs $@ $(B)/libpinfold.o

WITH_ARCHIVE = $(filter $(addprefix $(B)/,base/% kernel/% tree/% \
	archive/%),$(LIB_OBJ)) $(ARCHIVE_OBJ) $(ARCHIVE_LIBS)
$(B)/unit/%: tests/unit/%.c $(LIB_OBJ) $(CMD_OBJ) $(ARCHIVE_OBJ) $(B)/libpinfold.a $(B)/flags
	@mkdir -p $(@D)
	$(LINK) $(CFLAGS_ALL) $(CPPFLAGS_ALL) -Itests/unit $(LDFLAGS_ALL) -o $@ $< \
		$(if $(filter cmd_% api_% mcp_%,$*),$(CMD_OBJ:%/main.o=%/main-as-part.o) $(BASE_OBJ) \
		$(B)/libpinfold.a,$(if $(filter archive_%,$*),$(WITH_ARCHIVE),$(LIB_OBJ)) \
		$(if $(filter http_tls,$*),$(TLS_OBJ) $(TLS_LIBS)) \
		$(if $(filter ledger_sign,$*),$(SIGN_OBJ) $(SIGN_LIBS)) \
		$(if $(filter egress_inspect,$*),$(INSPECT_OBJ) $(TLS_LIBS) -lnghttp2) \
		$(if $(filter egress_h2 egress_h2_up,$*),$(H2_OBJ) -lnghttp2) $(B)/cmd/nodl.o) $(LIBS)
$(B)/unit/http_tls: $(TLS_OBJ)
$(B)/unit/ledger_sign: $(SIGN_OBJ)
INSPECT_OBJ := $(addprefix $(B)/egress/,stage.o authority.o channel.o roots.o inspect.o h2_up.o h2_trailer.o)
$(B)/unit/egress_inspect: $(INSPECT_OBJ)
H2_OBJ := $(addprefix $(B)/egress/,stage.o h2.o h2_up.o h2_trailer.o)
$(B)/unit/egress_h2 $(B)/unit/egress_h2_up $(B)/fuzz/h2: $(H2_OBJ)
.SECONDARY: $(INSPECT_OBJ) $(H2_OBJ)
# Fuzz targets: ordinary builds replay the corpus, `make fuzz` lets libFuzzer look for more.
FUZZ := $(patsubst tests/fuzz/fuzz_%.c,$(B)/fuzz/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
$(B)/fuzz/%: tests/fuzz/fuzz_%.c tests/fuzz/replay.c $(LIB_OBJ) $(B)/cmd/nodl.o $(B)/flags
	@mkdir -p $(@D)
	$(LINK) $(CFLAGS_ALL) $(CPPFLAGS_ALL) -Itests/unit -DCORPUS='"tests/fuzz/corpus/$*"' \
		$(LDFLAGS_ALL) -o $@ $< tests/fuzz/replay.c $(LIB_OBJ) $(B)/cmd/nodl.o \
		$(if $(filter h2,$*),$(H2_OBJ) -lnghttp2) $(LIBS)
FUZZ_SECONDS ?= 60
fuzz: $(patsubst tests/fuzz/fuzz_%.c,fuzz-%,$(wildcard tests/fuzz/fuzz_*.c))
fuzz-%: tests/fuzz/fuzz_%.c
	@mkdir -p build/fuzz/found/$*
	clang -std=gnu17 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
		$(CPPFLAGS_ALL) -U_FORTIFY_SOURCE -o build/fuzz/$* $< \
		$(filter-out $(TLS_SRC) $(GATE_ONLY),$(sort $(wildcard src/base/*.c src/http/*.c src/$*/*.c))) \
		$(if $(filter h2,$*),$(addprefix src/egress/,stage.c h2.c h2_up.c h2_trailer.c) -lnghttp2) $(LIBS)
	build/fuzz/$* -max_total_time=$(FUZZ_SECONDS) -timeout=5 -artifact_prefix=build/fuzz/ \
		build/fuzz/found/$* tests/fuzz/corpus/$*
.PHONY: fuzz
unit: $(UNIT) $(FUZZ)
$(filter $(B)/unit/cmd_% $(B)/unit/api_% $(B)/unit/mcp_%,$(UNIT)): $(B)/cmd/main-as-part.o
$(B)/cmd/main-as-part.o: src/cmd/main.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(CPPFLAGS_ALL) -Dmain=pinfold_main -Wno-missing-prototypes -c -o $@ $<

# Header and package of each library.
DEPS := seccomp.h:libseccomp-dev openssl/sha.h:libssl-dev sodium.h:libsodium-dev nettle/ecdsa.h:nettle-dev gmp.h:libgmp-dev sqlite3.h:libsqlite3-dev zstd.h:libzstd-dev \
	archive.h:libarchive-dev jansson.h:libjansson-dev lzma.h:liblzma-dev zlib.h:zlib1g-dev ares.h:libc-ares-dev nghttp2/nghttp2.h:libnghttp2-dev \
	yaml.h:libyaml-dev
check-deps:
	@for dep in $(DEPS); do \
		echo "#include <$${dep%:*}>" | $(CC) -E - >/dev/null 2>&1 || \
			{ echo "$${dep%:*} is missing: install the package $${dep#*:}" >&2; exit 1; }; \
	done

clean:
	rm -rf build

.PHONY: check check-root check-daemon check-red check-fresh check-vm check-compat check-replay tidy soak bench bench-http bench-egress bench-workspaces bench-ledger bench-deps check-packages phases
.PHONY: install install-strip uninstall

JOBS ?= $(shell echo $$((2 * $$(nproc) + 1)))

# Man page and completions come from the tables of the program itself.
DOC := build/doc
build/doc.stamp: build/pinfold
	@mkdir -p $(DOC)
	build/pinfold docs man >$(DOC)/pinfold.1
	build/pinfold docs bash >$(DOC)/pinfold.bash
	build/pinfold docs zsh >$(DOC)/_pinfold
	build/pinfold docs fish >$(DOC)/pinfold.fish
	@touch $@

# TESTS=tests/escape/A08-*.sh runs some, builds what they need and no more, and leaves out tidy.
# tests/soak/ is not part of check.
ifneq ($(filter command environment,$(firstword $(origin TESTS))),)
UNIT_NEEDED := $(filter $(B)/unit/% $(B)/fuzz/%,$(TESTS))
TIDY := :
else
UNIT_NEEDED := unit
TIDY := tools/tidy
endif
SCRIPTS := $(sort $(filter-out tests/lib/% tests/soak/% tests/vm/% tests/deps/02-% tests/deps/04-% tests/deps/06-%,$(wildcard tests/*/*.sh)))
# From both ends of the list: those of workspaces wait for the disk, while others compute.
TESTS ?= $(UNIT) $(FUZZ) $(shell echo $(SCRIPTS) | awk '{for (i = 1; i <= NF - i + 1; i++) print $$i, i < NF - i + 1 ? $$(NF - i + 1) : ""}')
TAP := $(B)/tap
# All three are run, whatever the others say; the last word is the summary's.
RUN_TESTS = rm -rf $(TAP) && mkdir -p $(TAP) && \
	{ PINFOLD=$(CURDIR)/$(B)/pinfold TAP_DIR=$(CURDIR)/$(TAP) tests/lib/session \
		tests/lib/suite -j$(JOBS) -- $(TESTS); prove=$$?; \
	$(TIDY); tidy=$$?; \
	tests/lib/summary $(TAP) tests/skips; summary=$$?; \
	test $$prove$$tidy$$summary = 000; }

check: all $(UNIT_NEEDED)
	@$(RUN_TESTS)
# Root's half only; says so instead of skipping where root is not there.
check-root: all unit
	@test "$$(id -u)" = 0 || { echo 'check-root: run it as root' >&2; exit 1; }
	@export PINFOLD_TEST_MODES=R; $(RUN_TESTS)
# The attacks once more, with sandboxes that a daemon makes.
check-daemon: TESTS = $(sort $(wildcard tests/escape/[ABCDEHI]??-*.sh) tests/escape/posture.sh)
check-daemon: all
	@export PINFOLD_TEST_DAEMON=1; $(RUN_TESTS)
# Packages and indexes that attack: a minute, so not in check.
check-packages: all
	@TEST_SECONDS=900 PINFOLD=$(CURDIR)/$(B)/pinfold TAP_DIR=$(CURDIR)/$(TAP) tests/lib/session \
		prove -v --exec tests/lib/tap-run tests/deps/*.sh

check-red: all
	@tools/check-red -j $(JOBS) $(RED_ARGS)
check-fresh:
	@tools/check-fresh
check-vm: all
	@tools/check-vm $(VM_ARGS)
check-compat: all
	@tools/check-compat
# 42 programs, each run and run again; a minute or two.
check-replay: TESTS = $(sort $(wildcard tests/replay/*.sh))
check-replay: all
	@export REPLAY_CORPUS=all; $(RUN_TESTS)
tidy:
	@tools/tidy
# HTTP and MCP alone. QUICK=1: only that all of it runs.
bench-http: all
	@ONLY=http,held,download bench/run $(BENCH_ARGS)
bench: all
	@bench/run $(BENCH_ARGS)
	@$(MAKE) -s bench-workspaces
	@[ "$$(id -u)" != 0 ] || $(MAKE) -s bench-deps
# What the ledger costs, and ten million events (EVENTS); some 6 GB below TMPDIR for a few minutes.
bench-ledger: all
	@/usr/bin/python3 -I bench/ledger.py build/pinfold $(or $(EVENTS),10000000) $(RUNS)
# What packages cost, beside pip (root; some 2 GB below TMPDIR).
bench-deps: all
	@/usr/bin/python3 -I bench/deps.py build/pinfold $(or $(SAMPLES),20)
# The way out beside squid and haproxy (root; nginx).
bench-egress: all
	@bench/egress
# What workspaces cost, with what is aimed for; some 5 GB of disk for a few minutes.
bench-workspaces: all
	@bench/workspace $(SAMPLES)
	@bench/sync.sh
phases: all
	@bench/phases >build/phases.svg && mv build/phases.svg docs/phases.svg
soak: all unit
	@TEST_SECONDS=3600 $(MAKE) -s check TESTS="$(sort $(wildcard tests/soak/*.sh))"

# DESTDIR for packagers; then the AppArmor profile is installed but not loaded.
BINDIR := $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
PC = prefix=$(PREFIX)\nlibdir=$(LIBDIR)\nincludedir=$(PREFIX)/include\n\nName: pinfold\n$\
	Description: Runs untrusted code in a fresh sandbox\nVersion: $(VERSION)\n$\
	Requires: libcrypto sqlite3 libzstd jansson yaml-0.1\nLibs: -L$${libdir} -lpinfold -pthread\nCflags: -I$${includedir}\n
PROFILE := /etc/apparmor.d/pinfold
# systemd looks below /usr/lib and /usr/local/lib. Nothing is enabled or started here.
SYSTEMDDIR ?= $(PREFIX)/lib/systemd
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
UNITS := system/pinfold.service system/pinfold.socket user/pinfold.service user/pinfold.socket
HEADERS := $(sort $(wildcard include/pinfold/*.h))
INSTALLED = $(BINDIR)/pinfold $(LIBDIR)/libpinfold.a $(LIBDIR)/pkgconfig/pinfold.pc \
	$(HEADERS:%=$(PREFIX)/%) $(PREFIX)/share/man/man1/pinfold.1 \
	$(PREFIX)/share/bash-completion/completions/pinfold \
	$(PREFIX)/share/zsh/site-functions/_pinfold \
	$(PREFIX)/share/fish/vendor_completions.d/pinfold.fish \
	$(UNITS:%=$(SYSTEMDDIR)/%) $(SYSUSERSDIR)/pinfold.conf

# put FILE AT MODE
put = install -D -m $(3) $(1) $(DESTDIR)$(2)
install: all
	$(call put,build/pinfold,$(BINDIR)/pinfold,0755)
	$(call put,build/libpinfold.a,$(LIBDIR)/libpinfold.a,0644)
	for h in $(HEADERS); do $(call put,$$h,$(PREFIX)/$$h,0644) || exit 1; done
	$(call put,$(DOC)/pinfold.1,$(PREFIX)/share/man/man1/pinfold.1,0644)
	$(call put,$(DOC)/pinfold.bash,$(PREFIX)/share/bash-completion/completions/pinfold,0644)
	$(call put,$(DOC)/_pinfold,$(PREFIX)/share/zsh/site-functions/_pinfold,0644)
	$(call put,$(DOC)/pinfold.fish,$(PREFIX)/share/fish/vendor_completions.d/pinfold.fish,0644)
	@printf '$(PC)' >build/pinfold.pc
	$(call put,build/pinfold.pc,$(LIBDIR)/pkgconfig/pinfold.pc,0644)
	@for unit in $(UNITS); do \
		sed 's,@BINDIR@,$(BINDIR),' packaging/systemd/$$unit >build/unit && \
		install -D -m 0644 build/unit $(DESTDIR)$(SYSTEMDDIR)/$$unit || exit 1; \
	done
	$(call put,packaging/systemd/pinfold.sysusers,$(SYSUSERSDIR)/pinfold.conf,0644)
# Only an AppArmor that knows `userns` (4.0, Ubuntu 24.04) can read the profile or needs it.
	@if [ -e /etc/apparmor.d/abi/4.0 ]; then \
		sed 's,@BINDIR@,$(BINDIR),' packaging/apparmor/pinfold >build/apparmor-profile && \
		install -D -m 0644 build/apparmor-profile $(DESTDIR)$(PROFILE) && \
		echo 'installed $(DESTDIR)$(PROFILE)' && \
		{ [ -n '$(DESTDIR)' ] || ! command -v apparmor_parser >/dev/null || \
			apparmor_parser -r $(PROFILE); }; \
	fi
# Without the names and lines that a debugger wants: two thirds of the size.
install-strip: install
	strip '$(DESTDIR)$(BINDIR)/pinfold'
uninstall:
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	@[ ! -e '$(DESTDIR)$(PROFILE)' ] || { \
		[ -n '$(DESTDIR)' ] || apparmor_parser -R $(PROFILE) 2>/dev/null; \
		rm -f '$(DESTDIR)$(PROFILE)'; }

help:
	@echo 'make                build/pinfold, build/libpinfold.a, man page, completions'
	@echo 'make check          build, all tests, tidy, summary (as root: for both kinds of users)'
	@echo '                    TESTS="..." some of them, JOBS=n at a time'
	@echo 'make check-root     with root as the only one who starts sandboxes'
	@echo 'make check-daemon   the attacks of tests/escape on sandboxes that a daemon makes'
	@echo 'make check-packages packages and indexes that attack'
	@echo 'make check-red      one protection out at a time: which tests notice'
	@echo 'make check-fresh    the commands of the README in a clean system (root, debootstrap)'
	@echo 'make SAN=address,undefined check'
	@echo 'make soak           long runs: kills at random moments, thousands of sandboxes, overload'
	@echo 'make check-vm       cgroup v2, quotas and systemd, in QEMU guests'
	@echo 'make fuzz           libFuzzer on the parsers (clang), FUZZ_SECONDS=60 each'
	@echo 'make check-replay   42 programs, each run and run again'
	@echo 'make check-compat   MCP: the official suite, inspector, two agents; by npm'
	@echo 'make bench          speed, against other sandboxes'
	@echo 'make bench-http     what calls over HTTP and MCP cost'
	@echo 'make bench-egress   the way out, beside squid and haproxy (root)'
	@echo 'make bench-workspaces  that of workspaces alone'
	@echo 'make bench-ledger  what the ledger costs, with ten million events'
	@echo 'make bench-deps    what packages cost, beside pip (root)'
	@echo 'make phases         docs/phases.svg: where the time of one run goes (root)'
	@echo 'make tidy           rooms, lengths, banned calls, headers alone'
	@echo 'make install        PREFIX (/usr/local), DESTDIR; make install-strip, make uninstall'
	@echo 'make DROP=name      build/drop-name/pinfold, without one protection (src/sandbox/hold.h)'
	@echo 'make DEV=1          warnings are errors'

-include $(LIB_OBJ:.o=.d) $(TLS_OBJ:.o=.d) $(CMD_OBJ:.o=.d) $(ARCHIVE_OBJ:.o=.d) $(GUEST_OBJ:.o=.d) $(READER_OBJ:.o=.d) \
	$(ENDS_TLS_OBJ:.o=.d) $(GATE_OBJ:.o=.d) $(NOTARY_OBJ:.o=.d)
