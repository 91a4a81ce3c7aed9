"""What the agent's tests share: a machine with GPUs, a host around them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudiag.client import Client
from tests.agent.loopback import Engine, Receiver
from tests.agent.machine import FakeHost
from tests.doubles.nvml import Nvml
from tests.waiting import PATIENCE_SECONDS, until


@pytest.fixture
def nvml() -> Iterator[Nvml]:
    """Two idle H100."""
    with Nvml(gpus=2).load() as machine:
        yield machine
        machine.is_well_again()
        until(lambda: not nvml_threads())  # one that comes back late would shut NVML down for the next test


def nvml_threads() -> list[str]:
    """The threads of agents that are still in the driver."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("nvml-")]


@pytest.fixture
def host(tmp_path: Path) -> FakeHost:
    root = tmp_path / "host"
    root.mkdir()
    return FakeHost(root)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """The API's side."""
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture
def client(receiver: Receiver) -> Iterator[Client]:
    with Client(receiver.address, timeout=PATIENCE_SECONDS) as client:
        yield client


@pytest.fixture
def engine() -> Iterator[Engine]:
    """An inference server."""
    engine = Engine()
    yield engine
    engine.close()
