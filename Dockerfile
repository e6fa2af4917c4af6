# The collector. `docker build --build-arg VERSION=0.1.0 --tag pldp .`; compose.yaml shows how it is run.
ARG PYTHON=3.13-slim-bookworm

FROM python:${PYTHON} AS build
WORKDIR /source
COPY requirements.lock ./
COPY .ci/build.lock .ci/
COPY deploy/install.sh deploy/
RUN ["deploy/install.sh", "dependencies", "/opt/pldp"]
COPY pyproject.toml README.md LICENSE ./
COPY .ci/version.py .ci/build_hook.py .ci/
COPY clients/js/src clients/js/src
COPY src src
# Git is not here to ask for the tag; without the argument the version is that of an unpacked archive.
ARG VERSION=""
ENV PLDP_BUILD_VERSION=${VERSION}
RUN ["deploy/install.sh", "package", "/opt/pldp"]

FROM python:${PYTHON}
RUN ["useradd", "--system", "--uid", "10001", "--user-group", "--no-create-home", "--home-dir", "/var/lib/pldp", "--shell", "/usr/sbin/nologin", "pldp"]
# hadolint ignore=DL3059
RUN ["install", "--directory", "--owner=pldp", "--group=pldp", "--mode=0700", "/var/lib/pldp"]
COPY --from=build /opt/pldp /opt/pldp
# Everything is compiled already, and the root file system may be read-only: only /var/lib/pldp and /tmp are written to.
ENV PATH=/opt/pldp/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PLDP_HOST=0.0.0.0 \
    PLDP_METRICS_HOST=0.0.0.0 \
    PLDP_METRICS_PORT=8301 \
    PLDP_LOG=json
USER 10001:10001
WORKDIR /var/lib/pldp
VOLUME ["/var/lib/pldp"]
EXPOSE 8300 8301
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["python", "-m", "pldp.collector.health"]
ENTRYPOINT ["pldp"]
CMD ["serve", "/etc/pldp/survey.json"]
