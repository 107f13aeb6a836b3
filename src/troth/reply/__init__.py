"""The reply room: what did the model say? Tokens come in, certain text goes out.

It knows bytes, characters and stop strings. It refuses to know engines, wire formats and clocks.
"""
