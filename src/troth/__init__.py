"""Troth: one server for local models that keeps its word."""

__version__ = "0.1.0"
