"""`nvidia-smi -q -x`: the XML of every document type, whole or cut.

Read with defusedxml: entities and document types other than nvidia-smi's own line are refused before anything
is resolved, and that line is taken away, not followed. A value counts when its element is closed, so a
document that ends early gives what came before.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from gpudiag.model import MigDevice
from gpudiag.smi import values as v
from gpudiag.smi.errors import RefusedXml
from gpudiag.smi.fields import REASON_BITS, XML
from gpudiag.smi.sheet import Draft, Row, Sheet
from gpudiag.smi.values import Absent

ROOT = "<nvidia_smi_log"
END = "</nvidia_smi_log>"
DEEPEST = 32
MOST_ELEMENTS = 250_000
MOST_DOCUMENTS = 64
_OURS = re.compile(r'<!DOCTYPEnvidia_smi_logSYSTEM"nvsmi_device_v\d{1,3}\.dtd">')  # without its blanks
_LONE_AMPERSAND = re.compile(r"&(?!(?:#\d{1,7}|#x[0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{0,31});)")
_REASON_PREFIX = ("clocks_event_reason_", "clocks_throttle_reason_")
_DULL = ("supported_clocks", "accounted_processes")  # long lists that nobody asks


def documents(text: str) -> tuple[list[str], str, bool]:
    """The XML documents of a text, each to its end or to where the next begins; the text without them; and
    whether there were more than are read, of which the last ones are."""
    found, rest = [], []
    at, after, too_many = text.find(ROOT), 0, text.count(ROOT) > MOST_DOCUMENTS
    if too_many:
        at = len(text)
        for _ in range(MOST_DOCUMENTS):
            at = text.rfind(ROOT, 0, at)
        after = at
    while at >= 0:
        following = text.find(ROOT, at + len(ROOT))
        end = text.find(END, at, following if following >= 0 else len(text))
        stop = end + len(END) if end >= 0 else following if following >= 0 else len(text)
        found.append(text[at:stop])
        rest.append(text[after:at])
        at, after = following, stop
    return found, "\n".join([*rest, text[after:]]), too_many


def refuse_declarations(text: str) -> None:
    """Raise RefusedXml where the text declares entities, or a document type that is not nvidia-smi's."""
    if "<!ENTITY" in text:
        raise RefusedXml
    at = text.find("<!DOCTYPE")
    while at >= 0:
        declared, closed, _ = text[at : at + 300].partition(">")
        if not closed and at + 300 >= len(text):
            return  # the text ends inside it: there is no document behind
        head = "".join(declared.split()) + ">"
        of_smi = "nvidia_smi_log" in head or ROOT in text
        if of_smi and not _OURS.match(head) and not head.lower().startswith("<!doctypehtml"):
            raise RefusedXml
        at = text.find("<!DOCTYPE", at + 9)


def read(document: str) -> Sheet:
    """One document as one sample; wrapped lines are joined when it cannot be read without."""
    sheet = _read(document)
    if "document" in sheet.missing and END in document:
        joined = _read(_joined(document))
        return sheet if "document" in joined.missing else joined
    return sheet


def _joined(document: str) -> str:
    """The document with the lines joined that fill a terminal's width."""
    lines = document.split("\n")
    width = max(map(len, lines))
    return "".join(line if len(line) == width else f"{line}\n" for line in lines)


def _read(document: str) -> Sheet:
    target = _Target()
    parser = DefusedXMLParser(target=target, forbid_dtd=True, forbid_entities=True, forbid_external=True)
    body = _LONE_AMPERSAND.sub("&amp;", _without_dull_parts(document))
    whole = True
    try:
        parser.feed(body)
        parser.close()
    except ParseError:
        whole = False
    except DefusedXmlException as refused:
        raise RefusedXml from refused
    return target.sheet_of(whole)


def _without_dull_parts(document: str) -> str:
    for tag in _DULL:
        opening, closing = f"<{tag}>", f"</{tag}>"
        pieces, at = [], 0
        while True:
            start = document.find(opening, at)
            end = document.find(closing, start) if start >= 0 else -1
            if start < 0 or end < 0:
                break
            pieces.append(document[at:start])
            at = end + len(closing)
        document = "".join([*pieces, document[at:]]) if pieces else document
    return document


