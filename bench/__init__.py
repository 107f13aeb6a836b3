"""Benchmarks: A and B measured in one run, interleaved, and reported as ratios."""
