# idem: idempotent business transactions for PostgreSQL. Built with PGXS; see CONTRIBUTING.md.

ifeq ($(wildcard idem.control),)
$(error run make in the folder of the sources; builds in another folder are not supported)
endif

EXTENSION       = idem
MODULE_big      = idem
EXTVERSION     := $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" idem.control)
OBJS            = $(patsubst %.cpp,%.o,$(sort $(wildcard extension/core/*.cpp extension/pg/*.cpp)))
DATA_built      = sql/idem--$(EXTVERSION).sql sql/idem--0.0.1--$(EXTVERSION).sql
DATA            = $(filter-out $(DATA_built),$(wildcard sql/idem--*.sql))
# What the scripts consist of. The update replaces the functions that 0.0.1 has, and adds what is new.
OLD_PARTS       = $(patsubst %,sql/parts/%.sql,calls ledger)
NEW_PARTS       = $(patsubst %,sql/parts/%.sql,batch write_path tables tenants duplicates audit_table audit stats)
SQL_PARTS       = sql/parts/outcome.sql $(OLD_PARTS) sql/parts/first_ledger.sql $(NEW_PARTS)
UPDATE_PARTS    = sql/parts/update.sql $(OLD_PARTS) $(NEW_PARTS)

# PGXS overrides a plain with_llvm = no and links with the C compiler.
override with_llvm = no
PG_CXXFLAGS     = -std=c++20 -fvisibility=hidden -Wall -Wextra -Wno-register -Wno-unused-parameter -DIDEM_VERSION='"$(EXTVERSION)"'
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

sql/idem--$(EXTVERSION).sql: $(SQL_PARTS) idem.control Makefile
	cat $(SQL_PARTS) >$@

sql/idem--0.0.1--$(EXTVERSION).sql: $(UPDATE_PARTS) idem.control Makefile
	sed 's/^CREATE FUNCTION/CREATE OR REPLACE FUNCTION/' $(OLD_PARTS) | cat sql/parts/update.sql - $(NEW_PARTS) >$@

# For developers; see CONTRIBUTING.md.

.PHONY: unit test test-matrix coverage mutants demo chaos fuzz bench bench-growth lint format version-check dist

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
	@test "$$(sed -n 's/^ *"version": "\(.*\)",*$$/\1/p' META.json | sort -u)" = "$(EXTVERSION)" || \
	  { echo "META.json does not say $(EXTVERSION) (twice)"; exit 1; }
	@test "$$(sed -n 's/^## \([0-9.]*\).*/\1/p' CHANGELOG.md | head -n 1)" = "$(EXTVERSION)" || \
	  { echo "CHANGELOG.md does not start with $(EXTVERSION)"; exit 1; }

# The archive that PGXN takes.
dist: version-check
	mkdir -p dist
	git archive --format=zip --prefix=idem-$(EXTVERSION)/ -o dist/idem-$(EXTVERSION).zip HEAD
