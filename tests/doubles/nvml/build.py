"""Compiles the double against NVIDIA's own nvml.h, once per content, into a cache outside the tree."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from . import layout

HERE = Path(__file__).parent
SOURCE = HERE / "nvml.c"


class CannotBuild(RuntimeError):
    """The double could not be compiled; the message carries the compiler's words."""


def library(hidden: frozenset[str] = frozenset()) -> Path:
    """Where the built libnvidia-ml.so.1 lies.

    `hidden` functions are left out of its symbol table, so that a look-up fails as with an old driver.
    """
    folder = _cache_folder() / _fingerprint(hidden)
    built = folder / "libnvidia-ml.so.1"
    if not built.exists():
        _build(folder, hidden)
    return built


@cache
def functions() -> tuple[str, ...]:
    """Every function that nvml.h declares; a function's number is its place here."""
    return tuple(sorted(_prototypes()))


def header() -> Path:
    """The nvml.h of the PyPI package nvidia-nvml-dev-cu12."""
    for file in importlib.metadata.files("nvidia-nvml-dev-cu12") or []:
        if file.name == "nvml.h":
            return Path(str(file.locate()))
    raise CannotBuild("nvidia-nvml-dev-cu12 holds no nvml.h. Is it whole? pip install gpudiag[test]")


def compile_c(sources: list[Path], target: Path, *options: str) -> None:
    """Runs gcc, all warnings being errors."""
    command = ["gcc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations"]
    command += [f"-I{header().parent}", *options, "-o", str(target), *map(str, sources), "-lm"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise CannotBuild(f"{' '.join(command)}\n{result.stderr}")


def _build(folder: Path, hidden: frozenset[str]) -> None:
    unknown = hidden - set(functions())
    if unknown:
        raise CannotBuild(f"nvml.h declares no {', '.join(sorted(unknown))}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Built aside and moved into place, so that two test processes never see half a library.
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="building-") as name:
        aside = Path(name)
        (aside / "double.h").write_text(layout.c_header())
        (aside / "generated.h").write_text(_generated())
        (aside / "exports.map").write_text(_version_script(hidden))
        target = aside / "libnvidia-ml.so.1"
        compile_c(
            [SOURCE],
            target,
            f"-I{aside}",
            "-shared",
            "-fPIC",
            "-Wl,-soname,libnvidia-ml.so.1",
            f"-Wl,--version-script={aside / 'exports.map'}",
        )
        folder.mkdir(exist_ok=True)
        os.replace(target, folder / target.name)


@cache
def _prototypes() -> dict[str, str]:
    """Parameter lists of all functions in nvml.h, by name."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header().read_text(), flags=re.DOTALL)
    found = re.findall(r"^nvmlReturn_t DECLDIR (nvml\w+)\s*\(([^;]*?)\)\s*;", text, flags=re.MULTILINE)
    prototypes = {name: re.sub(r"\s+", " ", parameters).strip() for name, parameters in found}
    if not 300 < len(prototypes) < layout.FUNCTIONS:
        raise CannotBuild(f"found {len(prototypes)} functions in {header()}: has its form changed?")
    return prototypes


def _generated() -> str:
    """Function numbers, and an answer of NOT_SUPPORTED for each function that nvml.c does not write."""
    numbers = [f"    FUNCTION_{name} = {number}," for number, name in enumerate(functions())]
    source = SOURCE.read_text()
    written = set(re.findall(r"\b(nvml[A-Z]\w*)\s*[(,]", source))
    rest = [_unsupported(name, _prototypes()[name]) for name in functions() if name not in written]
    return "\n".join(["enum {", *numbers, "};", *rest]) + "\n"


def _unsupported(name: str, parameters: str) -> str:
    names = [] if parameters == "void" else [re.findall(r"\w+", part)[-1] for part in parameters.split(",")]
    unused = " ".join(f"(void){parameter};" for parameter in names)
    on_device = parameters.startswith("nvmlDevice_t ")
    gate = f"begin_device(FUNCTION_{name}, {names[0]})" if on_device else f"begin(FUNCTION_{name})"
    return (
        f"nvmlReturn_t {name}({parameters})\n"
        f"{{\n    {unused}\n    TRY({gate});\n    return NVML_ERROR_NOT_SUPPORTED;\n}}"
    )


def _version_script(hidden: frozenset[str]) -> str:
    shown = [name for name in (*functions(), "nvmlErrorString", "nvml_double_open") if name not in hidden]
    return "{ global: " + " ".join(f"{name};" for name in shown) + " local: *; };\n"


def _fingerprint(hidden: frozenset[str]) -> str:
    parts = [
        SOURCE.read_text(),
        Path(__file__).read_text(),
        layout.c_header(),
        header().read_text(),
        *sorted(hidden),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _cache_folder() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path(tempfile.gettempdir()) / f"gpudiag-{os.getuid()}"
    return Path(root) / "gpudiag-nvml-double"
