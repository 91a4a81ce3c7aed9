"""Pictures as SVG: what is drawn, and that nothing is cut or invented."""

import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import resvg_py

from gpudiag.charts import Series, bar_words, memory_bar_svg, timeline_svg

GIB = 1 << 30
SVG = "{http://www.w3.org/2000/svg}"


def ledger(*parts: tuple[str, int], total: int = 80 * GIB, filled: int | None = None) -> dict[str, Any]:
    held = sum(size for _, size in parts)
    return {
        "total_bytes": total,
        "free_bytes": max(0, total - held),
        "driver_reserved_bytes": None,
        "parts": [
            {"part": part, "bytes": size, "filled_bytes": filled if part == "kv_pool" else None}
            for part, size in parts
        ],
        "over_capacity_bytes": max(0, held - total),
    }


def rects(svg: str, name: str) -> list[tuple[float, float]]:
    """(x, width) of the boxes of one class."""
    found = ElementTree.fromstring(svg).iter(f"{SVG}rect")
    return [
        (float(r.attrib["x"]), float(r.attrib["width"])) for r in found if r.attrib["class"] == f"c-{name}"
    ]


def paths(svg: str, name: str) -> list[str]:
    return [p.attrib["d"] for p in ElementTree.fromstring(svg).iter(f"{SVG}path") if p.get("class") == name]


def test_parts_stand_side_by_side_in_proportion() -> None:
    svg = memory_bar_svg(ledger(("weights", 20 * GIB), ("runtime", 10 * GIB)), width=400)

    assert rects(svg, "weights") == [(0.0, 100.0)]
    assert rects(svg, "runtime") == [(100.0, 50.0)]


def test_what_requests_use_lies_inside_the_pool() -> None:
    svg = memory_bar_svg(ledger(("weights", 20 * GIB), ("kv_pool", 40 * GIB), filled=10 * GIB), width=400)

    assert rects(svg, "kv-pool") == [(100.0, 200.0)]
    assert rects(svg, "kv-filled") == [(100.0, 50.0)]


def written(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_a_part_with_room_bears_its_name_so_that_no_colour_is_needed() -> None:
    svg = memory_bar_svg(
        ledger(("weights", 60 * GIB), ("runtime", 1 * GIB), ("kv_pool", 10 * GIB)), width=600
    )

    assert written(svg) == ["weights 60.0 GiB", "KV pool", "free"]


def test_no_name_is_written_into_what_exceeds_the_card() -> None:
    svg = memory_bar_svg(ledger(("weights", 10 * GIB), ("kv_pool", 30 * GIB), total=24 * GIB), width=600)

    assert written(svg) == ["weights 10.0 GiB", "card: 24.0 GiB", "16.0 GiB over"]


def test_overflow_stands_beyond_the_cards_edge_with_its_amount() -> None:
    svg = memory_bar_svg(ledger(("weights", 30 * GIB), total=24 * GIB), width=400)

    assert rects(svg, "weights") == [(0.0, 400.0)]
    assert rects(svg, "over") == [(320.0, 80.0)]
    assert "6.0 GiB over" in svg


def test_a_missing_sample_breaks_the_curve_and_is_not_zero() -> None:
    points = [(0.0, 50.0), (10.0, 50.0), (20.0, None), (30.0, 50.0), (40.0, 50.0)]
    svg = timeline_svg([Series("util", points)], start=0, end=40, title="t")

    assert len(paths(svg, "s-line")) == 2


def test_a_long_pause_breaks_the_curve() -> None:
    points = [(float(at), 50.0) for at in (*range(0, 100, 10), *range(300, 400, 10))]
    svg = timeline_svg([Series("util", points)], start=0, end=400, title="t")

    assert len(paths(svg, "s-line")) == 2


def test_nothing_known_draws_no_curve() -> None:
    svg = timeline_svg([Series("util", [(0.0, None)])], start=0, end=60, title="t")

    assert paths(svg, "s-line") == []


def test_a_pictures_words_tell_what_is_seen() -> None:
    words = bar_words(ledger(("weights", 20 * GIB), ("other_process", 10 * GIB)))

    assert words == "weights 20.0 GiB, other process 10.0 GiB, free 50.0 GiB"


def test_what_is_not_known_to_be_free_is_not_called_so() -> None:
    known = ledger(("weights", 20 * GIB))

    assert written(memory_bar_svg(known | {"free_bytes": None}, width=600)) == ["weights 20.0 GiB"]
    assert bar_words(known | {"free_bytes": None}) == "weights 20.0 GiB"


def test_foreign_text_cannot_leave_its_place() -> None:
    svg = timeline_svg([Series("<script>&", [(0.0, 1.0), (1.0, 2.0)])], start=0, end=1, title='"><script>')

    assert not list(ElementTree.fromstring(svg).iter(f"{SVG}script"))


def test_a_renderer_without_style_sheets_draws_it() -> None:
    svg = memory_bar_svg(ledger(("weights", 20 * GIB)), language="ko")

    assert bytes(resvg_py.svg_to_bytes(svg_string=svg)).startswith(b"\x89PNG")


def test_every_colour_is_an_attribute() -> None:
    svg = memory_bar_svg(ledger(("weights", 20 * GIB)))

    assert "style=" not in svg
    assert all("fill=" in tag or "stroke=" in tag for tag in re.findall(r"<(?:rect|text|line)[^>]*>", svg))
