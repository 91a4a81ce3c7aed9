"""Xid events of NVML: the second source, for hosts whose kernel log we may not read."""

from __future__ import annotations

from typing import Any

import pynvml

from gpudiag.agent.nvml.calls import Calls
from gpudiag.agent.nvml.device import Device
from gpudiag.agent.nvml.faults import CAUGHT
from gpudiag.agent.nvml.metrics import decoded

MOST_XIDS = 100  # taken at one look


class XidEvents:
    """A subscription to the critical errors of all GPUs; quietly none where the driver does not offer it."""

    def __init__(self) -> None:
        self._set: Any = None

    def watch(self, nvml: Calls, devices: list[Device]) -> None:
        """Subscribes, once."""
        if self._set is not None or not devices:
            return
        events = nvml.ask("nvmlEventSetCreate")
        if events is None:
            return
        for device in devices:
            if device.handle is not None:
                kind = pynvml.nvmlEventTypeXidCriticalError
                nvml.ask("nvmlDeviceRegisterEvents", device.handle, kind, events)
        self._set = events

    def take(self, nvml: Calls, devices: list[Device]) -> list[tuple[int | None, int]]:
        """(GPU index, Xid) of the errors since the last call; does not wait."""
        found: list[tuple[int | None, int]] = []
        while self._set is not None and len(found) < MOST_XIDS:
            try:
                event = nvml.make("nvmlEventSetWait_v2", self._set, 0)
            except CAUGHT:
                break  # a timeout: there is none
            uuid = decoded(nvml.ask("nvmlDeviceGetUUID", event.device))
            index = next((device.index for device in devices if device.uuid == uuid), None)
            found.append((index, int(event.eventData)))
        return found

    def free(self, nvml: Calls) -> None:
        """Ends the subscription."""
        if self._set is not None:
            nvml.ask("nvmlEventSetFree", self._set)
            self._set = None
