# install.mk: where everything goes, the lock core as a library, and what `make install` puts there.
# A packager sets PREFIX, LIBDIR and DESTDIR; CFLAGS and LDFLAGS reach every rule.
PREFIX     ?= /usr/local
prefix_path = $(abspath $(PREFIX))
BINDIR     ?= $(prefix_path)/bin
LIBDIR     ?= $(prefix_path)/lib
LIBEXECDIR ?= $(prefix_path)/libexec
INCLUDEDIR ?= $(prefix_path)/include
DATADIR    ?= $(prefix_path)/share
DOCDIR     ?= $(DATADIR)/doc/picklock
MANDIR     ?= $(DATADIR)/man
BASHDIR    ?= $(DATADIR)/bash-completion/completions
ZSHDIR     ?= $(DATADIR)/zsh/site-functions
FISHDIR    ?= $(DATADIR)/fish/vendor_completions.d
OBJCOPY    ?= objcopy
READELF    ?= readelf

# The version stands in base/version.h and nowhere else; a library's first number is its soname.
VERSION = $(shell sed -n 's/.*PICKLOCK_VERSION "\(.*\)"/\1/p' base/version.h)
DATE    = $(shell sed -n 's/.*PICKLOCK_DATE *"\(.*\)"/\1/p' base/version.h)
SONAME  = liblockcore.so.$(firstword $(subst ., ,$(VERSION)))

# ---- the lock core as a library ------------------------------------------------------------------
# Public is what carries the mark, and what a public header needs.
PUBLIC_HEADERS = $(sort $(shell grep -rl '^LOCKCORE_API' --include='*.h' lockcore)) lockcore/api.h \
                 lockcore/drivers/lockcore.h base/result.h base/why.h

# An application gets the sound algorithms only.
$(BUILD)/install/algorithms.o: lockcore/algorithms.c
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS_ALL) -DLOCKCORE_SOUND_ONLY -MMD -MP -c $< -o $@

