# picklock in a container: the harness, and the agent of a node. `docker compose up` uses it for both.
#
# It needs no root, no capability, and nothing that it can write to but /tmp and the folder of results.
FROM debian:bookworm-slim AS builder
WORKDIR /src
RUN apt-get update && apt-get install -y --no-install-recommends make
COPY Makefile ./
COPY tools ./tools
RUN make deps-build
COPY . .
RUN make -j2 picklock && make install DESTDIR=/out PREFIX=/usr && strip /out/usr/bin/picklock

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends redis-server libhiredis0.14 libyaml-0-2 libuv1 libxxhash0 libjansson4 libzstd1 libssl3 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/* /usr/share/doc/*/changelog* /usr/share/man \
    && useradd --uid 1000 --no-create-home --home-dir /tmp picklock \
    && mkdir /results /work && chmod 1777 /results
COPY --from=builder /out/usr/bin/picklock /usr/bin/picklock
COPY --from=builder /out/usr/libexec/picklock /usr/libexec/picklock
COPY --from=builder /out/usr/share/picklock /usr/share/picklock
COPY deploy/cluster.yaml /etc/picklock/cluster.yaml
ENV PICKLOCK_OUT=/results HOME=/tmp
USER 1000:1000
WORKDIR /work
ENTRYPOINT ["picklock"]
CMD ["--help"]
