"""The room that turns a `source` into a file on disk: fetched once, checked always, never half written.

In: a source text, a pinned hash perhaps. Out: a path, or `SourceFault` in words for the operator. It knows
no configuration, no engine, and of model files only how to tell a whole GGUF from a broken one.
"""
