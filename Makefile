# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# The common commands: `make help` lists the targets. cmake --preset does the same with
# more options (CMakePresets.json).
#
#   BUILD=dir       where to build (build)          NO_INSTALL=1  install no packages
#   DEMO='--serve'  arguments of cpt demo           WERROR=ON     warnings are errors
#   TRIES=1         for each system test (2)        PREFIX= DESTDIR= SHARED=OFF  install
#   CPT_TASKFLOW_INCLUDE=dir  its headers, for the comparison by make bench

BUILD ?= build
BUILD_TYPE ?= RelWithDebInfo
WERROR ?= OFF
PREFIX ?= /usr/local
SHARED ?= ON
TRIES ?= 2
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

# Debian packages, by what needs them.
BUILD_PACKAGES = gcc libc6-dev cmake ninja-build pkg-config nanopb libnanopb-dev \
	libcbor-dev libevent-dev zlib1g-dev libzstd-dev libpcre2-dev libjansson-dev \
	libcurl4-openssl-dev,libcurl4-gnutls-dev,libcurl4-nss-dev
TEST_PACKAGES = g++ libsimdjson-dev libcunit1-dev golang-go graphviz curl clang-format \
	libssl-dev openssl
LONG_PACKAGES = clang libclang-rt-14-dev clang-tidy build-essential debhelper dpkg-dev \
	fakeroot spin libgrpc-dev
# Programs for some long tests, which are skipped without them.
OTHER_PACKAGES = chromium clickhouse-server zsh fish prometheus python3-prometheus-client \
	haproxy apache2-bin varnish squid postgresql python3-grpcio python3-requests $(LANGUAGE_PACKAGES)
# What make demo-languages shows: gRPC, a proxy, Node.
LANGUAGE_PACKAGES = libgrpc-dev libgrpc++-dev libprotobuf-dev protobuf-compiler-grpc \
	nginx-light nodejs
# What make demo-events starts.
EVENT_PACKAGES = nginx-light haproxy postgresql python3
# Compilers for other architectures, whose tests run under qemu.
CROSS_PACKAGES = gcc-s390x-linux-gnu libc6-dev-s390x-cross gcc-aarch64-linux-gnu \
	libc6-dev-arm64-cross qemu-user
# The peers of the benchmarks.
BENCH_PACKAGES = g++ libtbb-dev nginx-light libmicrohttpd-dev libh2o-evloop-dev

CONFIGURE = cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=$(BUILD_TYPE) \
	-DCPT_WERROR=$(WERROR)

# $(call run_tests,how to call ctest): system tests run after the others and alone, as some
# measure time, and up to TRIES times if they fail. What fails hides nothing behind it.
run_tests = failed=0; \
	$(1) -E '^system_' -j $(JOBS) || failed=1; \
	$(1) -R '^system_' -j $(JOBS) --repeat until-pass:$(TRIES) || failed=1; \
	[ $$failed = 0 ]

# The parts of test-all behind `make test`, with the packages last: they repeat what has
# passed. Each is a target.
LONG_TESTS = test-long test-asan test-tsan test-fuzz test-packages

.PHONY: help build conformance demo demo-languages demo-events test test-all $(LONG_TESTS) list-tests long-packages soak \
	first-day bench install uninstall clean
.NOTPARALLEL:
.DEFAULT_GOAL = help

help:
	@echo "make build     the libraries, and the tool as $(BUILD)/cpt"
	@echo "make demo      three services, their critical paths, and the diff of two profiles"
	@echo "make conformance  $(BUILD)/cpt-conformance: does another implementation read and write the format?"
	@echo "make demo-languages  one path through C, grpc++, Python, Node and nginx"
	@echo "make demo-events  paths, the culprit and what has changed, from logs alone: nginx, HAProxy, PostgreSQL"
	@echo "make test      all tests but the long ones"
	@echo "make test-all  also $(LONG_TESTS)"
	@echo "make soak      the long figures whole: an hour or more"
	@echo "make first-day demo and test on a new Debian, in a chroot"
	@echo "make bench     the benchmarks of tests/bench, also as $(BUILD)/bench.json"
	@echo "make install   to PREFIX=$(PREFIX), below DESTDIR if that is set"
	@echo "make uninstall  removes what make install has put there, with the same PREFIX, DESTDIR"
	@echo "make clean     remove the build folder"

build:
	@sh cmake/packages.sh $(BUILD_PACKAGES)
	$(CONFIGURE) -DCPT_BUILD_TESTS=OFF
	cmake --build $(BUILD)

# docs/conformance.md: another implementation of the format is tried.
conformance:
	@sh cmake/packages.sh $(BUILD_PACKAGES)
	$(CONFIGURE) -DCPT_BUILD_TESTS=OFF
	cmake --build $(BUILD) --target cpt-conformance

demo: build
	$(BUILD)/cpt demo $(DEMO)

