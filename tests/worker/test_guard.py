import ipaddress

import pytest

from worker.fetch.guard import BlockedAddress, check_all, is_private, is_public, literal_address

# RELIABILITY, section 5: what `is_private` alone lets through, and the usual suspects.
NOT_PUBLIC = [
    "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "255.255.255.255",
    "100.64.0.1", "100.100.100.200", "192.0.0.192", "224.0.0.1", "::1", "::", "fe80::1", "fc00::1", "fec0::1",
    "ff02::1", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "::169.254.169.254", "::ffff:127.0.0.1",
    "2001:0:a9fe:a9fe::5601:5601",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "93.184.215.14", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
# Ways to write addresses that resolvers understand.
SPELLINGS = {
    "2130706433": "127.0.0.1",
    "0x7f000001": "127.0.0.1",
    "127.1": "127.0.0.1",
    "0177.0.0.1": "127.0.0.1",
    "2852039166": "169.254.169.254",
    "0xa9fea9fe": "169.254.169.254",
    "0251.0376.0251.0376": "169.254.169.254",
    "134744072": "8.8.8.8",
    "::1": "::1",
}


class TestIsPublic:
    @pytest.mark.parametrize("address", NOT_PUBLIC)
    def test_inner_addresses_are_not(self, address: str) -> None:
        assert not is_public(ipaddress.ip_address(address))

    @pytest.mark.parametrize("address", PUBLIC)
    def test_outer_addresses_are(self, address: str) -> None:
        assert is_public(ipaddress.ip_address(address))


class TestIsPrivate:
    @pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "192.168.1.1", "::1", "fc00::1", "::ffff:10.0.0.1"])
    def test_own_networks_are(self, address: str) -> None:
        assert is_private(ipaddress.ip_address(address))

    @pytest.mark.parametrize(
        "address",
        ["169.254.169.254", "fe80::1", "fd00:ec2::254", "100.100.100.200", "192.0.0.192", "0.0.0.0", "::", "224.0.0.1",
         "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "255.255.255.255", "8.8.8.8"],
    )  # fmt: skip
    def test_what_may_hold_secrets_and_everything_else_are_not(self, address: str) -> None:
        assert not is_private(ipaddress.ip_address(address))


class TestLiteralAddress:
    @pytest.mark.parametrize(("spelling", "address"), SPELLINGS.items())
    def test_every_spelling_is_an_address(self, spelling: str, address: str) -> None:
        assert literal_address(spelling) == address

    @pytest.mark.parametrize("name", ["localhost", "example.com", "1.2.3.4.example", "x" * 300, "999.1.1.1"])
    def test_names_are_none(self, name: str) -> None:
        assert literal_address(name) is None


class TestCheckAll:
    def test_one_inner_address_is_enough_to_refuse(self) -> None:
        with pytest.raises(BlockedAddress, match=r"a\.test leads to 10\.0\.0\.1, which is not a public address"):
            check_all("a.test", ["8.8.8.8", "10.0.0.1"], allow_private=False)

    def test_a_zone_does_not_hide_an_inner_address(self) -> None:
        with pytest.raises(BlockedAddress):
            check_all("a.test", ["fe80::1%eth0"], allow_private=False)

    def test_public_addresses_pass_and_all_are_looked_at(self) -> None:
        seen: list[str] = []
        check_all("a.test", (seen.append(address) or address for address in PUBLIC), allow_private=False)  # type: ignore[func-returns-value]
        assert seen == PUBLIC
