# The house's commands. Each is a script with its own --help in its head; this file only names them.
#   make run     install what is missing, build, start private servers, migrate, seed, serve on 127.0.0.1:8080
#   make test    everything; make test PART=lint|unit|integration|chaos, PRESET=asan|tsan|release
#   make test-interop   ours against real Redisson jars and node-redisson (Java and Node are installed when missing)
#   make test-platforms   the same source on Debian 13, on MySQL with its own client library, and the image
#   make up      private MariaDB and Redis under .dev/ (writes .dev/env); make down stops them
#   make bench   the load table of docs/performance.md (ARGS=--quick for a smoke test)
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
PART ?= all

.PHONY: help run build test test-interop test-platforms lint format bench up down clean

help:
	@sed -n 's/^#   //p' Makefile

run:
	@exec deploy/run.sh

build:
	@deploy/packages.sh build
	@deploy/build.sh release lockstock

test:
	@exec tests/run.sh $(PART)

test-interop:
	@exec tests/interop/run.sh $(ARGS)

test-platforms:
	@exec tests/platforms.sh

lint:
	@exec tests/run.sh lint

format:
	@deploy/packages.sh lint
	@find service tests -name '*.[ch]' -print0 | xargs -0 clang-format -i

bench:
	@exec tests/bench/run.sh $(ARGS)

up:
	@deploy/packages.sh servers
	@deploy/dev.sh up

down:
	@deploy/dev.sh down

# The servers' data under .dev/ stays: it is kept work, not a product of the build.
clean:
	@rm -rf build
