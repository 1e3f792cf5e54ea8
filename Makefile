# picklock: build, test, demo, bench, install. `make help` lists the targets.

# ---- what a fresh Debian needs; `make deps` installs what is missing of it -------------------
# DEB builds and tries the packages; EMPTY is what the empty system has in which they are tried.
# SHARD are the engines that run shards, GATE is what a pipeline's files are held against.
PACKAGES_BUILD := gcc libc6-dev make pkg-config libhiredis-dev libyaml-dev libuv1-dev uthash-dev \
                  libxxhash-dev libjansson-dev libzstd-dev libssl-dev libpq-dev libcurl4-openssl-dev redis-server
PACKAGES_DEB   := build-essential dpkg-dev debhelper lintian debootstrap
PACKAGES_SHARD := python3-venv parallel slurm-wlm munge
PACKAGES_GATE  := python3-venv libxml2-utils git
PACKAGES_BROWSER := chromium python3 fonts-dejavu-core
PACKAGES_EMPTY := redis-server gcc libc6-dev pkg-config
PACKAGES_TEST  := postgresql pgbouncer etcd-server zookeeper libzookeeper-st-dev procps openssl libc6-dbg libcriterion-dev clang clang-format libclang-rt-14-dev valgrind python3 zstd \
                  mandoc bash-completion zsh fish libxml2-utils

# ---- flags: in this one place ---------------------------------------------------------------
CC       ?= gcc
OPTIMIZE ?= -O2
SANITIZE ?=
BUILD    ?= build/default
LIBS     := hiredis yaml-0.1 libuv jansson libzstd libxxhash libcrypto

WARNINGS := -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes \
            -Wmissing-prototypes -Wswitch-enum -Wundef -Wvla -Wformat=2 -Wpointer-arith \
            -Wcast-align -Wwrite-strings -Wold-style-definition -Werror
# gcc's own checks make its warnings unreliable: a sanitized build prints them only.
CFLAGS_ALL = -std=c11 -D_GNU_SOURCE $(OPTIMIZE) -g -fno-common -fPIC -fvisibility=hidden \
             -fstack-protector-strong $(WARNINGS) -I. -I$(BUILD)/include \
             $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all -Wno-error) \
             $(CFLAGS)
LDFLAGS_ALL = $(if $(SANITIZE),-fsanitize=$(SANITIZE)) $(LDFLAGS)
# Of a library that is loaded when it is needed only the header, and that where it is there.
LIBS_LOADED := libpq libcurl
# Asked once, and only when something is compiled: `make deps` may have to come first.
LIBS_CFLAGS = $(eval LIBS_CFLAGS := $$(shell pkg-config --cflags $(LIBS); pkg-config --cflags $(LIBS_LOADED) 2>/dev/null))$(LIBS_CFLAGS)
LIBS_LINK   = $(shell pkg-config --libs $(LIBS)) -ldl -lpthread -lm

