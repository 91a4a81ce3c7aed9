"""Reads a model's config.json from the Hugging Face hub: its local cache first, then the network.

The endpoint, token and offline switch are huggingface_hub's own variables (HF_ENDPOINT, HF_TOKEN,
HF_HUB_OFFLINE). The library is imported only here and only when a model is asked for.
"""

from __future__ import annotations

import json
import logging
import socket
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from gpudiag.errors import GpudiagError

CONNECT_SECONDS = 3.0


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
