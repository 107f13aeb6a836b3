"""The published document and its pages: Swagger UI from its own package, nothing from the network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import swagger_ui_bundle
from pydantic_core import to_json
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from troth.domain import Answer, Call, Whole

ASSETS = "/docs/assets"

# Relative addresses, so that the page also works behind a proxy that adds a path of its own.
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Troth API</title>
<link rel="icon" href="docs/assets/favicon-32x32.png">
<link rel="stylesheet" href="docs/assets/swagger-ui.css">
</head>
<body>
<div id="pages"></div>
<script src="docs/assets/swagger-ui-bundle.js"></script>
<script>
SwaggerUIBundle({url: "openapi.json", dom_id: "#pages", validatorUrl: null, deepLinking: true,
                 docExpansion: "list", defaultModelsExpandDepth: 0, persistAuthorization: true});
</script>
</body>
</html>
"""


class Docs:
    """Handlers for the document's own operations, encoded once."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = Whole(to_json(document))
        self._page = Whole(PAGE.encode(), media_type="text/html; charset=utf-8")

    async def openapi_document(self, call: Call) -> Answer:
        """The document that this server was generated from, as published."""
        return self._document

    async def docs_page(self, call: Call) -> Answer:
        """The page that shows the document."""
        return self._page


def assets_mount() -> Mount:
    """The static files of the page."""
    return Mount(ASSETS, StaticFiles(directory=str(swagger_ui_bundle.swagger_ui_path)))