LIBRARY_SOURCES = $(filter-out lockcore/algorithms.c $(wildcard lockcore/*/wrong/*.c),$(call sources,lockcore)) \
                  $(call sources,base)
LIBRARY_OBJECTS = $(BUILD)/install/algorithms.o $(call objects,$(LIBRARY_SOURCES))
LIBRARY_LINK    = $(shell pkg-config --libs hiredis libuv)

$(BUILD)/install/liblockcore.a: $(LIBRARY_OBJECTS) tools/private_names.sh
	@rm -rf $@ $(BUILD)/install/static
	@OBJCOPY=$(OBJCOPY) READELF=$(READELF) tools/private_names.sh $(BUILD)/install/static $(LIBRARY_OBJECTS)
	@ar crsD $@ $(BUILD)/install/static/*.o

$(BUILD)/install/$(SONAME): $(LIBRARY_OBJECTS) lockcore/liblockcore.map
	@$(CC) $(CFLAGS_ALL) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=lockcore/liblockcore.map \
	    -Wl,--no-undefined -o $@ $(LIBRARY_OBJECTS) $(LDFLAGS_ALL) -Wl,--as-needed $(LIBRARY_LINK)

LIBRARIES = $(BUILD)/install/liblockcore.a $(BUILD)/install/$(SONAME)

# ---- the manual and the completions, from the tables that parse ----------------------------------
MANUAL      = $(addprefix $(BUILD)/manual/,picklock.1 picklock-scenario.5 picklock-history.5 lockcore.3)
COMPLETIONS = $(addprefix $(BUILD)/completions/,picklock.bash picklock.zsh picklock.fish)

$(BUILD)/manual/lockcore.3: tools/lockcore_manual.awk $(PUBLIC_HEADERS) base/version.h
	@mkdir -p $(@D)
	@awk -f $< -v date=$(DATE) lockcore/drivers/lockcore.h \
	    $(filter-out lockcore/drivers/lockcore.h lockcore/api.h,$(PUBLIC_HEADERS)) > $@

$(BUILD)/manual/%: $(BUILD)/picklock
	@mkdir -p $(@D)
	@$< manual $(basename $*) > $@

$(BUILD)/completions/picklock.%: $(BUILD)/picklock
	@mkdir -p $(@D)
	@$< completion $* > $@

.PHONY: manual
manual: $(MANUAL) $(COMPLETIONS) ## the manual pages and completions, into build/

# ---- what goes where: one table, for install and for uninstall -----------------------------------
INSTALL_PLACES = BUILD=$(BUILD) ROOT=$(DESTDIR) PREFIX=$(prefix_path) BINDIR=$(BINDIR) LIBDIR=$(LIBDIR) \
                 LIBEXECDIR=$(LIBEXECDIR) INCLUDEDIR=$(INCLUDEDIR) DATADIR=$(DATADIR) DOCDIR=$(DOCDIR) \
                 MANDIR=$(MANDIR) BASHDIR=$(BASHDIR) ZSHDIR=$(ZSHDIR) FISHDIR=$(FISHDIR) \
                 VERSION=$(VERSION) SONAME=$(SONAME)

.PHONY: libraries install-lib uninstall
libraries: $(LIBRARIES)

install-lib: $(LIBRARIES) $(BUILD)/manual/lockcore.3 ## install the library, its headers and lockcore.pc only
	@$(INSTALL_PLACES) PUBLIC_HEADERS="$(PUBLIC_HEADERS)" tools/install.sh install library

install: all $(LIBRARIES) $(MANUAL) $(COMPLETIONS) ## install to PREFIX (/usr/local), below DESTDIR
	@$(INSTALL_PLACES) PUBLIC_HEADERS="$(PUBLIC_HEADERS)" SHIMS="$(SHIMS)" \
	    tools/install.sh install library command
	@echo "installed picklock $(VERSION) and liblockcore to $(DESTDIR)$(prefix_path)"

uninstall: ## remove what `make install` put there
	@$(INSTALL_PLACES) PUBLIC_HEADERS="$(PUBLIC_HEADERS)" SHIMS="$(SHIMS)" \
	    tools/install.sh uninstall library command

.PHONY: example
example: ## build examples/guard_file.c by pkg-config, as a stranger would
	@$(MAKE) --no-print-directory install-lib PREFIX=$(abspath $(BUILD))/example DESTDIR=
	@PKG_CONFIG_PATH=$(abspath $(BUILD))/example/lib/pkgconfig; export PKG_CONFIG_PATH; \
	    $(CC) -std=c11 -Wall -Wextra -o $(BUILD)/example/guard_file examples/guard_file.c \
	    $$(pkg-config --cflags --libs lockcore) -Wl,-rpath,$(abspath $(BUILD))/example/lib
	@echo "built $(BUILD)/example/guard_file: $(BUILD)/example/guard_file FILE NODE..."

# ---- source and packages -------------------------------------------------------------------------
.PHONY: dist deb deps-deb
dist: ## the source as a tarball that builds without git, into build/
	@tools/dist.sh

deps-deb: # what building and trying the packages needs
	@tools/deps.sh $(PACKAGES_BUILD) $(PACKAGES_DEB)

.PHONY: deb-test
deb-test: deps-deb ## build the packages twice, install them in an empty system, use and purge them
	@PACKAGES_EMPTY="$(PACKAGES_EMPTY)" python3 tests/packages/run.py deb

deb: deps-deb ## the Debian packages picklock, liblockcore0 and liblockcore-dev, into build/deb
	@tools/deb.sh

# ---- tools of the package registries, for tests alone -------------------------------------------
# Pinned here, taken from PyPI into a folder of their own; a test that misses one says so.
PIP_TOOLS = check-jsonschema==0.39.0 kubernetes-validate==1.37.0 yamllint==1.38.0
VENV      = build/tools/venv

$(VENV)/done: tools/install.mk
	@mkdir -p $(@D)
	@python3 -m venv $(VENV) && $(VENV)/bin/pip install --quiet --disable-pip-version-check $(PIP_TOOLS) \
	    && touch $@ || echo "tools: PyPI cannot be reached; what needs $(PIP_TOOLS) is skipped"

# From the Go module proxy; takes a Go that is younger than Debian's.
GO_TOOLS = github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 github.com/nektos/act@v0.2.89

build/tools/bin/done: tools/install.mk
	@mkdir -p $(@D)
	@for tool in $(GO_TOOLS); do GOBIN=$(abspath $(@D)) GOTOOLCHAIN=local go install $$tool 2>$(@D)/log || { \
	    echo "tools: $$tool cannot be had ($$(tail -n 1 $(@D)/log)); what needs it is skipped"; exit 0; }; done; touch $@

.PHONY: gate-test
gate-test: picklock ## the action, the job and the hook in the tools that run them: schemas, actionlint, act, git
	@tools/deps.sh $(PACKAGES_BUILD) $(PACKAGES_GATE)
	@$(MAKE) --no-print-directory $(VENV)/done build/tools/bin/done
	@python3 tests/gate/pipelines.py ./picklock

.PHONY: shard-test
shard-test: picklock ## shards run by GNU parallel, by a Slurm of one machine, and as the manifest for Kubernetes says
	@tools/deps.sh $(PACKAGES_BUILD) $(PACKAGES_SHARD)
	@$(MAKE) --no-print-directory $(VENV)/done
	@KUBERNETES_VALIDATE=$(abspath $(VENV))/bin/kubernetes-validate python3 tests/shards/engines.py ./picklock
