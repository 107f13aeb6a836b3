"""What an operator can set for a model of the `onnx` engine: `models[].options` in the configuration."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from troth.domain.vectors import Resample

Label = Annotated[str, Field(min_length=1, max_length=256)]
Side = Annotated[int, Field(ge=1, le=8192)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Channels = tuple[Finite, Finite, Finite]
PIXELS: dict[str, Any] = {"unit": "pixels"}


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


class Classes(BaseModel):
    """What a classifier's numbers are of, whatever it looks at."""

    labels: tuple[Label, ...] = Field(
        min_length=1, max_length=256, description="What its numbers are of, in their order, as its config.json says."
    )
    activation: Literal["sigmoid", "softmax", "none"] = Field(
        "sigmoid",
        description="How numbers become probabilities: sigmoid where several labels may be true, softmax where one is, "
        "none where the model gives probabilities.",
    )
    safe_labels: tuple[Label, ...] = Field((), description="The labels of what is well, if it has such.")
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


class OnnxClassifierOptions(OnnxOptions, Classes):
    """The options of a model that moderates texts: it gives a number for each of some labels."""


class OnnxVisionOptions(Classes):
    """The options of a model that moderates pictures. The keys of preprocessor_config.json keep their names."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    size: tuple[Side, Side] | None = Field(
        None,
        json_schema_extra=PIXELS,
        description="Height and width of what it looks at. Null: as the file says, if it does.",
    )
    resize: Side | None = Field(
        None,
        json_schema_extra=PIXELS,
        description="A picture is scaled to this height and width, and its middle is looked at. Null: to `size`.",
    )
    keep_ratio: bool = Field(
        False, description="With `resize`: the shorter side is scaled to it, and the other one with it."
    )
    resample: Resample = Field("bilinear", description="How a picture is scaled.")
    channels: Literal["rgb", "bgr"] = Field("rgb", description="The order of the colours, and of the next keys.")
    rescale_factor: float = Field(
        1 / 255, gt=0, allow_inf_nan=False, description="What values from 0 to 255 are multiplied by."
    )
    image_mean: Channels = Field((0.0, 0.0, 0.0), description="What is taken off each colour after that.")
    image_std: Channels = Field((1.0, 1.0, 1.0), description="What is left of each colour is divided by this.")
    batch_sequences: int | None = Field(
        None,
        ge=1,
        le=256,
        description="Most pictures that are computed at once. Null: 8, or 1 for a model whose numbers for a picture "
        "depend on what is computed beside it: that is tested at load.",
        json_schema_extra={"unit": "pictures"},
    )
    threads: int | None = Field(None, ge=1, le=1024, description="Compute threads. Null: the cores of this process.")

    @model_validator(mode="after")
    def _that_can_be_shown(self) -> Self:
        if 0.0 in self.image_std:
            raise ValueError("image_std has a 0, and everything is divided by it")
        if self.keep_ratio and self.resize is None:
            raise ValueError("keep_ratio says how `resize` scales, and there is none")
        return self
