"""The playground: the calculator's numbers, and what the real rules say of them."""

import pytest

from gpudiag.examine import default_rules
from gpudiag.kv import KvError, Question, calculate
from gpudiag.simulator.playground import Play, PlayedMachine, Scene, scene_of, verdict_of


def scene(**values: object) -> Scene:
    return scene_of(Play.from_mapping(values))


def part(shown: Scene, name: str) -> int:
    return sum(p.bytes for p in shown.ledger.parts if p.part == name)


def filled(shown: Scene) -> int:
    return sum(p.filled_bytes or 0 for p in shown.ledger.parts)


def says(**values: object) -> tuple[str, str]:
    verdict = verdict_of(scene(**values), default_rules(), "en")
    return verdict["severity"], verdict["rule"]


def test_it_opens_nearly_full_and_idle() -> None:
    opened = scene()

    assert (opened.ledger.used_bytes or 0) / (opened.ledger.total_bytes or 1) > 0.9
    assert opened.utilization_percent == 0
    assert says() == ("ok", "kv-pool-reserved-idle")


def test_the_numbers_are_the_calculators() -> None:
    question = Question.from_mapping(
        {
            "model": "llama-2-7b",
            "gpu": "RTX-4090",
            "engine": "vllm",
            "gpu_memory_utilization": 0.92,
            "tokens": 1024,
        }
    )
    answer, opened = calculate(question).as_json(), scene()

    assert part(opened, "weights") == answer["weights_bytes"]
    assert part(opened, "kv_pool") == answer["budget"]["pool_bytes"]


def test_requests_fill_the_pool_and_the_card_does_not_notice() -> None:
    idle, busy = scene(), scene(sent=8)

    assert idle.ledger.used_bytes == busy.ledger.used_bytes
    assert filled(busy) == 8 * busy.answer["bytes_per_request"]
    assert busy.utilization_percent == 92


def test_requests_without_room_wait() -> None:
    crowded = scene(sent=1000)

    assert crowded.running == crowded.answer["largest_batch"]
    assert crowded.waiting == 1000 - crowded.running
    assert filled(crowded) <= part(crowded, "kv_pool")


def test_without_reservation_the_card_fills_with_every_request() -> None:
    one, two = scene(reserved=0, sent=1), scene(reserved=0, sent=2)

    grown = (two.ledger.used_bytes or 0) - (one.ledger.used_bytes or 0)
    assert grown == one.answer["bytes_per_request"]


def test_an_unloaded_card_is_free() -> None:
    assert scene(loaded=0).ledger.used_bytes == 0
    assert says(loaded=0) == ("ok", "gpu-free")


def test_what_does_not_fit_keeps_all_its_parts() -> None:
    large = scene(model="llama-3-70b")

    assert not large.fits
    assert part(large, "weights") == large.answer["weights_bytes"]
    assert large.ledger.over_capacity_bytes == (large.ledger.used_bytes or 0) - (
        large.ledger.total_bytes or 0
    )


def test_demand_beyond_the_card_overflows_without_reservation() -> None:
    crowded = scene(reserved=0, sent=100)

    assert not crowded.fits
    assert crowded.ledger.over_capacity_bytes == crowded.over_bytes > 0


def test_a_busy_server_is_called_busy() -> None:
    assert says(sent=8) == ("ok", "healthy-busy")


def test_a_state_survives_its_link() -> None:
    play = Play.from_mapping(
        {"model": "llama-3-8b", "gpu": "H100", "sent": "7", "reserved": "0", "tokens": "512"}
    )

    assert Play.from_mapping(play.as_query()) == play


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"model": "no-such-model"}, "no-such-model"),
        ({"gpu": "no-such-gpu"}, "gpu"),
        ({"engine": "ollama"}, "reserves no pool"),
        ({"tokens": "-1"}, "tokens"),
        ({"sent": "many"}, "requests"),
        ({"gpu_memory_utilization": "7"}, "gpu_memory_utilization"),
    ],
)
def test_a_wrong_state_is_one_sentence(wrong: dict[str, str], said: str) -> None:
    with pytest.raises(KvError) as refused:
        scene(**wrong)

    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_shown_minute_belongs_to_the_state() -> None:
    shown = PlayedMachine(scene(sent=8)).shown()

    assert len(shown) == 60
    assert all(80 <= utilization <= 100 for utilization, _ in shown)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [({"modle": "llama-3-8b"}, "'modle' is no option of the simulator"), ({"gpu": "2xH100"}, "several GPUs")],
)
def test_nothing_that_is_asked_is_passed_over(values: dict[str, str], sentence: str) -> None:
    with pytest.raises(KvError, match=sentence):
        scene(**values)
