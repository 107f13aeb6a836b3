"""Watching: what the server says about itself to whoever runs it, in metrics and in a log.

Nothing here waits for an engine, and nothing here ever holds a prompt, an answer or a key.
"""
