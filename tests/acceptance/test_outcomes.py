"""How runs end, and that what is said of it is true."""

from __future__ import annotations

from tests.acceptance.home import Home


def test_exit_0_is_a_success(home: Home) -> None:
    home.copy_in("exp.md", home.counted("echo done"))
    home.drain()
    assert home.flag()["outcome"] == "succeeded"
    assert home.counts() == (1, 1)
    assert home.console() == "done\n"
