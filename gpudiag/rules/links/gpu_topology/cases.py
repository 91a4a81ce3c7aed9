"""Situations of gpu-topology and its look-alikes."""

from gpudiag.model import GpuReading
from gpudiag.rule import Case
from gpudiag.rules.pastes import sample, shown
from gpudiag.window import Window


def _joined(*rows: str, nics: str = "", name: str | None = None) -> Window:
    """Rows of a matrix; `nics` has one word a GPU: how far its nearest network card is."""
    gpus = []
    for index, row in enumerate(rows):
        how = {f"GPU{peer}": cell for peer, cell in enumerate(row.split()) if peer != index}
        if nics:
            how["NIC0"] = nics.split()[index]
        gpus.append(GpuReading(index=index, joined=how, name=name))
    return sample(*gpus, formats=["topology"], missing=["state"])


def _mesh(gpus: int, links: str = "NV18", **changed: str) -> list[str]:
    """Every GPU joined to every other; `g3="SYS"` is how GPU 3 is joined to all."""
    special = {int(name[1:]): how for name, how in changed.items()}
    return [
        " ".join("X" if a == b else special.get(a) or special.get(b) or links for b in range(gpus))
        for a in range(gpus)
    ]


CASES = [
    Case("one GPU of eight has no NVLink", lambda: _joined(*_mesh(8, g5="SYS")), "fires",
         gpu=None, severity="warning", confidence="likely"),
    Case("one GPU of eight has fewer links than the others", lambda: _joined(*_mesh(8, g2="NV17")), "fires",
         gpu=None, severity="warning", variant="fewer"),
    Case("boards made for NVLink show none", lambda: _joined("X SYS", "SYS X", name="NVIDIA H100 80GB HBM3"),
         "fires", gpu=None, severity="warning", confidence="possible", variant="missing"),
    Case("two pairs on two sockets", lambda: _joined("X PHB SYS SYS", "PHB X SYS SYS", "SYS SYS X PHB",
         "SYS SYS PHB X"), "fires", gpu=None, severity="info", variant="pcie"),
    Case("a bridge joins two of four cards", lambda: _joined("X NV4 SYS SYS", "NV4 X SYS SYS",
         "SYS SYS X SYS", "SYS SYS SYS X"), "fires", gpu=None, severity="info", variant="partly"),
    Case("half of the GPUs have no network card on their side", lambda: _joined(*_mesh(4),
         nics="PIX PXB SYS SYS"), "fires", gpu=None, severity="info", variant="nic"),
    Case("all are joined alike", lambda: _joined(*_mesh(8), nics="PIX " * 8), "fires", gpu=None,
         severity="info", variant="even"),
    Case("the chipset lets no GPU read another one's memory", lambda: _joined("X CNS", "CNS X"), "fires",
         gpu=None, severity="info", variant="peers"),
    Case("links of a cube are uneven by design", lambda: _joined("X NV1 NV2 SYS", "NV1 X SYS NV2",
         "NV2 SYS X NV1", "SYS NV2 NV1 X"), "fires", gpu=None, severity="info", variant="partly"),
    Case("peers may read each other's memory", lambda: _joined("X OK", "OK X"), "clear", gpu=None),
    Case("a table that shows no links", lambda: sample(shown(0), shown(1)), "clear", gpu=None),
]  # fmt: skip
