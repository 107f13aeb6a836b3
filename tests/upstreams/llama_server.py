"""`python llama_server.py MODEL`: llama-server on a free port, its address on standard output, until this is killed.

Runs in an environment of its own, with xllamacpp alone: nothing of this project is imported.
"""

import sys
import threading

import xllamacpp  # type: ignore[import-not-found, unused-ignore]  # in its own environment


def main() -> None:
    """The server answers until the process ends."""
    parameters = xllamacpp.CommonParams()
    parameters.model.path = sys.argv[1]
    parameters.model_alias = {"far"}
    parameters.port = 0
    parameters.n_ctx, parameters.n_parallel, parameters.use_jinja = 2048, 2, True
    parameters.cpuparams.n_threads = 2
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main()
