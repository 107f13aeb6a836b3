"""Moderation of pictures: a real classifier on the real engine, alone and beside one of texts."""

from __future__ import annotations

import base64
import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import onnxruntime
import openai
import pytest
import yaml
from openai.types import ModerationImageURLInputParam, ModerationTextInputParam
from PIL import Image

from tests.contract.conftest import Connect, ServeWith
from tests.contract.test_classifiers import classifier
from tests.support.classifier import make_classifier
from tests.support.live import LiveServer, config
from troth.sources.hub import HubSettings
from troth.sources.progress import progress_on
from troth.sources.store import Store, default_folder

PATH = "/v1/moderations"
CONFIG = Path(__file__).parents[2] / "config" / "moderation.yaml"
LOOKER = yaml.safe_load(CONFIG.read_text("utf-8"))["models"][0]
MEAN = np.array(LOOKER["options"]["image_mean"], np.float32)
TEXT = "I will find you."

Body = dict[str, Any]


def painted(seed: int, size: tuple[int, int] = (300, 200)) -> Image.Image:
    """Blurred patches of warm colours: the classifier is not sure of them."""
    chance = np.random.default_rng(seed)
    patches = chance.integers(0, 256, (5, 7, 3)) * np.array([0.4, 0.3, 0.3]) + np.array([140, 90, 70])
    return Image.fromarray(patches.clip(0, 255).astype(np.uint8)).resize(size, Image.Resampling.BICUBIC)


def url_of(picture: Image.Image) -> str:
    file = io.BytesIO()
    picture.save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def shown(picture: Image.Image | str) -> Body:
    url = picture if isinstance(picture, str) else url_of(picture)
    return {"type": "image_url", "image_url": {"url": url}}


def said(text: str = TEXT) -> Body:
    return {"type": "text", "text": text}


@pytest.fixture(scope="module")
def session() -> Any:
    """The model apart from the server."""
    store = Store(default_folder(), progress_on(io.StringIO()), HubSettings(), ())
    return onnxruntime.InferenceSession(str(store.resolve(LOOKER["source"])), providers=["CPUExecutionProvider"])


def expected(session: Any, picture: Image.Image) -> list[float]:
    """Its numbers: scaled to 256 × 256, the middle 224 × 224, blue first, the mean taken off."""
    middle = picture.convert("RGB").resize((256, 256), Image.Resampling.BILINEAR).crop((16, 16, 240, 240))
    values = np.asarray(middle, np.float32)[:, :, ::-1] - MEAN
    (found,) = session.run(None, {session.get_inputs()[0].name: values[None]})
    numbers: list[float] = found[0].tolist()
    return numbers


@pytest.fixture(scope="module")
def server(serve_with: ServeWith, tmp_path_factory: pytest.TempPathFactory) -> LiveServer:
    """The classifier of pictures, and two of texts."""
    file = make_classifier(tmp_path_factory.mktemp("classifier") / "model.onnx", 3)
    words = classifier(file, "words", categories={"threat": "violence"})
    return serve_with(config([LOOKER, words, classifier(file, "other")]))


@pytest.fixture(scope="module")
def client(server: LiveServer, connect: Connect) -> httpx.Client:
    return connect(server)


def judged(client: httpx.Client, **body: Any) -> Body:
    answer = client.post(PATH, json=body)
    assert answer.status_code == 200, answer.text
    found: Body = answer.json()
    return found


def test_a_picture_scores_what_the_model_says_of_it(client: httpx.Client, session: Any) -> None:
    for seed in range(4):
        picture = painted(seed)
        body = judged(client, model="open-nsfw", input=[shown(picture)])
        (result,) = body["results"]
        safe, unsafe = expected(session, picture)
        assert result["label_scores"] == pytest.approx({"sfw": safe, "nsfw": unsafe}, abs=2e-3)
        assert result["category_scores"]["sexual"] == result["label_scores"]["nsfw"]
        assert result["flagged"] == result["categories"]["sexual"] == (unsafe >= 0.5)
        assert result["category_applied_input_types"]["sexual"] == ["image"]
        assert result["category_applied_input_types"]["violence"] == []
        assert body["model"] == body["image_model"] == "open-nsfw"


def test_text_and_picture_are_one_judgement_of_both(client: httpx.Client) -> None:
    (alone,) = judged(client, input=TEXT)["results"]
    (seen,) = judged(client, input=[shown(painted(1))])["results"]
    both = judged(client, model="omni-moderation-latest", input=[said(), shown(painted(1))])
    (result,) = both["results"]
    assert (both["model"], both["image_model"]) == ("words", "open-nsfw")
    assert result["label_scores"] == alone["label_scores"] | seen["label_scores"]
    assert result["flagged"] == (alone["flagged"] or seen["flagged"])
    assert result["category_scores"]["violence"] == alone["category_scores"]["violence"]
    assert result["category_scores"]["sexual"] == seen["category_scores"]["sexual"]
    applied = result["category_applied_input_types"]
    assert (applied["violence"], applied["sexual"], applied["self-harm"]) == (["text"], ["image"], [])


