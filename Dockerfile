# The image of the service: built from this tree, run by a numeric user on a read-only root. Nothing but the binary and
# the shared libraries it names is added to the slim base; the schema and the scripts are inside the binary.
#   docker build -t lockstock .
FROM debian:trixie-slim AS build
WORKDIR /src
COPY deploy/packages.sh deploy/packages.sh
RUN deploy/packages.sh build
COPY CMakeLists.txt CMakePresets.json ./
COPY cmake cmake
COPY api api
COPY sql sql
COPY service service
RUN cmake --preset release -DLOCKSTOCK_TESTS=OFF \
    && cmake --build --preset release --target lockstock \
    && strip --strip-debug build/lockstock

FROM debian:trixie-slim
RUN export DEBIAN_FRONTEND=noninteractive \
    && apt-get update \
    && apt-get install -y --no-install-recommends \
        libcurl4t64 libhiredis1.1.0 libjansson4 libmariadb3 libmicrohttpd12t64 librdkafka1 libssl3t64 libuv1t64 \
    && apt-get clean && rm -rf /var/lib/apt/lists/* /var/cache/debconf/* /var/log/*
COPY --from=build /src/build/lockstock /usr/local/bin/lockstock
COPY LICENSE /usr/share/doc/lockstock/LICENSE
# Beyond loopback the service asks for LOCKSTOCK_TOKENS_FILE or LOCKSTOCK_ALLOW_ANONYMOUS=1: neither is set here.
ENV LOCKSTOCK_LISTEN=0.0.0.0:8080
USER 65532:65532
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 CMD ["lockstock", "healthcheck"]
ENTRYPOINT ["lockstock"]
CMD ["serve"]
