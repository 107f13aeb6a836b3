"""Engines: one sub-package or file per way of computing, chosen by name in the configuration."""
