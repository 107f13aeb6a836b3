"""A decoder in a process of its own: what goes wrong in a library ends that process, and not the server.

The scheduler stays where it is. `Isolated` stands for an engine and gives a `RemoteDecoder`, which puts every
question to the child over inherited sockets; `python -m troth.engines.child` is the other end. A plain step is
one message each way: what is to be picked from a batch is told with the batch (`Distant.foresee`).
"""

from troth.engines.child.isolated import Isolated

__all__ = ["Isolated"]
