"""Reads a model's config.json from the Hugging Face hub: its local cache first, then the network.

The endpoint, token and offline switch are huggingface_hub's own variables (HF_ENDPOINT, HF_TOKEN,
HF_HUB_OFFLINE). The library is imported only here and only when a model is asked for.
"""

from __future__ import annotations

import json
import logging
import queue
import re
import socket
import threading
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from gpudiag.errors import GpudiagError

CONNECT_SECONDS = 3.0
ANSWER_SECONDS = 8.0
REMEMBERED_SECONDS = 30.0
MOST_REMEMBERED = 1_000

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_READERS = threading.BoundedSemaphore(4)
_FAILED: dict[str, tuple[float, str]] = {}


class HubError(GpudiagError):
    """The hub does not give the model's config; the message says why and what would do."""

    status = 404


@dataclass(frozen=True, slots=True)
class HubModel:
    """A config.json and, when the checkpoint has an index, the total bytes of its weights."""

    config: Any
    weights_bytes: int | None


def read_model(name: str) -> HubModel:
    """The model `name` (owner/model) as the hub has it. Raises HubError in one sentence."""
    path = _download(name, "config.json")
    if path is None:
        raise HubError(
            f"model: {name} has no config.json on the hub; give the path of one, or a catalogue name"
        )
    index = _download(name, "model.safetensors.index.json", optional=True)
    total = _json(index).get("metadata", {}).get("total_size") if index else None
    return HubModel(_json(path), int(total) if isinstance(total, (int, float)) else None)


def read_in_time(name: str, seconds: float = ANSWER_SECONDS) -> HubModel:
    """The same for those who cannot wait: within `seconds`, and a failure is remembered for a while.

    The library may retry for minutes; then it goes on in a thread of its own, of which there are few.
    """
    if not is_hub_id(name):
        raise HubError(f"model: {name!r:.80} is no Hugging Face id; it has the form owner/model")
    failed = _FAILED.get(name)
    if failed is not None and time.monotonic() < failed[0]:
        raise HubError(failed[1])
    if not _READERS.acquire(blocking=False):
        raise HubError(
            f"model: {name} cannot be read now, the hub is slow; ask again, or give its config.json"
        )
    told: queue.SimpleQueue[HubModel | HubError] = queue.SimpleQueue()
    threading.Thread(target=_read_aside, args=(name, told), name="gpudiag-hub", daemon=True).start()
    try:
        found = told.get(timeout=seconds)
    except queue.Empty:
        found = HubError(
            f"model: {name} is not in the catalogue, and the hub did not answer in {seconds:g} s; "
            "ask again, or give its config.json"
        )
    if isinstance(found, HubError):
        if len(_FAILED) >= MOST_REMEMBERED:
            _FAILED.clear()
        _FAILED[name] = (time.monotonic() + REMEMBERED_SECONDS, str(found))
        raise found
    return found


def _read_aside(name: str, told: queue.SimpleQueue[HubModel | HubError]) -> None:
    try:
        told.put(read_model(name))
    except HubError as error:
        told.put(error)
    except Exception as error:  # whatever the library or a broken cache raises, somebody waits for a word
        told.put(HubError(f"model: {name} cannot be read from the hub ({type(error).__name__})"))
    finally:
        _READERS.release()


def is_hub_id(name: str) -> bool:
    """Whether a name has the form owner/model: never a path, never an address."""
    return bool(_HUB_ID.fullmatch(name)) and ".." not in name and len(name) <= 96


def _download(name: str, file: str, optional: bool = False) -> str | None:
    from huggingface_hub import constants, hf_hub_download
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
    )

    try:
        return hf_hub_download(name, file, local_files_only=True)
    except HFValidationError:
        raise HubError(f"model: {name!r:.80} is no Hugging Face id; it has the form owner/model") from None
    except (LocalEntryNotFoundError, EntryNotFoundError):
        pass
    if constants.HF_HUB_OFFLINE or not _reachable(constants.ENDPOINT):
        if optional:
            return None
        raise HubError(_unreachable(name, constants.HF_HUB_OFFLINE))
    logging.getLogger("huggingface_hub").setLevel(
        logging.ERROR
    )  # its warnings would stand beside our sentence
    try:
        return hf_hub_download(name, file)
    except GatedRepoError:
        raise HubError(f"model: {name} is gated on the hub; accept its terms and set HF_TOKEN") from None
    except RepositoryNotFoundError:
        raise HubError(
            f"model: {name} is not on the hub, or is private; check the name or set HF_TOKEN"
        ) from None
    except LocalEntryNotFoundError:
        if optional:
            return None
        raise HubError(_unreachable(name, False)) from None
    except EntryNotFoundError:
        return None
    except (HfHubHTTPError, OSError, ValueError):
        if optional:
            return None
        raise HubError(_unreachable(name, False)) from None


def _reachable(endpoint: str) -> bool:
    """Whether the hub takes connections; the library itself would retry for half a minute.

    Behind a proxy only the library can tell, so the answer is yes.
    """
    address = urlsplit(endpoint)
    if not address.hostname or getproxies().get(address.scheme):
        return True
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        with socket.create_connection((address.hostname, port), timeout=CONNECT_SECONDS):
            return True
    except OSError:
        return False


def _unreachable(name: str, offline: bool) -> str:
    why = "HF_HUB_OFFLINE is set" if offline else "the Hugging Face hub cannot be reached"
    where = "neither in the catalogue nor in the local hub cache"
    return f"model: {name} is {where}, and {why}; give its config.json"


def _json(path: str) -> Any:
    with open(path, encoding="utf-8") as handle:
        return json.load(handle)
