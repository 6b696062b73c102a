# SPDX-License-Identifier: Apache-2.0
"""once(), locked() and elect() of redlatch.aio, in each loop."""

from __future__ import annotations

import logging
import pickle
from functools import partial
from typing import Any, Callable, List, Optional

import pytest
import redlatch
import redlatch.aio
from loops import RUNNERS, World, run
from redlatch._ffi import lib
from redlatch.aio import elections
from support import Proxy, RedisServer, wait_until
from support.wire import fields, remaining_ms

Run = Callable[..., Any]


@pytest.fixture(params=RUNNERS)
def run_in(request: pytest.FixtureRequest) -> Run:
    """Runs a coroutine function in one of the loops. The function gets the World."""
    return partial(run, request.param)


# ------------------------------------------------------------------------------------------------- once and locked --


def test_once(run_in: Run, server: RedisServer, lock_name: str) -> None:
    lazy = redlatch.aio.connect(server.url, lazy=True)

    @lazy.once(lock_name, at_least=60, at_most=600)
    async def job(who: str) -> str:
        """Says who."""
        return who

    async def main(world: World) -> None:
        assert (await job("one"), await job("one again")) == ("one", None)
        assert job.__name__ == "job" and job.__doc__ == "Says who."
        assert 59_000 < remaining_ms(server, lock_name) <= 60_000
        await lazy.close()  # close() releases holds, but this one was left
        assert 0 < remaining_ms(server, lock_name) <= 60_000
        async with redlatch.aio.connect(server.url) as other:
            async with other.once(lock_name, at_most=60) as hold:
                assert hold is None
            server.admin.delete(lock_name)
            once = other.once(lock_name, at_most=60)
            async with once as outer, once as inner:
                assert outer is not None and inner is None
                found: List[Optional[redlatch.aio.Hold]] = []

                async def elsewhere() -> None:
                    async with once as hold:
                        found.append(hold)

                await world.spawn(elsewhere).value()
                assert found == [None]
            assert fields(server, lock_name) == {}
            await world.spawn(once.__aenter__).value()
            assert fields(server, lock_name) != {}
            await once.__aexit__(None, None, None)  # in another task than __aenter__
            assert fields(server, lock_name) == {}
            with pytest.raises(KeyError):
                async with other.once(lock_name, at_least=60, at_most=600):
                    raise KeyError("of the job")
            assert 59_000 < remaining_ms(server, lock_name) <= 60_000
            assert other.stats()["held"] == other.stats()["lost"] == 0

    run_in(main)


