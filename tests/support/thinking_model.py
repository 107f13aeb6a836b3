"""A small model that reasons: the embedded one, two of whose unused control tokens are renamed to markers of reasoning.

The names are as long as those that they replace, so that the file keeps its layout. The model writes neither marker
by itself: its chat template opens the reasoning, and a budget closes it.
"""

from __future__ import annotations

from pathlib import Path

RENAMED = {b"<filename>": b"<thinking>", b"<repo_name>": b"</thinking>"}

# Chat in the model's own form. It knows a switch, levels, and whether the reasoning of earlier turns stays.
TEMPLATE = """\
{%- if reasoning_effort is defined %}<|im_start|>system
Effort: {{ reasoning_effort }}<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{% if message.reasoning_content and preserve_thinking is not false %}<thinking>
{{ message.reasoning_content }}
</thinking>

{% endif %}{{ message.content }}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
<thinking>
{% if enable_thinking is false %}

</thinking>

{% endif %}{% endif %}"""


def make_thinking_model(embedded: Path, folder: Path) -> dict[str, str]:
    """The file of such a model and of its template in `folder`, as settings of a model."""
    data = embedded.read_bytes()
    for name, marker in RENAMED.items():
        assert len(name) == len(marker)
        before, found, after = data.partition(len(name).to_bytes(8, "little") + name)
        assert found, f"the embedded model has no token {name!r}"
        data = before + len(marker).to_bytes(8, "little") + marker + after
    model, template = folder / "thinking.gguf", folder / "thinking.jinja"
    model.write_bytes(data)
    template.write_text(TEMPLATE, "utf-8")
    return {"source": str(model), "chat_template": str(template)}
