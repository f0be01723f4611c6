# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# The short way in; cmake --preset does the same with more choice.
BUILD ?= build
PACKAGES = gcc g++ cmake ninja-build pkg-config libc6-dev nanopb libnanopb-dev \
	libcbor-dev libcunit1-dev libevent-dev zlib1g-dev golang-go graphviz curl clang \
	libclang-rt-14-dev clang-tidy clang-format

.PHONY: build test test-all packages
build: packages
	cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo
	cmake --build $(BUILD)

test: build
	ctest --test-dir $(BUILD) --output-on-failure --no-tests=error

test-all: test

packages:
	@sh cmake/packages.sh $(PACKAGES)
