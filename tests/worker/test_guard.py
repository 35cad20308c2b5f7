import ipaddress
import socket

import pytest

from worker.fetch.guard import BlockedAddress, is_public, resolve_any, resolve_public

# RELIABILITY, section 5: what `is_private` alone lets through, and the usual suspects.
NOT_PUBLIC = [
    "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "255.255.255.255",
    "100.64.0.1", "100.100.100.200", "192.0.0.192", "224.0.0.1", "::1", "::", "fe80::1", "fc00::1", "fec0::1",
    "ff02::1", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "::169.254.169.254", "::ffff:127.0.0.1",
    "2001:0:a9fe:a9fe::5601:5601",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "93.184.215.14", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
# Ways to write 127.0.0.1 and 169.254.169.254 that resolvers understand.
SPELLINGS = ["2130706433", "0x7f000001", "127.1", "0177.0.0.1", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376"]


class TestIsPublic:
    @pytest.mark.parametrize("address", NOT_PUBLIC)
    def test_inner_addresses_are_not(self, address: str) -> None:
        assert not is_public(ipaddress.ip_address(address))

    @pytest.mark.parametrize("address", PUBLIC)
    def test_outer_addresses_are(self, address: str) -> None:
        assert is_public(ipaddress.ip_address(address))


class TestResolve:
    @pytest.mark.parametrize("host", SPELLINGS)
    def test_odd_spellings_of_inner_addresses_are_blocked(self, host: str) -> None:
        with pytest.raises(BlockedAddress, match="not a public address"):
            resolve_public(host, 80)

    def test_a_name_that_leads_inside_is_blocked(self) -> None:
        with pytest.raises(BlockedAddress, match="localhost leads to"):
            resolve_public("localhost", 80)

    def test_an_outer_address_is_given_back(self) -> None:
        assert resolve_public("8.8.8.8", 443) == "8.8.8.8"

    def test_inner_addresses_resolve_when_allowed(self) -> None:
        assert resolve_any("127.0.0.1", 80) == "127.0.0.1"

    def test_an_unknown_name_is_an_error_of_the_resolver(self) -> None:
        with pytest.raises(socket.gaierror):
            resolve_any("no-such-host.invalid", 80)
