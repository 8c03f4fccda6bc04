# The image of Cubby: one executable on a base that has a C library and no shell. docs/deploying.md says how to run it.
#
#   docker build --tag cubby .

FROM --platform=$BUILDPLATFORM node:24-trixie-slim AS build
WORKDIR /src
COPY . .
RUN npm ci --omit=dev
ARG TARGETARCH
RUN npm run build:binary -- --target "linux-$(echo "$TARGETARCH" | sed 's/^amd64$/x64/')" --out /out \
 && mv /out/cubby-linux-* /out/cubby \
 && mkdir /out/data

FROM gcr.io/distroless/base-nossl-debian13:nonroot
COPY --from=build /out/cubby /usr/local/bin/cubby
COPY --from=build /out/LICENSES.txt /out/cubby.cdx.json /usr/share/doc/cubby/
# A new volume takes owner and mode of this directory.
COPY --from=build --chown=65532:65532 --chmod=0700 /out/data /data
# Standard output of a container is stored: no key may be printed there.
ENV CUBBY_DATA=/data CUBBY_HOST=0.0.0.0 CUBBY_NO_BOOTSTRAP=1
USER 65532:65532
VOLUME /data
EXPOSE 4600
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s --retries=3 CMD ["/usr/local/bin/cubby", "health"]
ENTRYPOINT ["/usr/local/bin/cubby"]
CMD ["serve"]
