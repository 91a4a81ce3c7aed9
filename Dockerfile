# The server, the bot and the agent in one small image without CUDA: the agent finds libnvidia-ml.so.1
# where the container runtime mounts the host's driver.
#   tokens  docker run --rm -v gpudiag:/data gpudiag token create reader    (serve wants one first)
#   server  docker run -p 8000:8000 -v gpudiag:/data gpudiag serve --host 0.0.0.0
#   agent   docker run --gpus all --pid host --network host --user 0 --device /dev/kmsg:/dev/kmsg:r \
#             --cap-add SYSLOG --cap-add SYS_PTRACE --cap-add DAC_READ_SEARCH gpudiag agent --api URL
#           (the host's network, for its name and to reach its inference servers)
FROM python:3.13-slim AS build
WORKDIR /src
COPY requirements.lock pyproject.toml README.md ./
RUN python -m venv /opt/gpudiag && /opt/gpudiag/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
COPY gpudiag gpudiag
COPY api api
COPY bot bot
RUN /opt/gpudiag/bin/pip install --no-cache-dir --no-deps . \
    && /opt/gpudiag/bin/pip uninstall -y pip \
    && find /opt/gpudiag -name '*.pyc' -delete

FROM python:3.13-slim
RUN useradd --system --uid 10001 --create-home --home-dir /data gpudiag
COPY --from=build /opt/gpudiag /opt/gpudiag
ENV PATH=/opt/gpudiag/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    XDG_DATA_HOME=/data \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=utility
USER gpudiag
VOLUME /data
EXPOSE 8000
ENTRYPOINT ["gpudiag"]
CMD ["serve"]