def test_a_name_that_nobody_has_is_no_name(client: httpx.Client) -> None:
    for parts in ([said()], [shown(painted(1))], [said(), shown(painted(1))]):
        assert (
            judged(client, model="gpt-4o-moderation", input=parts)["results"] == judged(client, input=parts)["results"]
        )


def test_the_first_model_that_can_judges_what_another_is_named_for(client: httpx.Client) -> None:
    named = judged(client, model="open-nsfw", input=[said(), shown(painted(1))])
    assert (named["model"], named["image_model"]) == ("words", "open-nsfw")
    assert named["results"] == judged(client, input=[said(), shown(painted(1))])["results"]


def test_of_several_pictures_the_worst_counts(client: httpx.Client) -> None:
    pictures = [painted(seed) for seed in range(4)]
    each = [judged(client, input=[shown(picture)])["results"][0] for picture in pictures]
    (together,) = judged(client, input=[shown(picture) for picture in pictures])["results"]
    worst = max(each, key=lambda result: float(result["category_scores"]["sexual"]))
    assert together["category_scores"]["sexual"] == pytest.approx(worst["category_scores"]["sexual"], abs=1e-5)
    assert together["label_scores"] == pytest.approx(worst["label_scores"], abs=1e-5)
    assert together["flagged"] == any(result["flagged"] for result in each)


def test_a_picture_is_judged_the_same_alone_and_among_others(client: httpx.Client) -> None:
    pictures = [painted(seed) for seed in range(4)]
    alone = [judged(client, input=[shown(picture)])["results"] for picture in pictures]
    with ThreadPoolExecutor(8) as pool:
        beside = list(pool.map(lambda picture: judged(client, input=[shown(picture)])["results"], pictures * 4))
    for one, other in zip(alone * 4, beside, strict=True):
        assert other[0]["label_scores"] == pytest.approx(one[0]["label_scores"], abs=1e-5)


def test_a_conversation_with_a_picture_is_judged(client: httpx.Client) -> None:
    turn = {"role": "user", "content": [said(), shown(painted(2))]}
    assert judged(client, messages=[turn])["results"] == judged(client, input=[said(), shown(painted(2))])["results"]


@pytest.mark.parametrize("size", [(1, 1), (1, 3000), (3000, 1), (224, 224)])
def test_a_picture_of_any_shape_is_looked_at(client: httpx.Client, session: Any, size: tuple[int, int]) -> None:
    picture = painted(3, size)
    (result,) = judged(client, input=[shown(picture)])["results"]
    assert result["label_scores"]["nsfw"] == pytest.approx(expected(session, picture)[1], abs=2e-3)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"input": [shown("data:image/png;base64,AAAA")]}, "input.0.image_url.url"),
        ({"input": [said(), shown("https://example.com/a.png")]}, "input.1.image_url.url"),
        ({"input": [said(), {"type": "image_url"}]}, "input.1"),
        ({"input": [said(), {"type": "video_url", "video_url": {"url": "a"}}]}, "input.1"),
        ({"input": [said(""), said(" ")]}, "input"),
        ({"input": [shown(painted(0, (1, 1)))] * 33}, "input.32.image_url.url"),
        ({"model": "open-nsfw", "input": TEXT}, "model"),
        ({"model": "words", "input": [shown(painted(0, (1, 1)))]}, "model"),
        ({"model": "open-nsfw", "input": [shown(painted(0, (1, 1)))], "strict": True}, "strict"),
        ({"messages": [{"role": "user", "content": ""}]}, "messages"),
    ],
)
def test_what_cannot_be_judged_is_refused_by_name(client: httpx.Client, body: Body, param: str) -> None:
    answer = client.post(PATH, json=body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["param"] == param


def test_the_sdk_reads_a_judgement_of_both(server: LiveServer) -> None:
    words: ModerationTextInputParam = {"type": "text", "text": TEXT}
    picture: ModerationImageURLInputParam = {"type": "image_url", "image_url": {"url": url_of(painted(1))}}
    parts: list[ModerationImageURLInputParam | ModerationTextInputParam] = [words, picture]
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as sdk:
        found = sdk.moderations.create(model="omni-moderation-latest", input=parts)
    (result,) = found.results
    assert result.category_applied_input_types.sexual == ["image"]
    assert 0 <= result.category_scores.sexual <= 1


def test_without_a_model_of_texts_a_text_is_refused(serve_with: ServeWith, connect: Connect) -> None:
    alone = connect(serve_with(config([LOOKER])))
    answer = alone.post(PATH, json={"input": [said(), shown(painted(1))]})
    assert (answer.status_code, answer.json()["error"]["param"]) == (501, "input")
    assert judged(alone, input=[shown(painted(1))])["model"] == "open-nsfw"
    told = alone.get("/health").json()
    assert told["models"][0]["status"] == "ready"
