# Tally: `npm start` on its embedded databases, or one of its services by another command (docker-compose.yml). Our tests
# cannot build this image.
FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc tsconfig.json openapi.yaml ./
COPY contract contract
COPY shared shared
COPY clients clients
COPY console console
COPY services services
RUN npm ci && npm prune --omit=dev

FROM node:22-bookworm-slim
RUN useradd --system --create-home tally && install --directory --owner tally /data
WORKDIR /app
COPY --from=build /app .
COPY clickhouse clickhouse
# `tally doctor`, `tally accounts list`: docs/reference/commands.md.
RUN chmod +x dist/services/standalone/command.main.js \
  && ln -s /app/dist/services/standalone/command.main.js /usr/local/bin/tally
USER tally
ENV HOST=0.0.0.0 DATA_DIR=/data
VOLUME /data
EXPOSE 8080 8081 8123 9464 9465 9466
CMD ["npm", "start"]
