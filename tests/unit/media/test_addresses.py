"""Which addresses may be asked for a picture."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from troth.media.addresses import Forbidden, Target, is_open, target_of

OPEN = "93.184.215.14"


def target(url: str, *hosts: str, addresses: Sequence[str] = (OPEN,)) -> Target:
    """Where the URL is asked for when these hosts are allowed and have these addresses."""

    async def look_up(host: str, port: int) -> Sequence[str]:
        return addresses

    return asyncio.run(target_of(url, hosts, look_up))


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
        "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "2001:db8::1", "fec0::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "2002:7f00:1::", "2002:a00:1::", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
        "2001::1", "nonsense", "",
    ],
)  # fmt: skip
def test_no_address_inside_a_network_is_open_however_it_is_written(address: str) -> None:
    assert not is_open(address)


@pytest.mark.parametrize("address", [OPEN, "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_addresses_of_the_internet_are_open(address: str) -> None:
    assert is_open(address)


def test_the_connection_goes_to_the_address_that_was_judged_in_the_name_of_the_host() -> None:
    found = target("https://Example.org/a/b.png?c=d#e", "example.org")

    assert found.url == f"https://{OPEN}:443/a/b.png?c=d"
    assert (found.host, found.authority) == ("example.org", "example.org")


def test_a_port_must_be_allowed_by_number() -> None:
    assert target("http://example.org:8080/", "example.org:8080").authority == "example.org:8080"
    with pytest.raises(Forbidden, match=r"media\.allowed_hosts"):
        target("http://example.org:8080/", "example.org")
    with pytest.raises(Forbidden, match=r"media\.allowed_hosts"):
        target("http://example.org/", "example.org:8080")


@pytest.mark.parametrize("url", ["http://example.com/", "http://example.org.evil.net/", "http://evil.net/example.org"])
def test_hosts_that_are_not_named_are_not_asked(url: str) -> None:
    with pytest.raises(Forbidden, match=r"media\.allowed_hosts"):
        target(url, "example.org")


def test_one_address_inside_a_network_spoils_the_host() -> None:
    with pytest.raises(Forbidden, match="not of the open internet"):
        target("http://example.org/", "example.org", addresses=(OPEN, "10.0.0.1"))


def test_an_allowed_host_that_is_an_inner_address_is_not_asked() -> None:
    with pytest.raises(Forbidden, match="not of the open internet"):
        target("http://127.0.0.1/", "127.0.0.1", addresses=("127.0.0.1",))


@pytest.mark.parametrize(
    "url",
    [
        "http://",
        "http:///x",
        "http://example.org:port/",
        "http://[::1",
        "http://example.org:99999/",
        "http://user@example.org/",
        "http://a:b@example.org/",
        "http://example.org/a b",
        "http://example.org/\r\nHost: evil",
        "http://example.org/ä",
    ],
)
def test_addresses_that_are_none_are_not_asked(url: str) -> None:
    with pytest.raises(Forbidden):
        target(url, "example.org")


def test_a_host_that_cannot_be_found_is_said_to_be_so() -> None:
    async def look_up(host: str, port: int) -> Sequence[str]:
        raise OSError("no such host")

    with pytest.raises(Forbidden, match="cannot be found"):
        asyncio.run(target_of("http://example.org/", ["example.org"], look_up))
