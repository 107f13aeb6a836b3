"""The dialects: one module per wire format, each an adapter with no inference logic.

A dialect reads a legal request into an `Ask` and writes events as its clients expect them. It knows
JSON and server-sent events; it refuses to know Starlette, engines, tokens and clocks.
"""
