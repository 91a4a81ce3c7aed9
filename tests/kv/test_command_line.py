"""`gpudiag kv` as it is typed, in a process of its own where that matters."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from gpudiag.cli import main
from tests.kv import configs


def run(*words, stdin=None, **environment):
    """One `gpudiag kv` in its own process: (exit code, standard output, standard error)."""
    code = "import sys; from gpudiag.cli import main; sys.exit(main(['kv', *sys.argv[1:]]))"
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        input=stdin,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


def test_a_question_as_it_is_typed(capsys):
    code = main(["kv", "llama-3-8b", "8192", "x32", "--gpu", "H100"])
    out = capsys.readouterr().out

    assert code == 0
    assert "32.00 GiB KV cache · 32 × 8,192 tokens · 1 × H100" in out
    assert "Fits" in out


def test_options_as_they_are_typed_in_a_chat(capsys):
    code = main(["kv", "llama-3-8b", "8k", "x32", "on", "h100", "tp=2", "kv=fp8", "max_num_seqs=64"])
    out = capsys.readouterr().out

    assert code == 0
    assert "8.00 GiB KV cache · 32 × 8,192 tokens · 2 × H100" in out
    assert "max_num_seqs 64" in out


@pytest.mark.parametrize(
    "how", [["on", "2xH100"], ["on", "2x", "h100"], ["on", "2×H100"], ["--gpu", "2xH100"]]
)
def test_a_number_before_the_gpu_is_how_many_there_are(capsys, how):
    assert main(["kv", "llama-3-70b", "8k", "x4", *how]) == 0
    assert "5.00 GiB KV cache · 4 × 8,192 tokens · 2 × H100" in capsys.readouterr().out


def test_an_option_may_be_typed_without_its_equals_sign(capsys):
    assert main(["kv", "llama-3-8b", "8k", "on", "H100", "engine", "vllm", "tp", "2", "kv", "fp8"]) == 0
    assert "256.00 MiB KV cache · 1 × 8,192 tokens · 2 × H100" in capsys.readouterr().out


def test_a_question_as_it_is_typed_in_a_chat(capsys):
    code = main(["kv", "llama-3-8b", "8k", "x32", "on", "h100"])

    assert code == 0
    assert "32.00 GiB KV cache · 32 × 8,192 tokens · 1 × H100" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["8k", "x32", "on", "H100", "80GB"],
        ["8k", "x", "32", "--gpu", "H100"],
        ["8k", "x32", "gpu", "H100"],
        ["8k", "x32", "on", "1xH100"],
        ["8k", "x32", "on", "1", "x", "H100", "80GB"],
        ["--gpu", "H100", "8k", "x32"],
        ["on", "H100", "80GB", "x32", "8k"],
        ["on", "H100", "80GB", "8k", "x32"],
        ["on", "H100", "8K", "x32"],
    ],
)
def test_words_come_in_any_order(capsys, words):
    code = main(["kv", "llama-3-8b", *words])

    assert code == 0
    assert "32.00 GiB KV cache · 32 × 8,192 tokens · 1 × H100" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["8k", "9k"], "tokens: given twice, 8k and 9k"),
        (["on", "H100", "--gpu", "H200"], "gpu: given twice, H200 and H100"),
        (["8k", "on"], "gpu: 'on' is not in the catalogue"),
        (["8k", "tp=2", "--tp", "4"], "tp: given twice, 4 and 2"),
        (["8k", "colour=red"], "'colour' is no option of the calculator"),
        (["model=qwen3-8b"], "model: given twice, llama-3-8b and qwen3-8b"),
        (["qwen3-8b"], "'qwen3-8b' is not understood here; write it as: gpudiag kv MODEL 8192 x32 on H100"),
        (["8k", "tokens"], "'tokens' is not understood here"),
        (["8k", "tp="], "tp: nothing is given for it"),
        (["8k", "--tp", ""], "tp: nothing is given for it"),
    ],
)
def test_words_that_contradict_or_end_too_early_are_refused(capsys, words, sentence):
    code = main(["kv", "llama-3-8b", *words])

    assert code == 2
    assert sentence in capsys.readouterr().err


def test_json_is_one_document_and_nothing_else(capsys):
    main(["kv", "llama-3-8b", "8192", "x32", "--gpu", "H100", "--json"])

    assert json.loads(capsys.readouterr().out)["total_bytes"] == 2**35


def test_korean_on_request(capsys):
    main(["kv", "llama-3-8b", "--lang", "ko"])

    assert "토큰당" in capsys.readouterr().out


@pytest.fixture
def config_file(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(configs.GEMMA_3_27B))
    return path


def test_a_path_and_a_folder_are_models_too(config_file, capsys):
    answers = []
    for model in (config_file, config_file.parent):
        main(["kv", str(model), "8192", "--json"])
        answers.append(json.loads(capsys.readouterr().out)["bytes_per_token"])

    assert answers == [81_920, 81_920]


def test_a_checkpoints_index_tells_its_weights(config_file, capsys):
    index = {"metadata": {"total_size": 54_864_000_000}, "weight_map": {}}
    (config_file.parent / "model.safetensors.index.json").write_text(json.dumps(index))
    main(["kv", str(config_file.parent), "--json"])
    answer = json.loads(capsys.readouterr().out)

    assert (answer["weights_bytes"], answer["kinds"]["weights_bytes"]) == (54_864_000_000, "measured")


@pytest.mark.parametrize(
    "index",
    [[], {"metadata": None}, {"metadata": []}, {"metadata": {"total_size": -5}}]
    + [{"metadata": {"total_size": size}} for size in (0, "16", True, float("inf"))],
)
def test_an_index_without_a_usable_total_leaves_the_weights_to_the_count(config_file, capsys, index):
    (config_file.parent / "model.safetensors.index.json").write_text(json.dumps(index))
    code = main(["kv", str(config_file.parent), "--json"])

    assert (code, json.loads(capsys.readouterr().out)["kinds"]["weights_bytes"]) == (0, "calculated")


def test_a_file_that_a_windows_editor_saved_is_read(config_file, capsys):
    config_file.write_text(json.dumps(configs.LLAMA_8B), encoding="utf-8-sig")
    main(["kv", str(config_file), "1000", "--json"])

    assert json.loads(capsys.readouterr().out)["total_bytes"] == 131_072_000


def test_a_config_on_standard_input():
    code, out, _ = run("-", "1000", "--json", stdin=json.dumps(configs.LLAMA_8B))

    assert (code, json.loads(out)["total_bytes"]) == (0, 131_072_000)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["lama-3-8b"], "gpudiag: model: 'lama-3-8b' is not in the catalogue; near names: llama-3-8b"),
        (["llama-3-8b", "0"], "gpudiag: tokens: 0 is out of range"),
        (["llama-3-8b", "8192", "4096"], "gpudiag: tokens: given twice"),
        (
            ["no/such/config.json"],
            "gpudiag: config: cannot read no/such/config.json (No such file or directory)",
        ),
        (["llama-3-8b", "--kv-dtype", "fp3"], "gpudiag: kv_dtype: unknown 'fp3'; known: auto, bf16"),
    ],
)
def test_a_mistake_is_one_line_and_a_non_zero_exit(words, sentence, capsys):
    code = main(["kv", *words])
    printed = capsys.readouterr()

    assert (code, printed.out) == (2, "")
    assert printed.err.startswith(sentence)
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize("text", ["hello", "[" * 100_000, '{"a":' * 100_000])
def test_a_file_that_is_not_json_is_said_to_be_none(tmp_path, capsys, text):
    (tmp_path / "model.json").write_text(text)
    main(["kv", str(tmp_path / "model.json")])

    assert "model.json is not JSON; give a model's config.json" in capsys.readouterr().err


def test_an_address_that_is_none_is_refused_in_one_line(capsys):
    code = main(["kv", "http://a..b/config.json"])
    printed = capsys.readouterr()

    assert (code, printed.out, printed.err.count("\n")) == (2, "", 1)
    assert "cannot fetch http://a..b/config.json" in printed.err


def test_a_cold_start_loads_little():
    code = (
        "import sys; from gpudiag.cli import main; main(['kv', 'llama-3-8b', '8192', 'x32']);"
        "heavy = {'msgspec', 'requests', 'urllib3', 'huggingface_hub', 'importlib.metadata'};"
        "sys.exit(len(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL)

    assert done.returncode == 0


class Hub(BaseHTTPRequestHandler):
    """Answers as the Hugging Face hub does for one open model, one gated, and nothing else."""

    files: ClassVar = {"/acme/tiny-9b/resolve/main/config.json": json.dumps(configs.LLAMA_8B).encode()}

    def do_HEAD(self):  # the name http.server looks for
        self.answer(with_body=False)

    def do_GET(self):
        self.answer(with_body=True)

    def answer(self, with_body):
        body = self.files.get(self.path)
        if body is None:
            gated = "/acme/secret-9b/" in self.path
            self.send_response(403 if gated else 404)
            missing = "EntryNotFound" if "/acme/tiny-9b/" in self.path else "RepoNotFound"
            self.send_header("X-Error-Code", "GatedRepo" if gated else missing)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("ETag", '"0123456789abcdef0123456789abcdef01234567"')
        self.send_header("X-Repo-Commit", "0123456789abcdef0123456789abcdef01234567")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def hub(tmp_path):
    """Environment that points huggingface_hub at a hub on loopback and at an empty cache."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    yield {"HF_ENDPOINT": address, "HF_HOME": str(tmp_path), "HF_HUB_DISABLE_TELEMETRY": "1", "NO_PROXY": "*"}
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_model_outside_the_catalogue_is_read_from_the_hub_and_then_from_its_cache(hub):
    online = run("acme/tiny-9b", "1000", "--json", **hub)
    offline = run(
        "acme/tiny-9b", "1000", "--json", HF_HUB_OFFLINE="1", **{**hub, "HF_ENDPOINT": "http://127.0.0.1:9"}
    )

    assert [code for code, _, _ in (online, offline)] == [0, 0]
    assert json.loads(online[1]) == json.loads(offline[1])
    assert json.loads(online[1])["total_bytes"] == 131_072_000


