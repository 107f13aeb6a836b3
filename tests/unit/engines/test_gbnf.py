"""llama.cpp's grammars in llguidance's dialect, tried on whole texts."""

from __future__ import annotations

import pytest

from tests.support.formats import Vocabulary, rejection
from troth.engines.gbnf import GbnfFault, lark_of

BYTES = Vocabulary()
WORDS = r"""
# rules may have names of any case, and be written in any order
root ::= (fooBar | foo-bar) # a remark
  "."
fooBar ::= "a" |
  "b"
foo-bar ::= [c-d]{2,3}
"""


def takes(grammar: str, text: str) -> bool:
    """True when the text is a whole answer."""
    return rejection(lark_of(grammar), BYTES, text) is None


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        (r'root ::= "\u00e9"', "é"),
        (r'root ::= "\U0001F600"', "😀"),
        (r'root ::= "\xe9\x41\n\t\r\\\""', 'éA\n\t\r\\"'),
        (r'root ::= "\x00" [\x00-\x1f]', "\0\1"),
        (r"root ::= [\u00e0-\u00ff]+ [/\]\\^-]", "éà-"),
        (r"root ::= [^\U0001F600-\U0001F64F]", "x"),
        ("root ::= [ぁ-ゟ]+", "ひらがな"),
        ("root ::= .{3}", "a\n😀"),
        ('root ::= "a"{2}{3}', "a" * 6),
        ('root ::= ("a" "b"?){2,}{0,2}', "aabaab"),
        ('root ::= "a"*?', ""),
        ('root ::= "a"{0} "b"{1,2}', "bb"),
        ('root ::= "a" |\n "b"\n', "b"),
        ('root ::= (\n"a"\n|"b"\n)+\n\n', "ab"),
        ('root ::= x\nx ::= | " " x', "   "),
        ("root ::= " + "(" * 30 + '"a"' + ")" * 30, "a"),
        ('root ::= [a-z]* "ing"', "singing"),
        ('root ::= number "\\n"\nnumber ::= [0-9]+ space\nspace ::= [ \\t\\n]*', "12\n"),
        ('root ::= ("int" | name) "!"\nname ::= [a-z]+', "interest!"),
        ('root ::= "old"\nroot ::= "new"', "new"),
        (WORDS.replace('  "."', ""), "cdc"),
    ],
)
def test_a_text_is_taken(grammar: str, text: str) -> None:
    assert takes(grammar, text)


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        ('root ::= "a"{2}{3}', "a" * 5),
        ('root ::= "a"{2}{3}', "a" * 7),
        (r"root ::= [^\u00e9]", "é"),
        ('root ::= "old"\nroot ::= "new"', "old"),
        ('root ::= "a"?', "aa"),
    ],
)
def test_another_text_is_not(grammar: str, text: str) -> None:
    assert not takes(grammar, text)


@pytest.mark.parametrize(
    ("grammar", "words"),
    [
        ("", "no rule"),
        ('x ::= "a"', "no rule 'root'"),
        ("root ::= missing", "'missing' is used and not defined"),
        ('root ::= "a', "unexpected end, at its end"),
        (WORDS, "expected a rule's name, in line 4"),
        ('root ::= ("a"', r"expected \)"),
        ('root ::= "a")', "expected the end of the line"),
        ('root = x\nx ::= "a"', "expected ::="),
        (r'root ::= "\q"', r"no escape \\q"),
        (r'root ::= "\u12"', "4 hexadecimal digits"),
        (r'root ::= "\ud800"', r"U\+D800 is no character"),
        (r'root ::= "\U00110000"', r"U\+110000 is no character"),
        ("root ::= [z-a]", "ends before it begins"),
        ("root ::= []", "no character"),
        ('root ::= "a"{3,1}', "ends before it begins"),
        ('root ::= "a"{x}', "expected a number"),
        ("root ::= *", r"nothing before \*"),
        ("root ::= <[1]>", "tokens in a grammar"),
        ("root ::= !<think>", "tokens in a grammar"),
    ],
)
def test_what_is_no_grammar_is_refused_in_words(grammar: str, words: str) -> None:
    with pytest.raises(GbnfFault, match=words):
        lark_of(grammar)


@pytest.mark.parametrize("opening", ['"' + ")" * 400 + '" ', "# " + ")" * 400 + "\n"])
def test_parentheses_that_close_nothing_do_not_hide_how_deep_a_grammar_is_nested(opening: str) -> None:
    with pytest.raises(GbnfFault, match="nested deeper"):
        lark_of(f"root ::= {opening}" + "(" * 400 + '"a"' + ")" * 400)
