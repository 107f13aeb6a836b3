"""A small model that writes in gpt-oss's channels: the embedded one, some of whose unused control tokens are renamed.

What the new names are shorter, another name is longer, so that the file keeps its layout. The model does not write the
markers by itself: a grammar makes it.
"""

from __future__ import annotations

from pathlib import Path

RENAMED = {
    b"<jupyter_start>": b"<|channel|>",
    b"<issue_closed>": b"<|message|>",
    b"<jupyter_text>": b"<|start|>",
    b"<file_sep>": b"<|end|>",
    b"<gh_stars>": b"<|return|>",
    b"<filename>": b"<|call|>",
    b"<issue_start>": b"<|constrain|>",
}
PADDED = b"<jupyter_output>"  # takes what the others leave

TEMPLATE = """\
{%- if tools %}<|start|>developer<|message|>namespace functions {
{% for tool in tools %}type {{ tool.function.name }} = {{ tool.function.parameters | tojson }}
{% endfor %}}<|end|>{% endif %}
{%- for message in messages %}
{%- if message.role == "tool" %}<|start|>functions.f to=assistant<|channel|>commentary<|message|>{{ message.content }}
{%- elif message.tool_calls %}<|start|>assistant<|channel|>commentary to=functions.
{{- message.tool_calls[0].function.name }} <|constrain|>json<|message|>
{{- message.tool_calls[0].function.arguments | tojson }}<|call|>
{%- elif message.role == "assistant" %}<|start|>assistant<|channel|>final<|message|>{{ message.content }}<|end|>
{%- else %}<|start|>{{ message.role }}<|message|>{{ message.content }}<|end|>
{%- endif %}{% endfor %}
{%- if add_generation_prompt %}<|start|>assistant{% endif %}
{#- <|channel|>analysis -#}"""


def make_harmony_model(embedded: Path, folder: Path) -> dict[str, str]:
    """The file of such a model and of its template in `folder`, as settings of a model."""
    spare = sum(len(name) - len(marker) for name, marker in RENAMED.items())
    assert spare > 0
    data = embedded.read_bytes()
    for name, marker in (RENAMED | {PADDED: PADDED[:-1] + b"_" * spare + b">"}).items():
        before, found, after = data.partition(len(name).to_bytes(8, "little") + name)
        assert found, f"the embedded model has no token {name!r}"
        data = before + len(marker).to_bytes(8, "little") + marker + after
    model, template = folder / "harmony.gguf", folder / "harmony.jinja"
    model.write_bytes(data)
    template.write_text(TEMPLATE, "utf-8")
    return {"source": str(model), "chat_template": str(template)}