@pytest.mark.parametrize(
    ("model", "extra", "sentence"),
    [
        ("acme/secret-9b", {}, "is gated on the hub; accept its terms and set HF_TOKEN"),
        ("acme/absent-9b", {}, "is not on the hub, or is private"),
        ("acme/absent-9b", {"HF_HUB_OFFLINE": "1"}, "nor in the local hub cache, and HF_HUB_OFFLINE is set"),
    ],
)
def test_what_the_hub_does_not_give_is_one_sentence(hub, model, extra, sentence):
    code, _, error = run(model, **hub, **extra)

    assert code == 2
    assert sentence in error
    assert "Traceback" not in error


def test_a_hub_that_cannot_be_reached_is_one_sentence(hub):
    code, _, error = run("acme/tiny-9b", **{**hub, "HF_ENDPOINT": "http://127.0.0.1:9"})

    assert code == 2
    assert error.count("\n") == 1
    assert "the Hugging Face hub cannot be reached" in error


@pytest.mark.parametrize(
    ("words", "environment", "sentence"),
    [
        (["llama-3-8b", "--tp", "3", "--lang", "ko"], {}, "gpudiag: tp: 어텐션 헤드 32개는"),
        (["llama-3-8b", "--tp", "3"], {"GPUDIAG_LANG": "ko"}, "gpudiag: tp: 어텐션 헤드 32개는"),
        (["llama-3-8b", "8192", "4096", "--lang", "ko"], {}, "gpudiag: tokens: 두 번 지정했습니다 (8192"),
        (["-", "--lang", "ko"], {}, "gpudiag: config: 표준 입력: JSON이 아닙니다."),
        (["-", "--lang", "en"], {"GPUDIAG_LANG": "ko"}, "gpudiag: config: standard input is not JSON;"),
    ],
)
def test_a_refusal_is_said_in_the_language_that_was_asked_for(words, environment, sentence):
    code, out, err = run(*words, stdin="not json", **environment)

    assert (code, out) == (2, "")
    assert err.startswith(sentence)
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("variable", ["GPUDIAG_LANG", "LC_ALL", "LC_MESSAGES", "LANG"])
def test_an_answer_is_in_the_language_of_the_terminal(variable):
    unset = dict.fromkeys(("GPUDIAG_LANG", "LC_ALL", "LC_MESSAGES", "LANG"), "")
    _, out, _ = run("llama-3-8b", "8192", **{**unset, variable: "ko_KR.UTF-8"})

    assert "요청" in out
