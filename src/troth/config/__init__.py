"""The operator's room: one YAML file, the command line and the environment become one typed `Config`.

In: a path, `--set` texts, flags. Out: `Loaded`, where each value knows its origin, or `ConfigFaults` with
every fault at once. It is the only room that reads the environment, and it knows no HTTP and no engine:
what an engine or the API document knows is handed in.
"""
