"""The house rules of `openapi/`, numbered so that a review can cite them.

S1   OpenAPI 3.0.3 and none of 3.1's keywords, which 3.0 tools skip without a word
S2   an operation has a snake_case operationId, a summary that is a sentence, and its file's name as tag
S3   a request property has a description and a valid `x-contract`
S4   an operation lists the statuses that it can raise, and a default
S5   a component's name is unique, and the component is used
S6   `nullable` stands beside `type`, and an enum that allows null says so
S7   an operation that streams lists both media types, and the schema of its events
S8   request schemas are open: unknown fields are the policy's to judge
S9   an operation has an example of its request and of its answer
S10  a request field has no `default`: the configuration decides
S11  an optional request property accepts null
S12  every key is a text, and every enum value has the type that it stands beside (YAML 1.1 reads `on`, `no`
     and `null` as other things)
S13  a request number has a minimum and a maximum
S14  an operationId names one operation
S15  a union of objects in a request has a discriminator
S16  `$ref` stands alone
S17  an operation names the shape of its errors
S18  an operation, and each of its aliases, says which of the three documents name it
S19  what is listed as not there yet is not there, and named by a document

Rules about schemas are in `lint_schemas`, rules about operations in `lint_operations`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from codegen import lint_operations, lint_schemas
from codegen.findings import Finding
from codegen.source import Source

Rule = Callable[[Source], Iterator[Finding]]

RULES: dict[str, Rule] = {
    "S1": lint_schemas.only_openapi_3_0_3,
    "S2": lint_operations.named_as_in_code,
    "S3": lint_schemas.fields_have_a_contract,
    "S4": lint_operations.statuses_listed,
    "S5": lint_operations.components_unique_and_used,
    "S6": lint_schemas.null_spelled_right,
    "S7": lint_operations.streams_described,
    "S8": lint_schemas.requests_open,
    "S9": lint_operations.examples_present,
    "S10": lint_schemas.no_defaults,
    "S11": lint_schemas.optional_fields_accept_null,
    "S12": lint_schemas.texts_are_texts,
    "S13": lint_schemas.numbers_bounded,
    "S14": lint_operations.ids_unique,
    "S15": lint_schemas.unions_discriminated,
    "S16": lint_schemas.references_alone,
    "S17": lint_operations.error_style_named,
    "S18": lint_operations.documents_named,
    "S19": lint_operations.absent_ones_absent,
}


def lint(source: Source) -> list[Finding]:
    """Every broken rule, in order of the rules; empty when the source is in order."""
    return [finding for rule in RULES.values() for finding in rule(source)]