# ---- the house: one static library a room ----------------------------------------------------
ROOMS := base lockcore history servers harness checker cli
sources = $(filter-out harness/real/preload/%,$(sort $(wildcard $(1)/*.c $(1)/*/*.c $(1)/*/*/*.c)))
objects = $(patsubst %.c,$(BUILD)/%.o,$(1))
SHIM_SOURCES := $(wildcard harness/real/preload/*.c)
SHIMS = $(patsubst harness/real/preload/%.c,$(BUILD)/picklock-%.so,$(SHIM_SOURCES))

ROOM_LIBS := $(foreach room,$(ROOMS),$(BUILD)/lib$(room).a)
LINK_LIBS := -Wl,--start-group $(filter-out $(BUILD)/libcli.a,$(ROOM_LIBS)) -Wl,--end-group

.DEFAULT_GOAL := all
.PHONY: all help deps deps-build deps-test demo demo-run test test-run test-unit unit bench install \
        clean adapters tidy
.DELETE_ON_ERROR:
# Kept, and all else that is missing is made: .SECONDARY would leave a second BUILD unbuilt.
.PRECIOUS: $(BUILD)/%.o

all: picklock picklock.schema.json ## build ./picklock

# For editors: the first line of each scenario names it.
picklock.schema.json: picklock
	@./picklock schema > $@

picklock: $(BUILD)/picklock $(SHIMS) | build/share/picklock
	@ln -sf $< $@

# From any folder it finds the scenarios here, as an installed one does: in PREFIX/share/picklock.
build/share/picklock:
	@mkdir -p $(@D)
	@ln -sfn ../.. $@

define room_rules
$(BUILD)/lib$(1).a: $$(call objects,$$(call sources,$(1)))
	@rm -f $$@
	@ar crs $$@ $$^
endef
$(foreach room,$(ROOMS),$(eval $(call room_rules,$(room))))

# Shims are preloaded into servers that know no sanitizer. `make install` puts them into libexec.
$(BUILD)/picklock-%.so: harness/real/preload/%.c harness/real/preload/clock_page.h base/clock.h base/duration.h
	@mkdir -p $(@D)
	@$(CC) -std=c11 -D_GNU_SOURCE -O2 -g -fPIC -fvisibility=hidden $(WARNINGS) -I. $(CFLAGS) -shared \
	    -o $@ $< $(LDFLAGS)

# The constant parts of a page, as bytes: its script is one, of several files, in this order.
PAGE_FOLDER := checker/report/script
PAGE_SCRIPT := $(patsubst %,$(PAGE_FOLDER)/%.js,events words axis pen lanes draw input)
PAGE_FILES  := $(PAGE_SCRIPT) $(patsubst %,$(PAGE_FOLDER)/%,style.css batch.css toolbar.html below.html)

$(BUILD)/include/page_bytes.h: tools/bytes.sh $(PAGE_FILES)
	@mkdir -p $(@D)
	@tools/bytes.sh script_bytes $(PAGE_SCRIPT) > $@
	@tools/bytes.sh style_bytes $(PAGE_FOLDER)/style.css >> $@
	@tools/bytes.sh batch_style_bytes $(PAGE_FOLDER)/batch.css >> $@
	@tools/bytes.sh toolbar_bytes $(PAGE_FOLDER)/toolbar.html >> $@
	@tools/bytes.sh below_bytes $(PAGE_FOLDER)/below.html >> $@

$(BUILD)/checker/report/page_files.o: $(BUILD)/include/page_bytes.h

# `picklock explain` and `picklock list` tell from these.
$(BUILD)/cli/pages.o: $(patsubst %,docs/%.md,CHECKS FAULTS SCENARIO ALGORITHMS ADAPTERS HISTORY)

# Headers that a build does without, by what asks for them: when one comes or goes, that is built again.
OPTIONAL_USERS := $(shell grep -rl __has_include $(ROOMS) --include=*.c)
$(patsubst %.c,$(BUILD)/%.o,$(OPTIONAL_USERS)): $(BUILD)/optional
$(BUILD)/optional: FORCE
	@mkdir -p $(@D)
	@for header in $$(sed -n 's/.*__has_include(<\(.*\)>).*/\1/p' $(OPTIONAL_USERS) | sort -u); do \
	    echo "#include <$$header>" | $(CC) $(LIBS_CFLAGS) -E - >/dev/null 2>&1 && echo "$$header"; \
	done > $@.new; cmp -s $@.new $@ && rm $@.new || mv $@.new $@

.PHONY: FORCE
FORCE:

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS_ALL) $(LIBS_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/picklock: $(ROOM_LIBS)
	@$(CC) $(CFLAGS_ALL) -o $@ $(BUILD)/libcli.a $(LINK_LIBS) $(LDFLAGS_ALL) $(LIBS_LINK)
	@echo "built $@"

# ---- unit tests: one Criterion binary a file in tests/ROOM/ ----------------------------------
TEST_SOURCES := $(sort $(wildcard tests/*/test_*.c))
# ROOM="checker sim" takes rooms; SKIP="test_install" leaves programs out.
TEST_CHOSEN = $(if $(ROOM),$(filter $(patsubst %,tests/%/%,$(ROOM)),$(TEST_SOURCES)),$(TEST_SOURCES))
TEST_KEPT = $(filter-out $(foreach name,$(SKIP),tests/%/$(name).c),$(TEST_CHOSEN))
# Those that take longest begin first: each processor has something to do until the end.
TEST_LONG = $(filter %_brute.c %_differential.c %_storm.c,$(TEST_KEPT))
TEST_PROGRAMS = $(patsubst tests/%.c,$(BUILD)/tests/%,$(TEST_LONG) $(filter-out $(TEST_LONG),$(TEST_KEPT)))

$(BUILD)/tests/%: $(BUILD)/tests/%.o $(filter-out $(BUILD)/libcli.a,$(ROOM_LIBS))
	@$(CC) $(CFLAGS_ALL) -o $@ $< $(LINK_LIBS) $(LDFLAGS_ALL) -lcriterion $(LIBS_LINK)

# Criterion's main comes before the command's.
$(BUILD)/tests/cli/%: $(BUILD)/tests/cli/%.o $(ROOM_LIBS)
	@$(CC) $(CFLAGS_ALL) -o $@ $< -lcriterion $(BUILD)/libcli.a $(LINK_LIBS) $(LDFLAGS_ALL) $(LIBS_LINK)

.PHONY: programs
programs: picklock $(TEST_PROGRAMS) $(SHIMS) # what the unit tests run: with -j, before `make test`

unit: programs ## unit tests only; ROOM=checker for one room
	@tools/unit.sh $(TEST_PROGRAMS)

.PHONY: hazelcast-differential
hazelcast-differential: $(BUILD)/tests/sim/test_hazelcast_differential $(SHIMS) ## the model of Hazelcast against real members, where `make adapters` built them
	@PICKLOCK_HAZELCAST=1 $(BUILD)/tests/sim/test_hazelcast_differential --jobs 1

# ---- the two commands of the README ------------------------------------------------------------
demo: deps ## set up, build, and run the demo suite on real redis-servers and in the simulator
	@$(MAKE) --no-print-directory picklock
	@tools/demo.sh

test: deps-test ## set up, build, and run every test
	@$(MAKE) --no-print-directory test-run

test-run: picklock arrows tidy purity
	@$(MAKE) --no-print-directory unit
	@tools/command.sh ./picklock
	@python3 tests/adapters/run.py ./picklock
	@python3 tests/adapters/templates.py ./picklock
	@python3 tests/shards/run.py ./picklock
	@python3 tests/gate/run.py ./picklock
	@python3 tests/packages/run.py
	@python3 tests/house/run.py
	@tools/suite.sh ./picklock

.PHONY: cluster-test compose-test tls-test
cluster-test: picklock $(BUILD)/tests/real/test_run $(BUILD)/tests/real/test_orders ## the whole corpus on five agents, and agents that are attacked, paused and killed
	@python3 tests/cluster/run.py ./picklock --all

# Debian 12's hiredis has no TLS: one that has is built for this, where a registry gives its source.
tls-test: ## bare nodes that speak TLS, with a picklock on hiredis 1.x
	@tools/hiredis1.sh build/hiredis1 || { echo "tls-test: skipped: no hiredis 1.x"; exit 0; }; \
	    export PKG_CONFIG_PATH=$(CURDIR)/build/hiredis1/lib/pkgconfig && \
	    $(MAKE) --no-print-directory BUILD=build/tls tls-test-run

# A sanitizer's dlopen does not know where hiredis' own libraries are.
.PHONY: tls-test-run
tls-test-run: $(BUILD)/picklock $(SHIMS)
	@LD_LIBRARY_PATH=$(CURDIR)/build/hiredis1/lib python3 tests/cluster/tls.py $(BUILD)/picklock

compose-test: ## the whole corpus on five containers, where an engine can run
	@python3 tests/cluster/compose.py

deps: ## install the packages that building and running needs
	@tools/deps.sh $(PACKAGES_BUILD)

deps-build: ## install the packages that building alone needs
	@tools/deps.sh $(filter-out redis-server,$(PACKAGES_BUILD))

deps-test: ## install the packages that the tests need as well
	@tools/deps.sh $(PACKAGES_BUILD) $(PACKAGES_TEST)

# ---- the pages, in a browser ---------------------------------------------------------------------
.PHONY: deps-browser browser-test screenshots page-figures
deps-browser: ## install what looking at the pages needs
	@tools/deps.sh $(PACKAGES_BUILD) $(PACKAGES_BROWSER)

browser-test: picklock ## open the pages in a headless Chromium, at three widths, light and dark
	@python3 tests/browser/run.py ./picklock

screenshots: picklock ## draw the pictures that docs and README show, into docs/pictures
	@python3 tests/browser/screenshots.py ./picklock docs/pictures

page-figures: picklock ## measure the page of a million events: bytes, opening, frames
	@python3 tests/browser/figures.py ./picklock

# ---- other people's lock libraries, behind the adapter protocol ----------------------------------
adapters: ## build the adapters of pinned libraries whose toolchain is here; says what is skipped
	@tools/adapters.sh

# ---- locks that are no code of ours, with bugs planted in them -----------------------------------
.PHONY: planted
planted: picklock ## bugs planted in foreign locks are caught; SAMPLE=i/n for a part, RUNS=n of the right ones, BUSY=30 beside
	@python3 tests/adapters/planted_run.py ./picklock --sample $(or $(SAMPLE),0/1) \
	    --runs $(or $(RUNS),0) --busy $(or $(BUSY),0) --jobs $(or $(JOBS),4)

.PHONY: flakes
flakes: picklock ## is a verdict luck: the corpus on real servers, RUNS=3000 times, with BUSY=30 programs beside it; adds to OUT=build/flakes
	@tools/busy.sh $(or $(BUSY),30) python3 tools/flakes.py ./picklock --runs $(or $(RUNS),3000) --out $(or $(OUT),build/flakes)

.PHONY: published
published: picklock ## what is said of published libraries, where `make adapters` installed them
	@python3 tests/adapters/published.py ./picklock

# ---- the page that answers the debate ------------------------------------------------------------
.PHONY: debate
debate: picklock ## run every claim of the debate in both worlds and write docs/DEBATE.md from what came of it
	@python3 tools/debate/debate.py ./picklock

# Every file of the project in C; a tarball has no git to ask.
C_FILES = $(shell git ls-files '*.c' '*.h' 2>/dev/null | grep . || find $(ROOMS) tests bench examples -name '*.[ch]')

# ---- the house's rules -------------------------------------------------------------------------
.PHONY: arrows purity format
arrows: ## includes go one way
	@tools/arrows.sh

purity: $(BUILD)/liblockcore.a $(BUILD)/libbase.a ## the lock core imports nothing but memory and text functions
	@tools/purity.sh $(BUILD)

tidy: ## lengths, bans, layout
	@python3 tools/tidy.py
	@clang-format --dry-run -Werror $(C_FILES)

format: ## lay out every source file
	@clang-format -i $(C_FILES)

# ---- fuzzing: every parser, with its corpus, for SECONDS_EACH ------------------------------------
SECONDS_EACH ?= 60
FUZZ_SOURCES  := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_PROGRAMS = $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(FUZZ_SOURCES))

$(BUILD)/fuzz/%: $(BUILD)/tests/fuzz/%.o $(filter-out $(BUILD)/libcli.a,$(ROOM_LIBS))
	@mkdir -p $(@D)
	@clang $(CFLAGS_ALL) -fsanitize=fuzzer,address,undefined -o $@ $< $(LINK_LIBS) $(LIBS_LINK)

.PHONY: soak
soak: $(BUILD)/tests/checker/test_linear_brute ## ten million small lock histories against the exhaustive search; SEED=n
	PICKLOCK_SOAK=500000 PICKLOCK_SEED=$(or $(SEED),$(shell date +%s)) $<

# ---- mutants: one change of the code at a time, which a test must notice -------------------------
.PHONY: mutate
mutate: picklock $(if $(filter verdict,$(BY)),,$(patsubst %.c,$(BUILD)/%.o,$(TEST_SOURCES))) ## change one thing of ROOM at a time and list what no test notices; SAMPLE=400 or all, SEED=1, BY=tests or verdict, FILE=part of a path
	@MUTATE_CC='$(CC)' MUTATE_CFLAGS='$(CFLAGS_ALL) $(LIBS_CFLAGS)' MUTATE_BUILD='$(BUILD)' \
	    MUTATE_LIBS='$(LINK_LIBS) $(LDFLAGS_ALL) $(LIBS_LINK)' \
	    python3 tools/mutate.py --room $(ROOM) --by $(or $(BY),tests) --sample $(or $(SAMPLE),400) --seed $(or $(SEED),1) \
	    $(if $(FILE),--file $(FILE)) --jobs $(or $(JOBS),2)

.PHONY: asserts
asserts: ## assertions for each function, by folder
	@tools/asserts.py

.PHONY: fuzz fuzz-run
fuzz: ## fuzz every parser for SECONDS_EACH seconds, beginning with its corpus
	@$(MAKE) --no-print-directory CC=clang OPTIMIZE=-O1 SANITIZE=fuzzer-no-link,address,undefined \
	    BUILD=build/fuzz fuzz-run SECONDS_EACH=$(SECONDS_EACH)

fuzz-run: $(FUZZ_PROGRAMS)
	@tools/fuzz.sh $(SECONDS_EACH) $(FUZZ_PROGRAMS)

# ---- measuring ---------------------------------------------------------------------------------
BENCH_SOURCES  := $(sort $(wildcard bench/bench_*.c))
BENCH_PROGRAMS = $(patsubst bench/%.c,$(BUILD)/bench/%,$(BENCH_SOURCES))

BENCH_SHARED = $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(BENCH_SOURCES),$(wildcard bench/*.c)))
$(BUILD)/bench/%: $(BUILD)/bench/%.o $(BENCH_SHARED) $(filter-out $(BUILD)/libcli.a,$(ROOM_LIBS))
	@$(CC) $(CFLAGS_ALL) -o $@ $< $(BENCH_SHARED) $(LINK_LIBS) $(LDFLAGS_ALL) $(LIBS_LINK)

bench: deps ## measure; ONLY=sim for one group; writes build/bench.json
	@$(MAKE) --no-print-directory OPTIMIZE=-O3 BUILD=build/bench bench-run ONLY=$(ONLY)

.PHONY: bench-run
bench-run: picklock $(BENCH_PROGRAMS) $(SHIMS)
	@tools/bench.sh $(BUILD) $(ONLY)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

# ---- installing, packages ------------------------------------------------------------------------
include tools/install.mk

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

clean: ## remove everything that was built
	rm -rf build picklock picklock.schema.json
