# idem: idempotent business transactions for PostgreSQL. Built with PGXS; see CONTRIBUTING.md.

ifeq ($(wildcard idem.control),)
$(error run make in the folder of the sources; builds in another folder are not supported)
endif

EXTENSION       = idem
MODULE_big      = idem
EXTVERSION     := $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" idem.control)
OBJS            = $(patsubst %.cpp,%.o,$(sort $(wildcard extension/core/*.cpp extension/pg/*.cpp)))
# The scripts of released versions stay as they are; those of a version in the making are joined from the parts.
RELEASED       := $(addprefix sql/,$(shell sed 's/.* //' sql/released.sha256))
RELEASES       := $(shell sed -n 's/.* idem--\([0-9.]*\)\.sql$$/\1/p' sql/released.sha256 | sort -V)
SCRIPT          = sql/idem--$(EXTVERSION).sql
UPDATE          = sql/idem--$(lastword $(filter-out $(EXTVERSION),$(RELEASES)))--$(EXTVERSION).sql
DATA_built      = $(filter-out $(RELEASED),$(SCRIPT) $(UPDATE))
DATA            = $(RELEASED)
SQL_PARTS       = $(patsubst %,sql/parts/%.sql,outcome calls ledger first_ledger batch write_path tables tenants \
                  duplicates audit_table audit stats)
# The update from the last release: sql/parts/update.sql, then parts whose functions it replaces, and parts that are new.
REPLACED_PARTS  = $(patsubst %,sql/parts/%.sql,calls ledger)
ADDED_PARTS     = $(patsubst %,sql/parts/%.sql,batch write_path tables tenants duplicates audit_table audit stats)
JOIN_SCRIPT     = cat $(SQL_PARTS)
JOIN_UPDATE     = { cat sql/parts/update.sql; sed 's/^CREATE FUNCTION/CREATE OR REPLACE FUNCTION/' $(REPLACED_PARTS); \
                  cat $(ADDED_PARTS); } </dev/null

# PGXS overrides a plain with_llvm = no and links with the C compiler.
override with_llvm = no
# The folder of the sources leaves no trace in the library.
PG_CXXFLAGS     = -std=c++20 -fvisibility=hidden -Wall -Wextra -Wno-register -Wno-unused-parameter \
                  -ffile-prefix-map='$(CURDIR)=.' -DIDEM_VERSION='"$(EXTVERSION)"'
SHLIB_LINK      = -lstdc++ -lcrypto

REGRESS         = $(patsubst regress/sql/%.sql,%,$(sort $(wildcard regress/sql/*.sql)))
REGRESS_OPTS    = --no-locale --encoding=UTF8 --inputdir=regress --load-extension=idem
ISOLATION       = $(patsubst regress/specs/%.spec,%,$(sort $(wildcard regress/specs/*.spec)))
ISOLATION_OPTS  = --no-locale --encoding=UTF8 --inputdir=regress --outputdir=. --load-extension=idem
TAP_TESTS       = 1
PROVE_TESTS     = regress/t/*.pl
EXTRA_CLEAN     = $(STAMP) build/test-results tools/fault_proxy client/cli/idem

PG_CONFIG      ?= pg_config
PGXS           := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
SERVER         := $(shell $(PG_CONFIG) --version --includedir-server 2>/dev/null)
STAMP           = extension/.server
ifneq ($(wildcard $(PGXS)),)
include $(PGXS)
else
all install installcheck:
	@echo "PostgreSQL's development files are missing: run scripts/setup build, or name a pg_config in PG_CONFIG." >&2
	@exit 1
endif

$(OBJS): $(wildcard extension/core/*.h extension/pg/*.h) Makefile idem.control $(STAMP)

# Objects serve one server only. The stamp tells which, and is out of date exactly when it names another one.
ifneq ($(SERVER),$(shell cat $(STAMP) 2>/dev/null))
.PHONY: $(STAMP)
endif
$(STAMP):
	@echo "$(SERVER)" >$@

ifneq ($(filter $(SCRIPT),$(DATA_built)),)
$(DATA_built): $(wildcard sql/parts/*.sql) idem.control Makefile sql/released.sha256
$(SCRIPT):
	$(JOIN_SCRIPT) >$@
$(UPDATE):
	$(JOIN_UPDATE) >$@
else
all: check-parts
endif

# The parts must still give the released scripts: nothing is installed that differs from what stands in sql/parts.
.PHONY: check-parts
check-parts:
	@$(JOIN_SCRIPT) | cmp -s - $(SCRIPT) && $(JOIN_UPDATE) | cmp -s - $(UPDATE) || \
	  { echo "sql/parts differs from the scripts of $(EXTVERSION), which are frozen; see Release in CONTRIBUTING.md." >&2; exit 1; }

# For developers; see CONTRIBUTING.md.

.PHONY: unit test test-matrix sanitize coverage mutants demo chaos fuzz bench bench-growth lint format version-check freeze dist package-test

# The GoogleTest suite of extension/core.
unit:
	cmake -S . -B build -DCMAKE_BUILD_TYPE=RelWithDebInfo -DIDEM_CLIENT=OFF
	cmake --build build -j2
	ctest --test-dir build --output-on-failure

# Everything, on a fresh machine too: installs what is missing, builds, installs, runs all suites.
test:
	@scripts/test

# How many lines of the extension and the client their own tests run; about 12 minutes.
coverage:
	@scripts/coverage

# Whether the tests notice when something is taken out of the extension.
mutants:
	@scripts/mutants

# The extension on PostgreSQL 15, 17 and 18, and pg_upgrade through them; VERSIONS="17 upgrade" chooses.
test-matrix:
	@scripts/matrix $(if $(JOBS),-j $(JOBS)) $(VERSIONS)

# The tests under AddressSanitizer, UndefinedBehaviorSanitizer, LeakSanitizer and ThreadSanitizer.
sanitize:
	@scripts/sanitize

demo:
	@scripts/demo

# Clients against servers that fail in every way. SEED=N repeats a run.
chaos:
	@scripts/chaos --faults $(or $(FAULTS),2000) $(if $(SEED),--seed $(SEED))

# Hours: an hour for each part, and as many queries as it takes. SECONDS=60 QUERIES=20000 is what CI does.
fuzz:
	@scripts/fuzz --seconds $(or $(SECONDS),3600) --queries $(or $(QUERIES),400000) $(if $(SEED),--seed $(SEED))

# make bench QUICK=1 takes less than 3 minutes; bench/README.md tells the rest.
bench:
	@scripts/bench $(if $(QUICK),--quick)

bench-growth:
	@scripts/bench --growth

tools/fault_proxy: $(wildcard tools/proxy/*.cpp tools/proxy/*.hpp)
	$(CXX) -std=c++20 -O2 -Wall -Wextra -o $@ $(filter %.cpp,$^)

lint: version-check
	@scripts/lint

format:
	clang-format -i $$(git ls-files '*.cpp' '*.h' '*.hpp')

# idem.control holds the version; every other place must agree with it.
version-check:
	@scripts/version-check

# Fixes the scripts of this version. Until its tag it can be done again.
freeze:
	@! git rev-parse -q --verify "refs/tags/v$(EXTVERSION)" >/dev/null || \
	  { echo "v$(EXTVERSION) has its tag: a released script never changes." >&2; exit 1; }
	$(JOIN_SCRIPT) >$(SCRIPT)
	$(JOIN_UPDATE) >$(UPDATE)
	cd sql && { sed '/--$(EXTVERSION)\.sql$$/d' released.sha256; \
	  sha256sum $(notdir $(SCRIPT) $(UPDATE)); } | LC_ALL=C sort -k 2 >released.new && mv released.new released.sha256
	git add -f sql/released.sha256 $(SCRIPT) $(UPDATE)

# The archive that PGXN takes. It holds what is committed, and the same commit gives the same archive.
dist: version-check
	@git diff --quiet HEAD || { echo "dist takes what is committed: commit your changes first." >&2; exit 1; }
	mkdir -p dist
	TZ=UTC git archive --format=zip -9 --prefix=idem-$(EXTVERSION)/ -o dist/idem-$(EXTVERSION).zip HEAD

# The archive for PGXN and the Debian packages: built, compared, installed and tried.
package-test:
	@scripts/package-test