def test_a_cancelled_job_keeps_at_least(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:

            async def job() -> None:
                async with client.once(lock_name, at_least=60, at_most=600) as hold:
                    running.append(hold)
                    await world.sleep(100)

            running: List[Any] = []
            started = world.spawn(job)
            await world.until(lambda: running, "for the job")
            started.cancel()
            assert (await started.end())[0] == "cancelled"
            assert 59_000 < remaining_ms(server, lock_name) <= 60_000

    run_in(main)


def test_a_job_that_takes_too_long(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:
            with pytest.raises(redlatch.LockLostError) as caught:
                async with client.once(lock_name, at_most=0.2, on_lost="cancel"):
                    await world.sleep(100)
            assert caught.value.reason == "expired"
            with pytest.raises(redlatch.LockLostError):
                async with client.once(lock_name + "-2", at_least=0.2, at_most=0.2) as hold:
                    assert hold is not None
                    await hold.lost_event.wait()
            assert hold._lock._standing(hold._number).state == lib.REDLATCH_NOT_HELD
            async with client.once(lock_name + "-3", at_least=5, at_most=5, on_lost="cancel") as hold:
                assert hold is not None  # no loss is reported, since the hold is left
            assert client.stats()["held"] == 0

    run_in(main)


def test_at_least_that_is_over_before_the_reply(
    run_in: Run, proxy: Proxy, server: RedisServer, lock_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main(world: World) -> None:
        called: List[redlatch.aio.Hold] = []
        async with redlatch.aio.connect(proxy.url) as client:
            async with client.once(lock_name, at_least=0.15, at_most=60, on_lost=called.append) as hold:
                assert hold is not None
                slow = proxy.delay(200, direction="to_client")
            slow.release()
            assert not hold.lost and hold.count == 0
            after = client.lock(lock_name + "-after", lease=0.5, on_lost=called.append)
            assert await after.acquire()  # losses are reported in order, and this one comes last
            await world.until(lambda: called, "for that loss")
            assert [each._lock for each in called] == [after] and len(caplog.records) == 1
            with pytest.raises(redlatch.LockLostError):
                await after.release()
            assert client.stats()["held"] == 0

    run_in(main)


def test_locked(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:

            @client.locked(lock_name + ":{number}", timeout=0)
            async def down(number: int, nested: bool = False) -> int:
                """Counts."""
                return await down(number) if nested else number

            assert await down(1, nested=True) == 1 and down.__doc__ == "Counts."
            async with client.lock(f"{lock_name}:1", owner="handle"):
                assert await down(2) == 2
                with pytest.raises(redlatch.LockTimeoutError):
                    await down(1)

    run_in(main)


def test_what_is_refused() -> None:
    client = redlatch.aio.connect("redis://127.0.0.1:9/0", lazy=True)
    with pytest.raises(redlatch.InvalidArgumentError, match="at_least is 9, at_most 5; expected at_least <= at_most"):
        client.once("x", at_least=9, at_most=5)
    for decorate in (client.once("x", at_most=5), client.locked("x")):
        with pytest.raises(TypeError, match="of an asynchronous client decorates coroutine functions"):
            decorate(print)  # type: ignore[operator]
    with pytest.raises(redlatch.InvalidArgumentError, match="on_loss is 7; expected a function"):
        client.elect("x", on_loss=7)  # type: ignore[arg-type]
    with pytest.raises(redlatch.InvalidArgumentError, match="on_lost is 'stop'; expected 'raise', 'log', 'cancel' or"):
        client.locked("x", on_lost="stop")  # type: ignore[arg-type]
    for each in (client.once("x", at_most=5), client.elect("x")):
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            pickle.dumps(each)


# -------------------------------------------------------------------------------------------------------- elections --


class Story:
    """The calls of candidates' callbacks, in order. on_gain is a coroutine function that takes 10 ms."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.events: List[str] = []

    def candidate(self, client: redlatch.aio.Client, name: str, who: str) -> redlatch.aio.Election:
        """Returns a candidate whose callbacks append to `events`."""

        async def gain() -> None:
            self.events.append(f"{who} gain")
            await self.world.sleep(0.01)
            self.events.append(f"{who} gained")

        return client.elect(name, on_gain=gain, on_loss=lambda: self.events.append(f"{who} loss"))

    async def wait(self, *lines: str) -> None:
        """Waits until the events are exactly these."""
        await self.world.until(lambda: len(self.events) >= len(lines), f"for {lines}, and not {self.events}")
        assert self.events == list(lines)


def test_one_leads_and_another_follows(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        story = Story(world)
        async with redlatch.aio.connect(server.url) as near, redlatch.aio.connect(server.url) as far:
            one, other = story.candidate(near, lock_name, "one"), story.candidate(far, lock_name, "other")
            async with one:
                await story.wait("one gain", "one gained")
                async with other:
                    leader = await other.leader()
                    assert leader is not None and leader.owner.startswith(near.uuid)
                    assert one.is_leader and not other.is_leader
                    await one.resign()
                    assert not one.is_leader
                    await story.wait("one gain", "one gained", "one loss", "other gain", "other gained")
                    await one.resign()
                assert fields(server, lock_name) == {}
            assert story.events[5:] == ["other loss"]
            with pytest.raises(RuntimeError, match="has begun before"):
                await one.__aenter__()

    run_in(main)


def test_a_loss_is_noticed_and_it_stands_again(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        story = Story(world)
        async with redlatch.aio.connect(server.url, watchdog_lease=1.5) as client:
            async with story.candidate(client, lock_name, "one") as election:
                await story.wait("one gain", "one gained")
                server.admin.delete(lock_name)
                await story.wait("one gain", "one gained", "one loss", "one gain", "one gained")
                assert election.is_leader
            assert client.stats()["held"] == 0

    run_in(main)


def test_a_candidate_outlives_errors(
    run_in: Run, proxy: Proxy, lock_name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(elections, "RETRY", 0.05)

    async def main(world: World) -> None:
        story = Story(world)
        async with redlatch.aio.connect(proxy.url, unreachable_timeout=0.2) as client:
            refusing = proxy.refuse()
            proxy.cut_all()
            async with story.candidate(client, lock_name, "one"):
                await world.until(lambda: "goes on after" in caplog.text, "for the complaint")
                proxy.discard(refusing)
                await story.wait("one gain", "one gained")

    with caplog.at_level(logging.WARNING, "redlatch"):
        run_in(main)
    assert caplog.text.count("goes on after") == 1


def test_a_candidate_goes_on_until_the_server_is_mended(
    run_in: Run,
    fresh_server: RedisServer,
    lock_name: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(elections, "RETRY", 0.05)

    async def main(world: World) -> None:
        story = Story(world)
        async with redlatch.aio.connect(fresh_server.url, unreachable_timeout=0.2) as client:
            fresh_server.admin.replicaof("127.0.0.1", "1")
            async with story.candidate(client, lock_name, "one") as election:
                await world.until(lambda: "goes on after" in caplog.text, "for the complaint")
                scripts = client.stats()["scripts"]
                await world.until(lambda: client.stats()["scripts"] > scripts + 1, "for it to repeat")
                assert not election.is_leader and story.events == []
                fresh_server.admin.replicaof("NO", "ONE")
                await story.wait("one gain", "one gained")

    with caplog.at_level(logging.WARNING, "redlatch"):
        run_in(main)
    assert caplog.text.count("goes on after") == 1


@pytest.mark.parametrize("where", ["on_gain", "leading"])
@pytest.mark.parametrize("loop", RUNNERS)
def test_a_leader_whose_task_is_cancelled_calls_on_loss(
    server: RedisServer, lock_name: str, loop: str, where: str
) -> None:
    """A loop that ends cancels all tasks, even those that nobody waits for."""
    events: List[str] = []

    async def main(world: World) -> None:
        async def gain() -> None:
            events.append("gain")
            if where == "on_gain":
                await world.sleep(100)

        async def loss() -> None:
            await world.sleep(0.01)
            events.append(f"loss {election.is_leader} {len(fields(server, lock_name))}")

        client = await redlatch.aio.connect(server.url)
        election = client.elect(lock_name, on_gain=gain, on_loss=loss)
        await election.__aenter__()
        await world.until(lambda: events, "for it to lead")
        kept.append(client)

    kept: List[redlatch.aio.Client] = []  # keeps the client, so that its end does not release the lock
    run(loop, main)
    assert events == ["gain", "loss False 1"]
    wait_until(lambda: fields(server, lock_name) == {})


@pytest.mark.parametrize("which", ["on_gain", "on_loss"])
def test_a_callback_that_raises_ends_the_candidacy(
    run_in: Run, server: RedisServer, lock_name: str, which: str
) -> None:
    async def main(world: World) -> None:
        events: List[str] = []

        async def fail() -> None:
            events.append("fails")
            raise KeyError(which)

        async with redlatch.aio.connect(server.url) as client:
            callbacks = {"on_gain": lambda: events.append("gain"), "on_loss": lambda: events.append("loss")}
            callbacks[which] = fail  # type: ignore[assignment]
            with pytest.raises(KeyError, match=which):
                async with client.elect(lock_name, **callbacks):
                    await world.until(lambda: events, "for on_gain")
            assert events == (["fails"] if which == "on_gain" else ["gain", "fails"])
            assert fields(server, lock_name) == {} and client.stats()["held"] == 0

    run_in(main)


def test_errors_and_ends(
    run_in: Run, server: RedisServer, lock_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main(world: World) -> None:
        story = Story(world)
        client = await redlatch.aio.connect(server.url)
        server.admin.lpush(lock_name + "-list", "no lock")
        with pytest.raises(redlatch.WrongTypeError):
            async with client.elect(lock_name + "-list") as election:
                await world.until(lambda: election._error, "for the error")
        async with client.lock(lock_name), client.elect(lock_name) as waiting:
            await world.until(lambda: waiting._waits, "for it to wait")
            caplog.clear()
            await waiting.resign()
            assert caplog.records == []
        with pytest.raises(ZeroDivisionError):
            async with client.elect(lock_name):
                raise ZeroDivisionError

        async def resign() -> None:
            await own.resign()

        own = client.elect(lock_name, on_gain=resign)
        async with own:
            await world.until(lambda: own._resigned, "for a callback that resigns")
        async with story.candidate(client, lock_name, "one") as election:
            await story.wait("one gain", "one gained")
            await client.close()
            await story.wait("one gain", "one gained", "one loss")
            assert not election.is_leader
        assert fields(server, lock_name) == {}

    run_in(main)


def test_a_cancelled_block_resigns_first(run_in: Run, server: RedisServer, lock_name: str) -> None:
    async def main(world: World) -> None:
        story = Story(world)
        async with redlatch.aio.connect(server.url) as client:

            async def stand() -> None:
                async with story.candidate(client, lock_name, "one"):
                    await world.sleep(100)

            started = world.spawn(stand)
            await story.wait("one gain", "one gained")
            started.cancel()
            assert (await started.end())[0] == "cancelled"
            assert story.events[2:] == ["one loss"] and fields(server, lock_name) == {}

    run_in(main)
