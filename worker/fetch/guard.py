"""Which addresses a URL from a user may lead to (RELIABILITY, section 5: `is_private` alone is not enough)."""

import ipaddress
import socket

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

ALLOWED_PORTS = frozenset({80, 443})
NAT64 = ipaddress.ip_network("64:ff9b::/96")
IPV4_COMPATIBLE = ipaddress.ip_network("::/96")
# Protocol assignments, where some clouds keep their metadata; older Pythons call most of it global.
NEVER_PUBLIC = ipaddress.ip_network("192.0.0.0/24")


class BlockedAddress(Exception):
    """The host leads to an address that is not a public one."""


def resolve_public(host: str, port: int) -> str:
    """An address of the host to connect to; refused unless every one of its addresses is public."""
    addresses = _resolve(host, port)
    for address in addresses:
        if not is_public(address):
            raise BlockedAddress(f"{host} leads to {address}, which is not a public address")
    return str(addresses[0])


def resolve_any(host: str, port: int) -> str:
    return str(_resolve(host, port)[0])


def is_public(address: Address) -> bool:
    """Public, also after unwrapping the ways to write an IPv4 address inside an IPv6 one."""
    inner = _embedded(address)
    if inner is not None:
        return is_public(inner)
    if address.is_multicast or getattr(address, "is_site_local", False) or address in NEVER_PUBLIC:
        return False
    return address.is_global


def _resolve(host: str, port: int) -> list[Address]:
    # getaddrinfo also understands 2852039166, 0xa9fea9fe and 127.1, so what is checked is what is connected to.
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]


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
