"""The formats room: how do the models of a family write their thoughts and their calls?

Each way of writing is one entry: the grammar that holds an answer to it, and the reader that understands it.
It knows texts and markers. It refuses to know templates, vocabularies, engines and wire formats.
"""
