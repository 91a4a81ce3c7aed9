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

from gpudiag.kv.errors import KvError
from gpudiag.kv.note import Note
from gpudiag.kv.weights import stated_bytes

CONNECT_SECONDS = 3.0
ANSWER_SECONDS = 8.0
REMEMBERED_SECONDS = 30.0
MOST_REMEMBERED = 1_000

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_READERS = threading.BoundedSemaphore(4)
_FAILED: dict[str, tuple[float, Note]] = {}


class HubError(KvError):
    """The hub does not give the model's config; the sentence says why and what would do."""

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
        raise HubError("refused-hub-config", name=name)
    try:
        index = _download(name, "model.safetensors.index.json")
    except HubError:  # the config answers without it
        index = None
    return HubModel(_json(path, name), stated_bytes(_json(index, name)) if index else None)


def read_in_time(name: str, seconds: float = ANSWER_SECONDS) -> HubModel:
    """The same for those who cannot wait: within `seconds`, and a failure is remembered for a while.

    The library may retry for minutes; then it goes on in a thread of its own, of which there are few.
    """
    if not is_hub_id(name):
        raise HubError("refused-hub-id", name=name)
    failed = _FAILED.get(name)
    if failed is not None and time.monotonic() < failed[0]:
        raise HubError(failed[1].key, **failed[1].values)
    if not _READERS.acquire(blocking=False):
        raise HubError("refused-hub-busy", name=name)
    told: queue.SimpleQueue[HubModel | HubError] = queue.SimpleQueue()
    threading.Thread(target=_read_aside, args=(name, told), name="gpudiag-hub", daemon=True).start()
    try:
        found = told.get(timeout=seconds)
    except queue.Empty:
        found = HubError("refused-hub-late", name=name, seconds=seconds)
    if isinstance(found, HubError):
        if len(_FAILED) >= MOST_REMEMBERED:
            _FAILED.clear()
        _FAILED[name] = (time.monotonic() + REMEMBERED_SECONDS, found.note)
        raise found
    return found


def _read_aside(name: str, told: queue.SimpleQueue[HubModel | HubError]) -> None:
    try:
        told.put(read_model(name))
    except HubError as error:
        told.put(error)
    except Exception as error:  # whatever the library or a broken cache raises, somebody waits for a word
        told.put(HubError("refused-hub-failed", name=name, why=type(error).__name__))
    finally:
        _READERS.release()


def is_hub_id(name: str) -> bool:
    """Whether a name has the form owner/model: never a path, never an address."""
    return bool(_HUB_ID.fullmatch(name)) and ".." not in name and len(name) <= 96


def _download(name: str, file: str) -> str | None:
    """The path of one file, in the local cache or got from the hub; None where the model has none such."""
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
        raise HubError("refused-hub-id", name=name) from None
    except (LocalEntryNotFoundError, EntryNotFoundError):
        pass
    if constants.HF_HUB_OFFLINE:
        raise HubError("refused-hub-offline", name=name)
    if not _reachable(constants.ENDPOINT):
        raise HubError("refused-hub-away", name=name)
    logging.getLogger("huggingface_hub").setLevel(
        logging.ERROR
    )  # its warnings would stand beside our sentence
    try:
        return hf_hub_download(name, file)
    except GatedRepoError:
        raise HubError("refused-hub-gated", name=name) from None
    except RepositoryNotFoundError:
        raise HubError("refused-hub-unknown", name=name) from None
    except LocalEntryNotFoundError:
        raise HubError("refused-hub-away", name=name) from None
    except EntryNotFoundError:
        return None
    except (HfHubHTTPError, OSError, ValueError):
        raise HubError("refused-hub-away", name=name) from None


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


def _json(path: str, name: str) -> Any:
    try:
        with open(path, encoding="utf-8-sig") as handle:
            return json.load(handle)
    except (ValueError, RecursionError, OSError) as error:
        raise HubError("refused-hub-failed", name=name, why=type(error).__name__) from None
