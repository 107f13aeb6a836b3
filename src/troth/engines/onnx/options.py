"""What an operator can set for a model of the `onnx` engine: `models[].options` in the configuration."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Label = Annotated[str, Field(min_length=1, max_length=256)]


class OnnxOptions(BaseModel):
    """The options of a model of relevance; one of vectors has some more."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    context_tokens: int = Field(
        512,
        ge=8,
        le=1_048_576,
        description="The longest text that is read. The file does not say what the model was made for: ask its makers.",
        json_schema_extra={"unit": "tokens"},
    )
    batch_tokens: int = Field(
        512,
        ge=8,
        le=1_048_576,
        description="The most that is computed at once, texts of several requests together, each as long as the "
        "longest of them; a longer text is computed by itself.",
        json_schema_extra={"unit": "tokens"},
    )
    batch_sequences: int | None = Field(
        None,
        ge=1,
        le=1024,
        description="Most texts that are computed at once. Null: 64, or 1 for a model whose numbers for a text depend "
        "on what is computed beside it, as those in 8 bits do by some hundredths: that is tested at load.",
        json_schema_extra={"unit": "texts"},
    )
    threads: int | None = Field(None, ge=1, le=1024, description="Compute threads. Null: the cores of this process.")


class OnnxEmbeddingOptions(OnnxOptions):
    """The options of a model of vectors."""

    pooling: Literal["mean", "cls", "last"] | None = Field(
        None,
        description="How a vector is made of those of its tokens, as the model's makers say. Null: the model does it "
        "itself; one that does not is refused.",
    )
    normalize: bool = Field(True, description="Scale vectors to length 1 when a request does not say otherwise.")


class OnnxClassifierOptions(OnnxOptions):
    """The options of a model that moderates: it gives a number for each of some labels."""

    labels: tuple[Label, ...] = Field(
        min_length=1, max_length=256, description="What its numbers are of, in their order, as its config.json says."
    )
    activation: Literal["sigmoid", "softmax"] = Field(
        "sigmoid",
        description="How numbers become probabilities: sigmoid where several labels may be true of a text, softmax "
        "where one is.",
    )
    safe_labels: tuple[Label, ...] = Field((), description="The labels of texts that are well, if it has such.")
    categories: dict[Label, Label] = Field(
        default_factory=dict,
        description="What clients read for a label, best a name of OpenAI's, for example {threat: violence}; a label "
        "that is not here keeps its name.",
    )

    @model_validator(mode="after")
    def _of_its_labels(self) -> Self:
        if len(set(self.labels)) < len(self.labels):
            raise ValueError("labels has a name twice")
        unknown = [name for name in (*self.safe_labels, *self.categories) if name not in self.labels]
        if unknown:
            raise ValueError(f"labels has no {unknown[0]}, which safe_labels or categories name")
        if set(self.labels) <= set(self.safe_labels):
            raise ValueError("safe_labels has all labels, so that nothing could be wrong")
        return self
