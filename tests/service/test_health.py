import httpx2 as httpx


class TestHealth:
    def test_alive_needs_no_key(self, service_url: str) -> None:
        assert httpx.get(f"{service_url}/healthz").json() == {"status": "ok"}

    def test_ready_shows_database_and_broker(self, service_url: str) -> None:
        assert httpx.get(f"{service_url}/readyz").json() == {"status": "ok", "database": "up", "broker": "up"}
