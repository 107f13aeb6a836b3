"""Faults as text."""

from __future__ import annotations

from troth.config.faults import ConfigFaults, Fault, nearest, shown


def test_a_fault_without_place_or_key_leaves_them_out() -> None:
    assert str(Fault("f.yaml:1", "a.b", "wrong")) == "f.yaml:1: a.b: wrong"
    assert str(Fault("", "a", "wrong")) == "a: wrong"
    assert str(Fault("--set", "", "wrong")) == "--set: wrong"


def test_all_faults_are_in_the_text_of_the_error() -> None:
    assert str(ConfigFaults([Fault("", "a", "x"), Fault("", "b", "y")])) == "a: x\nb: y"


def test_a_long_value_is_cut() -> None:
    assert len(shown("x" * 1000)) == 60


def test_the_nearest_name_forgives_case_and_dashes() -> None:
    assert nearest("Logit-Bias", ["seed", "logit_bias"]) == "logit_bias"
    assert nearest("zzz", ["seed"]) is None
