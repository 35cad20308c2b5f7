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


class BlockedAddress(OSError):
    """The host leads to an address that is not a public one."""


def check_all(host: str, addresses: Iterable[str]) -> None:
    """One inner address among public ones is enough to refuse the host: a name must not choose between them."""
    for address in addresses:
        if not is_public(ipaddress.ip_address(address.partition("%")[0])):
            raise BlockedAddress(f"{host} leads to {address}, which is not a public address")


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