class _Target:
    """Takes the parser's calls and fills a sheet."""

    def __init__(self) -> None:
        self.sheet = Sheet("xml")
        self.path: list[str] = []
        self.text: list[str] = []
        self.gpu: Draft | None = None
        self.row: dict[str, str] | None = None
        self.mig: dict[str, str] | None = None
        self.elements = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.elements += 1
        if len(self.path) > DEEPEST or self.elements > MOST_ELEMENTS:
            raise ParseError("more than nvidia-smi writes")
        self.text.clear()
        self.path.append(tag)
        if tag == "gpu" and len(self.path) == 2:
            self.gpu = self.sheet.gpu_at(len(self.sheet.gpus))
            self.gpu.read("bus_id", v.bus_id, attributes.get("id", ""))
        elif tag == "process_info":
            self.row = {}
        elif tag == "mig_device":
            self.mig = {}
        elif tag == "processes":
            self.sheet.process_list = self.sheet.process_list or "empty"

    def data(self, text: str) -> None:
        self.text.append(text)

    def end(self, tag: str) -> None:
        text = "".join(self.text).strip()
        self.text.clear()
        path = self.path
        path.pop()
        if len(path) == 1 and tag != "gpu":
            self._head(tag, text)
        elif tag == "gpu":
            if self.gpu is not None:
                self.gpu.finish()
            self.gpu = None
        elif self.gpu is None:
            return
        elif self.row is not None:
            self._in_row(tag, text)
        elif self.mig is not None:
            self._in_mig(tag, text, path[-1])
        else:
            self._value(self.gpu, tag, text, path)

    def close(self) -> None:
        """The parser asks for it; the sheet is taken by `sheet_of`."""

    def _head(self, tag: str, text: str) -> None:
        if tag in ("driver_version", "kmd_version"):
            self.sheet.driver = self.sheet.driver or v.or_none(v.version, text)
        elif tag in ("cuda_version", "cuda_umd_version"):
            self.sheet.cuda = self.sheet.cuda or v.or_none(v.version, text)
        elif tag == "attached_gpus":
            self.sheet.announced = v.or_none(v.count, text)
        elif tag == "timestamp":
            self.sheet.at = v.moment(text)

    def _value(self, gpu: Draft, tag: str, text: str, path: list[str]) -> None:
        parent = path[-1]
        if tag == "processes" and text:
            self.sheet.process_list = "not_supported" if v.reason_of(text) else self.sheet.process_list
            return
        for prefix in _REASON_PREFIX:
            if tag.startswith(prefix):
                bit = REASON_BITS.get(tag.removeprefix(prefix))
                state = v.or_none(v.active, text)
                if bit and state is not None:
                    gpu.reason(bit, state)
                return
        if parent in ("volatile", "aggregate"):
            name = tag.replace("secded", "sec-ded")
            gpu.ecc(parent, name, v.or_none(v.count, text))
        elif (
            tag == "total"
            and parent in ("single_bit", "double_bit")
            and path[-2] in ("volatile", "aggregate")
        ):
            kind = "corrected" if parent == "single_bit" else "uncorrected"
            gpu.read(f"ecc_{kind}_{path[-2]}", v.count, text)
        field = XML.get(f"{parent}/{tag}") or XML.get(f"*{tag}")
        if field is not None and text:
            gpu.put(field, text)

    def _in_row(self, tag: str, text: str) -> None:
        row, gpu = self.row, self.gpu
        if row is None or gpu is None:
            return
        if tag != "process_info":
            row[tag] = text
            return
        self.row = None
        pid = v.or_none(v.count, row.get("pid", ""))
        if pid is None:
            return
        found = Row(
            pid=pid, gpu=gpu.index, name=row.get("process_name") or None, type=row.get("type") or None
        )
        try:
            found.memory = v.mib(row.get("used_memory", ""), True)
        except Absent as absent:
            found.memory_gap = absent.reason
        found.gpu_instance = v.or_none(v.count, row.get("gpu_instance_id", ""))
        found.compute_instance = v.or_none(v.count, row.get("compute_instance_id", ""))
        self.sheet.add(found)
        self.sheet.process_list = "listed"

    def _in_mig(self, tag: str, text: str, parent: str) -> None:
        device, gpu = self.mig, self.gpu
        if device is None or gpu is None:
            return
        if tag != "mig_device":
            device[f"{parent}/{tag}"] = text
            return
        self.mig = None
        at = "mig_device/"
        gpu.mig.append(
            MigDevice(
                index=v.or_none(v.count, device.get(at + "index", "")) or 0,
                gpu_instance=v.or_none(v.count, device.get(at + "gpu_instance_id", "")),
                compute_instance=v.or_none(v.count, device.get(at + "compute_instance_id", "")),
                uuid=v.or_none(v.uuid, device.get(at + "uuid", "")),
                memory_total_bytes=v.or_none(v.mib, device.get("fb_memory_usage/total", "")),
                memory_used_bytes=v.or_none(v.mib, device.get("fb_memory_usage/used", "")),
            )
        )

    def sheet_of(self, whole: bool) -> Sheet:
        """The sheet, with what is missing from it."""
        sheet = self.sheet
        if not whole:
            sheet.missing.add("document")
            if self.gpu is not None:
                self.gpu.finish()
                self.gpu.cut = True
            if sheet.process_list in (None, "empty", "listed"):
                sheet.process_list = "cut"
        return sheet
