"""Which addresses a URL from a user may lead to (RELIABILITY, section 5: `is_private` alone is not enough)."""

import ipaddress
import socket
from collections.abc import Iterable

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

ALLOWED_PORTS = frozenset({80, 443})
NAT64 = ipaddress.ip_network("64:ff9b::/96")
IPV4_COMPATIBLE = ipaddress.ip_network("::/96")
# Protocol assignments, where some clouds keep their metadata; older Pythons call most of it global.
NEVER_PUBLIC = ipaddress.ip_network("192.0.0.0/24")


CLOUD_METADATA = ipaddress.ip_address("fd00:ec2::254")  # in a range that is otherwise an own network's


class BlockedAddress(OSError):
    """The host leads to an address that is not a public one."""


def check_all(host: str, addresses: Iterable[str], *, allow_private: bool) -> None:
    """One inner address among public ones is enough to refuse the host: a name must not choose between them."""
    for text in addresses:
        address = ipaddress.ip_address(text.partition("%")[0])
        if not is_public(address) and not (allow_private and is_private(address)):
            raise BlockedAddress(f"{host} leads to {text}, which is not a public address")


def literal_address(host: str) -> str | None:
    """The address that the host is a spelling of, also 2852039166, 0xa9fea9fe and 127.1; None for a name."""
    try:
        if ":" in host:
            return str(ipaddress.IPv6Address(host))
        # The resolver's own reading, so that nothing it takes for an address is taken for a name here.
        return socket.inet_ntoa(socket.inet_aton(host))
    except (OSError, ValueError):
        return None


def is_public(address: Address) -> bool:
    """Public, also after unwrapping the ways to write an IPv4 address inside an IPv6 one."""
    inner = _embedded(address)
    if inner is not None:
        return is_public(inner)
    if address.is_multicast or getattr(address, "is_site_local", False) or address in NEVER_PUBLIC:
        return False
    return address.is_global


def is_private(address: Address) -> bool:
    """Of this machine or of an own network; never where clouds keep their secrets (link-local and the like)."""
    inner = _embedded(address)
    if inner is not None:
        return is_private(inner)
    if address.is_link_local or address.is_unspecified or address in NEVER_PUBLIC or address == CLOUD_METADATA:
        return False
    return address.is_loopback or (address.is_private and not address.is_reserved)


def _embedded(address: Address) -> Address | None:
    if not isinstance(address, ipaddress.IPv6Address):
        return None
    if address.ipv4_mapped or address.sixtofour:
        return address.ipv4_mapped or address.sixtofour
    if address.teredo:
        return address.teredo[1]
    if address in NAT64 or (address in IPV4_COMPATIBLE and int(address) > 1):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None
