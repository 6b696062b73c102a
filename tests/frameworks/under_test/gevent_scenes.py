# SPDX-License-Identifier: Apache-2.0
"""What greenlets do with locks, for test_gevent.py: `gevent_scenes.py SCENE before|after`.

gevent patches before or after redlatch is imported. Each scene prints nothing and ends with 0, or raises.
"""

import sys

if sys.argv[2] == "after":
    import redlatch

from gevent import monkey

monkey.patch_all()

import gc  # noqa: E402
import logging  # noqa: E402
import os  # noqa: E402
import socket  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402
import urllib.parse  # noqa: E402

import gevent  # noqa: E402
import redlatch  # noqa: E402
import redlatch.hub  # noqa: E402

MANY = 1000
BUSY = 0.01  # the part of a core that all waiting greenlets may use
LEASE = 1


def until(true, seconds=10.0):
    """Waits until something is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, true
        gevent.sleep(0.005)


def free(client, name):
    """Waits until nobody holds a lock."""
    until(lambda: not client.inspect(name).locked)


def halt_server(client, milliseconds):
    """Makes the server answer nothing for so long."""
    address = urllib.parse.urlsplit(client.url)
    with socket.create_connection((address.hostname, address.port)) as connection:
        connection.sendall(b"CLIENT PAUSE %d ALL\r\n" % milliseconds)
        assert connection.recv(100).startswith(b"+OK")


def logged_from_now_on():
    """Returns a list to which the messages of the logger redlatch are added from now on."""
    logged = []
    handler = logging.Handler()
    handler.emit = lambda record: logged.append(record.getMessage())
    logging.getLogger("redlatch").addHandler(handler)
    return logged


def owners(client):
    """Each greenlet is an owner of its own."""
    lock = client.lock("owners")
    assert lock.acquire() and lock.acquire()
    assert not gevent.spawn(lambda: lock.acquire(blocking=False)).get()
    errors = gevent.spawn(lambda: (lock.hold_count(), lock.owned())).get()
    assert errors == (0, False)
    lock.release()
    lock.release()
    assert gevent.spawn(lambda: lock.acquire(blocking=False)).get()
    free(client, "owners")  # nobody renews it any more
    with client.lock("owners", owner="handle") as held:
        gevent.spawn(held.release).get()
        assert not client.lock("owners").state().locked


def exclude(client):
    """Greenlets exclude each other, and the hub runs on while they wait."""
    inside, done = [], []

    def work(_):
        with client.lock("exclude", timeout=30):
            inside.append(None)
            assert len(inside) == 1
            gevent.sleep(0.002)
            inside.pop()
            done.append(None)

    gevent.joinall([gevent.spawn(work, each) for each in range(100)], raise_error=True)
    assert len(done) == 100


def kinds(client):
    """Semaphores, latches and wait_free() wait in the hub, too, and time out there."""
    semaphore = client.semaphore("semaphore", limit=1)
    permits = client.permit_semaphore("permits", limit=1)
    latch = client.latch("latch")
    latch.try_set_count(1)
    held = client.lock("held")
    held.acquire()
    assert semaphore.acquire() and permits.acquire()
    assert semaphore.acquire(0)
    ticks = []
    ticker = gevent.spawn(lambda: [ticks.append(gevent.sleep(0.01)) for _ in range(1000)])
    assert not semaphore.acquire(timeout=0.1)
    assert not permits.acquire(timeout=0.1)
    assert not permits.acquire_many(1, timeout=0.1)
    assert not latch.wait(timeout=0.1)
    assert not client.wait_free("held", timeout=0.1)
    assert not gevent.spawn(lambda: held.acquire(timeout=0.1)).get()
    for enter in (semaphore.__enter__, permits.__enter__):
        try:
            with gevent.Timeout(0.1):
                enter()
        except gevent.Timeout:
            continue
        raise AssertionError("entered")
    assert len(ticks) > 20
    ticker.kill()
    waiting = gevent.spawn(latch.wait)
    gevent.spawn_later(0.05, latch.count_down)
    assert waiting.get()
    semaphore.release()
    with semaphore:
        pass


def cancel(client):
    """A Timeout or kill() at a wait leaves nothing held or queued, at whatever moment it comes."""
    other = redlatch.connect()
    for kind in ("lock", "fair_lock", "fenced_lock"):
        lock = getattr(client, kind)("cancel")
        theirs = getattr(other, kind)("cancel")
        assert theirs.acquire()
        for pause in range(40):
            with gevent.Timeout(pause / 2000, False):
                lock.acquire()
                raise AssertionError("acquired")
            killed = gevent.spawn(lock.acquire)
            gevent.sleep(pause / 4000)
            killed.kill()
        until(lambda theirs=theirs: not theirs.state().waiters)
        theirs.release()
        free(client, "cancel")
        for pause in range(60):  # at the moment of the grant, or when the greenlet ends
            killed = gevent.spawn(lock.acquire)
            gevent.sleep(pause / 100_000)
            killed.kill()
            if killed.value is True:  # it held the lock when it ended
                assert lock.force_release()
            free(client, "cancel")
    other.close()


def release(client):
    """The hub runs on while a lock is released, and a greenlet that is killed meanwhile releases it all the same."""
    ticks = []
    ticker = gevent.spawn(lambda: [ticks.append(gevent.sleep(0.01)) for _ in range(1000)])
    with client.lock("release") as held:
        halt_server(client, 400)
        del ticks[:]
    assert len(ticks) > 20 and not held.count
    lock = client.lock("release")
    for end in (lock.release, lambda: lock.held().release()):
        assert lock.acquire()
        halt_server(client, 400)
        del ticks[:]
        end()
        assert len(ticks) > 20

    paused = []

    def work():
        with client.lock("release"):
            halt_server(client, 400)
            paused.append(None)

    killed = gevent.spawn(work)
    until(lambda: paused)
    killed.kill()
    free(client, "release")
    until(lambda: not client.stats()["held"])
    ticker.kill()


def permits_given_back(client):
    """A permit that is granted while its greenlet is killed is free again."""
    semaphore = client.semaphore("gate", limit=2)
    permits = client.permit_semaphore("slots", limit=2)
    assert semaphore.try_set_permits(2) and permits.try_set_permits(2)
    for pause in range(60):
        for made in (semaphore, permits):
            killed = gevent.spawn(made.acquire)
            gevent.sleep(pause / 100_000)
            killed.kill()
            if killed.value is True:
                semaphore.release()
            elif isinstance(killed.value, redlatch.Permit):
                killed.value.release()
            until(lambda made=made: made.available() == 2)


def losses(client):
    """A loss takes effect although no thread watches: on_lost is called in a greenlet, which may wait."""
    logged = logged_from_now_on()
    called = []

    def on_lost(held):
        gevent.sleep(0.01)
        with client.lock("another"):
            called.append(held.lost_reason)

    lock = client.lock("lost", on_lost=on_lost)
    try:
        with lock as held:
            client.lock("lost").force_release()
            assert held.lost_event.wait(10)
            until(lambda: called)
    except redlatch.LockLostError as error:
        assert error.reason == "missing"
    else:
        raise AssertionError("not raised")
    assert called == ["missing"] and len(logged) == 1, (called, logged)


def late_renewals(client):
    """A renewal that is answered after more than half of the lease is logged."""
    logged = logged_from_now_on()
    with client.lock("late") as held:
        halt_server(client, 1300)
        until(lambda: logged)
        assert logged[0].startswith(f"lock 'late' was renewed late: owner {held.owner}, "), logged
        assert not held.lost


def interrupted(client):
    """What a signal raises in the greenlet that collects events is raised in the main greenlet. Events are still
    collected."""
    for error in (KeyboardInterrupt, SystemExit):
        handler = logging.Handler()
        handler.emit = lambda record, error=error: throw(error())
        logging.getLogger("redlatch").addHandler(handler)
        lock = client.lock("interrupted")
        assert lock.acquire()
        client.lock("interrupted").force_release()
        try:
            gevent.sleep(10)
        except error:
            logging.getLogger("redlatch").removeHandler(handler)
        else:
            raise AssertionError("not raised")
        try:
            lock.release()
        except redlatch.LockLostError:
            pass
        with client.lock("after"):
            assert not gevent.spawn(lambda: client.lock("after").acquire(timeout=0.1)).get()


def throw(error):
    """Raises an exception. A lambda cannot."""
    raise error


def one_dispatcher(client):
    """If two hubs first use a client at the same time, they agree on the one that it belongs to."""
    made = []

    class Slow(redlatch.hub.HubDispatcher):
        def __init__(self, *arguments):
            made.append(self)
            monkey.get_original("time", "sleep")(0.3)
            super().__init__(*arguments)

    redlatch.hub.HubDispatcher = Slow
    seen = []

    def use():
        gevent.get_hub()
        seen.append(client._losses.dispatcher())
        gevent.sleep(1)  # the hub of the former holder hands the lock on

    for _ in range(2):
        monkey.get_original("_thread", "start_new_thread")(use, ())
    until(lambda: len(seen) == 2)
    assert len(made) == 1 and {id(each) for each in seen} == {id(made[0]), id(None)}, (made, seen)


def elections(client):
    """A candidate waits in the hub, and resigns there."""
    leads = threading.Event()
    with client.elect("leader", on_gain=leads.set) as first:
        assert leads.wait(10) and first.is_leader
        with client.elect("leader") as second:
            gevent.sleep(0.05)
            assert not second.is_leader
            first.resign()
            until(lambda: second.is_leader)
            third = client.elect("leader")
            with third:
                gevent.sleep(0.05)


def many(client):
    """1 000 waiting greenlets leave the hub idle."""
    held = client.lock("many")
    assert held.acquire()
    got = []

    def work():
        with client.lock("many"):
            got.append(None)

    greenlets = [gevent.spawn(work) for _ in range(MANY)]
    until(lambda: client.stats()["waiters"] == MANY)
    gevent.sleep(0.5)
    begun, cpu = time.monotonic(), time.process_time()
    gevent.sleep(5)
    share = (time.process_time() - cpu) / (time.monotonic() - begun)
    assert share < BUSY, share
    held.release()
    gevent.joinall(greenlets, raise_error=True)
    assert len(got) == MANY


def close(client):
    """Closing a client ends its waits."""
    other = redlatch.connect()
    assert other.lock("close").acquire()

    def work():
        try:
            client.lock("close").acquire()
        except redlatch.ClosedError:
            return "closed"

    waiting = [gevent.spawn(work) for _ in range(3)]
    gevent.sleep(0.1)
    client.close()
    gevent.joinall(waiting, timeout=5)
    assert [each.value for each in waiting] == ["closed"] * 3
    other.close()


def many_clients(client):
    """Clients that are gone leave no greenlet and no descriptor behind."""

    def count():
        gc.collect()
        gevent.sleep(0.01)
        gc.collect()
        return len(os.listdir("/proc/self/fd")), sum(isinstance(each, gevent.Greenlet) for each in gc.get_objects())

    def use(closed):
        other = redlatch.connect(client.url)
        with other.lock("many-clients"):
            assert not gevent.spawn(lambda: other.lock("many-clients").acquire(timeout=0.01)).get()
        if closed:
            other.close()

    use(True)
    before = count()
    for number in range(20):
        use(number % 2 == 0)
    until(lambda: count() == before)


def fork(client):
    """A child waits in its own hub. The copies of the parent's waiting greenlets get an error."""
    held = client.lock("fork")
    assert held.acquire()
    outcome = []

    def work():
        try:
            with client.lock("fork"):
                outcome.append("got it")
        except redlatch.ForkedError:
            outcome.append("forked")

    waiting = gevent.spawn(work)
    gevent.sleep(0.05)
    child = os.fork()
    if child == 0:
        try:
            waiting.join(5)
            assert outcome == ["forked"], outcome
            assert not client.lock("fork").acquire(timeout=0.1)
            assert gevent.spawn(lambda: client.lock("childs").acquire(timeout=5)).get()
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    held.release()
    waiting.join(5)
    assert outcome == ["got it"]


def threads(client):
    """A thread of gevent's pool waits in the C library, not in the hub. It is an owner of its own."""
    held = client.lock("threads")
    assert held.acquire()
    pool = gevent.get_hub().threadpool
    assert not pool.apply(lambda: client.lock("threads").acquire(timeout=0.1))
    waiting = pool.spawn(lambda: client.lock("threads").acquire(timeout=10))
    gevent.sleep(0.05)
    held.release()
    assert waiting.get()


def ends(client):
    """A program that waits for nothing ends. If its only greenlet waits for a lock, that is not taken for a wait for
    ever."""
    other = redlatch.connect(watchdog_lease=LEASE)
    assert other.lock("ends", lease=LEASE).acquire()
    assert client.lock("ends").acquire()  # granted when the other's lease is over
    gevent.get_hub().join()


if __name__ == "__main__":
    globals()[sys.argv[1]](redlatch.connect(watchdog_lease=2))