demo-languages:
	@sh cmake/packages.sh $(BUILD_PACKAGES) $(TEST_PACKAGES) $(LANGUAGE_PACKAGES)
	$(CONFIGURE) -DCPT_BUILD_TESTS=ON
	cmake --build $(BUILD) --target cpt grpc_chain chain_service
	mkdir -p $(BUILD)/demo-languages
	cd $(BUILD)/demo-languages && sh $(CURDIR)/tests/interop/chain_all.sh $(CURDIR) \
		$(abspath $(BUILD))

demo-events: build
	@sh cmake/packages.sh $(EVENT_PACKAGES)
	mkdir -p $(BUILD)/demo-events
	cd $(BUILD)/demo-events && sh $(CURDIR)/tests/interop/demo_events.sh $(CURDIR) $(abspath $(BUILD))

test:
	@sh cmake/packages.sh $(BUILD_PACKAGES) $(TEST_PACKAGES)
	$(CONFIGURE) -DCPT_BUILD_TESTS=ON
	cmake --build $(BUILD)
	$(call run_tests,ctest --test-dir $(BUILD) -LE 'long|soak' --output-on-failure --no-tests=error)

test-all: test $(LONG_TESTS)

# For .ci/run, which measures each.
list-tests:
	@echo test $(LONG_TESTS)

long-packages:
	@sh cmake/packages.sh $(BUILD_PACKAGES) $(TEST_PACKAGES) $(LONG_PACKAGES)
	@sh cmake/packages.sh $(OTHER_PACKAGES) || echo "cpt: continuing without them" >&2

test-long: long-packages
	$(CONFIGURE) -DCPT_BUILD_TESTS=ON
	cmake --build $(BUILD)
	$(call run_tests,ctest --test-dir $(BUILD) -L 'long|grpc' -LE 'packages|soak' \
		--output-on-failure)

test-packages: long-packages
	@sh cmake/packages.sh $(CROSS_PACKAGES) || echo "cpt: continuing without them" >&2
	$(CONFIGURE) -DCPT_BUILD_TESTS=ON
	ctest --test-dir $(BUILD) -L packages -j $(JOBS) --output-on-failure

# The sanitizers, AddressSanitizer by the other compiler; each is a preset of
# CMakePresets.json, which says by name which tests it is for, so these are not chosen by
# name here. Labels are: of those that a preset and the command leave out, ctest leaves out
# only what both name.
test-asan test-tsan: test-%: long-packages
	cmake --preset $*
	cmake --build --preset $*
	failed=0; \
	ctest --preset $* -LE 'check|long|soak|system' -j $(JOBS) || failed=1; \
	ctest --preset $* -L system -LE 'check|long|soak' -j $(JOBS) --repeat until-pass:$(TRIES) || failed=1; \
	[ $$failed = 0 ]

test-fuzz: long-packages
	cmake --preset fuzz -DCPT_FUZZ_SEED=$(or $(CPT_TEST_SEED),0)
	cmake --build --preset fuzz
	ctest --preset fuzz -j $(JOBS)

# What runs in CI at a twentieth, whole.
soak: long-packages
	$(CONFIGURE) -DCPT_BUILD_TESTS=ON
	cmake --build $(BUILD)
	ctest --test-dir $(BUILD) -L soak --output-on-failure
	cmake --preset fuzz -DCPT_FUZZ_SECONDS=300
	cmake --build --preset fuzz
	ctest --preset fuzz -j $(JOBS)
	cmake --preset fuzz -UCPT_FUZZ_SECONDS

# The two commands of the README where nothing is installed. As root, for debootstrap.
first-day:
	@sh cmake/packages.sh debootstrap
	sh tests/checks/first_day.sh . root
	sh tests/checks/first_day.sh . user

# Peers of BENCH_PACKAGES that cannot be installed are left out.
bench:
	@sh cmake/packages.sh $(BUILD_PACKAGES) libcunit1-dev
	@sh cmake/packages.sh $(BENCH_PACKAGES) || echo "cpt: continuing without them" >&2
	mkdir -p $(BUILD)
	cmake -S . -B build-bench -G Ninja -DCMAKE_BUILD_TYPE=Release -DCPT_BUILD_BENCH=ON \
		-DCPT_BENCH_JSON=$(abspath $(BUILD))/bench.json \
		-DCPT_TASKFLOW_INCLUDE=$(CPT_TASKFLOW_INCLUDE)
	cmake --build build-bench --target bench

install:
	@sh cmake/packages.sh $(BUILD_PACKAGES)
	cmake -S . -B build-install -G Ninja -DCMAKE_BUILD_TYPE=Release \
		-DCPT_BUILD_TESTS=OFF -DBUILD_SHARED_LIBS=$(SHARED) \
		-DCMAKE_INSTALL_PREFIX=$(PREFIX)
	cmake --build build-install
	PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' sh cmake/installed.sh install build-install

uninstall:
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' sh cmake/installed.sh uninstall

clean:
	rm -rf $(BUILD) build-dev build-release build-asan build-tsan build-clang build-fuzz \
		build-bench build-install demo-out
