"""How large is a pattern when its repetitions are written out? Ten letters can stand for a billion."""

from __future__ import annotations

import re

BOUNDS = re.compile(r"\{(\d+)(?:,(\d*))?\}")
SIZE_MAX = 10**12  # sums stop growing here


def expanded_size(pattern: str) -> int:
    """The characters of a regular expression, or of a grammar's rules, with every `{m,n}` written out n times.

    Nested repetitions multiply. Classes and quoted texts count as they are; `*`, `+` and `?` as one more.
    Time is linear in the pattern.
    """
    sums, last, at = [0], 0, 0
    while at < len(pattern):
        letter = pattern[at]
        found = BOUNDS.match(pattern, at) if letter == "{" else None
        if found is not None:
            times = max(int(found[1][:7]), int((found[2] or "0")[:7]))
            sums[-1] = min(sums[-1] + last * max(times - 1, 0), SIZE_MAX)
            last = min(last * max(times, 1), SIZE_MAX)
            at = found.end()
            continue
        if letter == "(":
            sums.append(0)
        elif letter == ")" and len(sums) > 1:
            last = sums.pop()
            sums[-1] = min(sums[-1] + last, SIZE_MAX)
        else:
            end = _end_of_class(pattern, at) if letter == "[" else at + (2 if letter == "\\" else 1)
            last = 1
            sums[-1] += last
            at = end
            continue
        at += 1
    return min(sum(sums), SIZE_MAX)


def _end_of_class(pattern: str, at: int) -> int:
    """The place behind a class of characters that begins at `at`."""
    end = at + 1
    while end < len(pattern) and (pattern[end] != "]" or end == at + 1):
        end += 2 if pattern[end] == "\\" else 1
    return end + 1
