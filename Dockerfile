# Two images. `services` has no database in it, and its command names a service: docker-compose.yml. `standalone` is
# `npm start` on embedded databases: docker-compose.embedded.yml. test/image/build.sh builds both.
ARG BASE=docker.io/library/node:24-bookworm-slim
FROM $BASE AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc tsconfig.json openapi.yaml ./
COPY contract contract
COPY shared shared
COPY clients clients
COPY console console
COPY services services
RUN npm ci && npm prune --omit=dev
COPY clickhouse clickhouse
# `tally doctor`, `tally accounts list`: docs/reference/commands.md.
RUN chmod +x dist/services/standalone/command.main.js

FROM build AS build-services
RUN npm prune --omit=dev --omit=optional

# Root owns all files, and the user may write only what a volume or /tmp gives.
FROM $BASE AS runtime
RUN groupadd --gid 10001 tally && useradd --uid 10001 --gid 10001 --no-create-home tally \
  && ln -s /app/dist/services/standalone/command.main.js /usr/local/bin/tally
WORKDIR /app
ENV HOST=0.0.0.0
ENTRYPOINT ["node", "--enable-source-maps"]

FROM runtime AS services
COPY --from=build-services /app .
# `migrate` locks a folder while it runs.
ENV DATA_DIR=/tmp/tally
USER 10001:10001
EXPOSE 8080 8081 9464 9465 9466 9467 9468

FROM runtime AS standalone
COPY --from=build /app .
RUN install --directory --owner=10001 --group=10001 --mode=700 /data
ENV DATA_DIR=/data UV_THREADPOOL_SIZE=16
USER 10001:10001
VOLUME /data
EXPOSE 8080 8123 9464
CMD ["dist/services/standalone/main.js"]
