"""Is the promise kept? Greedy answers under every circumstance, compared with those of each prompt alone."""

from __future__ import annotations

from pathlib import Path

from bench.report import table, write
from tests.support.determinism import CIRCUMSTANCES, Circumstance, streams

COUNT, ANSWER_TOKENS = 40, 128
FAST = ("batched by 8", "from the cache")  # enough to show what the setting decides


def run(models: list[Path]) -> None:
    """Identical answers of COUNT, by circumstance and setting, written to bench/results/determinism.md."""
    rows = []
    for model in models:
        for setting in ("strict", "fast"):
            alone, promised = streams(model, Circumstance(), COUNT, ANSWER_TOKENS, setting)
            cells = []
            for name, how in CIRCUMSTANCES.items():
                if setting == "fast" and name not in FAST:
                    cells.append("")
                    continue
                answers, _ = streams(model, how, COUNT, ANSWER_TOKENS, setting)
                same = sum(mine == theirs for mine, theirs in zip(answers, alone, strict=True))
                cells.append(f"{same}/{COUNT}")
            rows.append([model.stem, setting, "yes" if promised else "no", *cells])
            print(*rows[-1], flush=True)
    write(
        "determinism",
        "Determinism: answers that are the same as alone",
        f"{COUNT} prompts of 32 to 160 tokens, {ANSWER_TOKENS} tokens each, temperature 0, compared token for token.",
        table(["model", "setting", "promised", *CIRCUMSTANCES], rows),
    )
