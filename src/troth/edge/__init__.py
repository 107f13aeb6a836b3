"""The edge: is this a legal request, and how does an answer leave? HTTP is known here and nowhere else.

Bytes come in; a `Call` goes to the handler of the operation; a `Whole` or a `Stream` comes back. The edge
refuses to know models, engines and what any field means: that is written in the document.
`assembly.create_asgi` is the door.
"""
