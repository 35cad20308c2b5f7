# Two images: `service` (REST, command line, migrations; no torch) and `worker` (the same with the learning code).
#     docker build --target service .      docker build --target worker .

FROM python:3.11-slim AS base
ENV PATH=/opt/venv/bin:$PATH \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_ROOT_USER_ACTION=ignore \
    PYTHONUNBUFFERED=1
WORKDIR /app

# The packages and the command `pairsift`, before the code, so that a change of code does not install them
# again. The code itself is not installed but found in /app, beside its migrations.
FROM base AS service-packages
RUN python -m venv /opt/venv
COPY pyproject.toml README.md LICENSE ./
COPY requirements/lock.txt requirements/
RUN pip install --constraint requirements/lock.txt .

FROM service-packages AS worker-packages
RUN pip install --constraint requirements/lock.txt ".[worker]"

FROM base AS runtime
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin pairsift \
    && install --directory --owner pairsift --group pairsift --mode 0700 /data
COPY . .
ENV HOME=/tmp \
    PAIRSIFT_HOST=0.0.0.0 \
    PAIRSIFT_PORT=8000 \
    PAIRSIFT_STORAGE=/data \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONPATH=/app
USER pairsift
VOLUME /data

FROM runtime AS worker
COPY --from=worker-packages /opt/venv /opt/venv
CMD ["pairsift", "worker"]

FROM runtime AS service
COPY --from=service-packages /opt/venv /opt/venv
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz', timeout=3)"]
CMD ["uvicorn", "--factory", "service.main:create_app", "--host", "0.0.0.0", "--port", "8000"]
