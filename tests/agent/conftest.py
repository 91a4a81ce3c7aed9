"""What the agent's tests share: a machine with GPUs, a host around them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudiag.client import Client
from tests.agent.loopback import Engine, Receiver
from tests.agent.machine import FakeHost
from tests.doubles.nvml import Nvml


@pytest.fixture
def nvml() -> Iterator[Nvml]:
    """Two idle H100."""
    with Nvml(gpus=2).load() as machine:
        yield machine
        machine.is_well_again()


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
    with Client(receiver.address, timeout=2.0) as client:
        yield client


@pytest.fixture
def engine() -> Iterator[Engine]:
    """An inference server."""
    engine = Engine()
    yield engine
    engine.close()
