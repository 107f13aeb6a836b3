"""llama.vim in Vim at a terminal, and what its newer versions send."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.clients.conftest import ServeScript
from tests.support.live import LiveServer
from tests.support.pages import snippets
from tests.support.terminal import at_terminal

ADDITION = "def add(first, second):\n    \n\nprint(add(1, 2))\n"
FIELDS = ["content", "timings/prompt_n", "timings/prompt_ms", "timings/predicted_n", "truncated", "tokens_cached"]


def vimrc(packages: Path, server: LiveServer) -> str:
    """The plugin with what the page shows. This version of it merges no options with its own: the rc does."""
    return "\n".join(
        [
            "set nocompatible noswapfile",
            f"source {packages / 'llama.vim'}",
            "let s:own = g:llama_config",
            snippets("llama-vim", "vim", server.url)[0],
            "let g:llama_config = extend(s:own, g:llama_config)",
            "call llama#init()",
        ]
    )


def test_a_completion_is_shown_and_taken_over(packages: Path, tmp_path: Path, serve_script: ServeScript) -> None:
    server = serve_script(["first + second"] * 9, options={"fills": True})
    (tmp_path / "vimrc").write_text(vimrc(packages, server), "utf-8")
    file = tmp_path / "sum.py"
    file.write_text(ADDITION, "utf-8")

    with at_terminal(["vim", "-u", "vimrc", "+2", file.name], tmp_path, {}) as vim:
        vim.wait_drawn("print(add(1, 2))")
        vim.press("Areturn ")
        vim.wait_drawn("first + second")
        vim.press("\t\x1b:wq\r")
        vim.process.wait(20)

    assert file.read_text("utf-8") == ADDITION.replace("    \n", "    return first + second\n")


def infill(server: LiveServer, folder: Path, **fields: Any) -> str:
    """The body of the answer, asked for as the plugin does: curl, with compact JSON on its standard input."""
    body = {
        "id_slot": 0,
        "input_prefix": "def add(first, second):\n",
        "input_suffix": "\n\nprint(add(1, 2))\n",
        "input_extra": [{"filename": "a.py", "time": [1795, 972064], "text": "x = 1\ny = 2\nz = 3\n"}],
        "stream": False,
        "cache_prompt": True,
        **fields,
    }
    words = ["curl", "--silent", "--no-buffer", "--request", "POST", "--url", f"{server.url}/infill"]
    headers = ["--header", "Content-Type: application/json", "--header", "Authorization: Bearer none"]
    asked = json.dumps(body, separators=(",", ":")).encode()
    done = subprocess.run([*words, *headers, "--data", "@-"], input=asked, capture_output=True, check=True)
    return done.stdout.decode()


def test_what_newer_versions_ask_on_each_key_is_answered_in_their_fields(
    tmp_path: Path, serve_script: ServeScript
) -> None:
    server = serve_script(["return first + second"], options={"fills": True})
    told = infill(
        server, tmp_path, prompt="    ", n_predict=128, stop=[], n_indent=4, top_k=40, top_p=0.9,
        samplers=["top_k", "top_p", "infill"], t_max_prompt_ms=500, t_max_predict_ms=250, response_fields=FIELDS,
    )  # fmt: skip

    assert '"content":"return first + second"' in told, "the plugin looks for this text before it reads the JSON"
    assert set(json.loads(told)) == set(FIELDS)


def test_what_newer_versions_ask_when_a_file_is_opened_is_answered(tmp_path: Path, serve_script: ServeScript) -> None:
    server = serve_script([], options={"fills": True})
    told = infill(
        server, tmp_path, input_prefix="", input_suffix="", prompt="", n_predict=0, temperature=0.0, samplers=[],
        t_max_prompt_ms=1, t_max_predict_ms=1, response_fields=[""],
    )  # fmt: skip

    assert json.loads(told) == {}


def test_a_model_without_marks_says_so(server: LiveServer, tmp_path: Path) -> None:
    assert "Infill is not supported by the model" in infill(server, tmp_path, prompt="a", n_predict=4)
