# SPDX-License-Identifier: Apache-2.0
"""Tests of the checker of replication offsets with made-up records, and of its reader with two real servers."""

from __future__ import annotations

from typing import List, Sequence

import pytest
import redlatch
from checkers.replicated import Verdict, judge
from history import History, Operation
from planted import MS, turn
from support import encode_command, wait_until
from support.replicas import Pair
from support.replication import Promotion, ReplicationObserver, Stream, Streams, Write

# The first master, whose replica is promoted at the offset 1000. The server's time is CLOCK_MONOTONIC.
PROMOTIONS = [Promotion("old", "", 0), Promotion("new", "old", 1000)]
# Two overlapping holds: the older one from 10 to 60 ms, the newer one from 40 ms on.
OLDER, NEWER = turn(0, facts={"owner": "x"}), turn(0, process="c-2.0", facts={"owner": "y"})
NEWER.got, NEWER.checks = 40 * MS, [(40 * MS, 90 * MS)]


def take(replid: str, offset: int, owner: str, until: int = 5000) -> List[Write]:
    """Returns a grant as a stream has it: two commands of one transaction."""
    return [Write(replid, offset, "n", owner), Write(replid, offset, "n", "", until)]


def judged(writes: List[Write], promotions: List[Promotion] = PROMOTIONS, acknowledged: bool = False,
           operations: Sequence[Operation] = (OLDER, NEWER)) -> Verdict:
    """Returns the verdict on the two holds."""
    streams = Streams(promotions, writes, promotions[-1].replid)
    return judge(History(list(operations)), streams, acknowledged=acknowledged, epoch=0)


def test_a_grant_that_the_new_master_never_had_explains_an_overlap() -> None:
    verdict = judged(take("old", 1001, "x") + take("new", 1200, "y"))
    assert (verdict.violations, verdict.by_grant, verdict.lost, verdict.grants) == ([], 1, 1, 2)


def test_so_does_a_grant_of_a_master_that_does_not_know_yet() -> None:
    """The newer grant is the lost one."""
    verdict = judged(take("new", 1200, "x") + take("old", 1300, "y"))
    assert (verdict.violations, verdict.by_grant, verdict.lost) == ([], 1, 1)


@pytest.mark.parametrize("writes", [
    take("old", 1000, "x") + take("new", 1200, "y"),
    take("old", 900, "x") + take("old", 950, "y"),
    take("old", 1001, "x") + take("old", 1100, "y"),
    take("new", 1100, "x") + take("new", 1200, "y"),
    take("old", 1001, "x") + take("new", 1100, "x") + take("new", 1200, "y"),
], ids=["replicated", "same master", "same master, both lost", "new master", "repeated on the new master"])
def test_a_grant_that_was_known_explains_nothing(writes: List[Write]) -> None:
    (violation,) = judged(writes).violations
    assert violation.startswith("exclusion: n was held by c-1.0.0 and c-2.0.0 at once, for 20.000 ms")


def test_without_records_nothing_is_explained() -> None:
    found = judged(take("new", 1200, "y")).violations
    assert found[0] == "replication: no stream has the grant of n to c-1.0.0"
    assert found[1].startswith("exclusion: ")


def test_offsets_are_followed_over_several_masters() -> None:
    """The third master lacks a grant of the first or second if it was promoted at a lower offset than the grant's."""
    third = [*PROMOTIONS, Promotion("last", "new", 2000)]
    assert judged(take("old", 1000, "x") + take("last", 2100, "y"), third).violations
    assert not judged(take("old", 1001, "x") + take("last", 2100, "y"), third).violations
    assert judged(take("new", 2000, "x") + take("last", 2100, "y"), third).violations
    assert not judged(take("new", 2001, "x") + take("last", 2100, "y"), third).violations


def test_a_promotion_may_be_taken_back() -> None:
    """The first master goes on. The last one is promoted behind the grants that it made meanwhile."""
    promotions = [*PROMOTIONS, Promotion("last", "old", 2000)]
    on_both = take("old", 1500, "x") + take("new", 1200, "y")
    verdict = judged(on_both, promotions)
    assert (verdict.violations, verdict.by_grant, verdict.lost) == ([], 1, 1)
    assert judged(take("old", 1500, "x") + take("last", 2100, "y"), promotions).violations
    assert judged(on_both[:2], promotions, acknowledged=True, operations=[OLDER]).violations == []
    assert judged(on_both[2:], promotions, acknowledged=True, operations=[NEWER]).violations != []


def test_a_promotion_behind_an_unknown_history_is_reported() -> None:
    (found,) = judged([], [Promotion("new", "gone", 1000)], operations=[]).violations
    assert found == "replication: new continues gone, which nobody read"


def test_an_extension_that_the_new_master_never_had_explains_an_overlap() -> None:
    """The lease that the new master knew ended at 30 ms, and the newer grant came at 40 ms."""
    known = take("old", 900, "x", until=30) + take("new", 1200, "y")
    assert judged(known).violations
    verdict = judged([*known, Write("old", 1001, "n", "", 2000)])
    assert (verdict.violations, verdict.by_extension, verdict.lost) == ([], 1, 0)
    assert judged([*known, Write("old", 1000, "n", "", 2000)]).violations
    assert judged(take("old", 900, "x", until=41) + known[2:] + [Write("old", 1001, "n", "", 2000)]).violations


def test_an_extension_belongs_to_who_had_the_key() -> None:
    known = take("old", 900, "x", until=30) + take("new", 1200, "y")
    assert judged(known + take("old", 1001, "z", until=2000)).violations


def test_with_acknowledged_grants_every_overlap_is_a_violation() -> None:
    """A grant that a new master never had is a violation, too, with or without an overlap."""
    explained = take("old", 1001, "x") + take("new", 1200, "y")
    lost, overlap = judged(explained, acknowledged=True).violations
    assert lost == "replication: the grant of n to c-1.0.0, which was acknowledged, was lost"
    assert overlap.startswith("exclusion: ")
    assert judged(explained, acknowledged=True, operations=[OLDER]).violations == [lost]
    assert judged(take("old", 1000, "x"), acknowledged=True, operations=[OLDER]).violations == []


# ---------------------------------------------------------------------------------------------- the reader --


def test_a_stream_is_counted_to_the_end_of_each_transaction() -> None:
    parts = [
        encode_command("SELECT", "0"), encode_command("MULTI"), encode_command("hset", "n", "x", "1"),
        encode_command("PEXPIREAT", "n", "70"), encode_command("EXEC"),
        encode_command("SET", "p", "y", "PXAT", "80"), encode_command("PING"),
    ]
    data, offset = b"".join(parts), 100 + len(b"".join(parts[:5]))
    expected = [Write("id", offset, "n", "x"), Write("id", offset, "n", "", 70)]
    expected.append(Write("id", offset + len(parts[5]), "p", "y", 80))
    stream, found = Stream("id", 100), []
    for at in range(len(data)):
        found += stream.feed(data[at : at + 1])
    assert found == expected and stream.offset == 100 + len(data)


def owner_of(lock: redlatch.Lock) -> str:
    """Returns the owner of a lock that is held."""
    hold = lock.held()
    assert hold is not None
    return hold.owner


def test_the_offset_of_a_promotion_parts_what_the_new_master_has_from_what_it_lacks() -> None:
    """One grant before the promotion, and one on each master after it. The order of the last two does not matter."""
    with Pair() as pair, ReplicationObserver([pair.master, pair.replica]) as observer:
        with redlatch.connect(pair.master.url, release_on_close=False) as old:
            before, after = old.lock("before", lease=60), old.lock("after", lease=60)
            before.acquire()
            wait_until(pair.in_step, 10.0)
            pair.replica.admin.replicaof("NO", "ONE")
            after.acquire()
            with redlatch.connect(pair.replica.url, release_on_close=False) as new:
                again = new.lock("after", lease=60)
                again.acquire()
                wait_until(lambda: observer.has_all_of(pair.master), 10.0)
                first_owner, lost_owner, new_owner = map(owner_of, (before, after, again))
        streams = observer.finish(pair.replica)
    first, second = sorted(streams.promotions, key=lambda each: bool(each.parent))
    assert (second.parent, streams.last) == (first.replid, second.replid)
    takes = {write.owner: write for write in streams.writes if write.owner}
    assert takes[first_owner].offset <= second.cut < takes[lost_owner].offset
    assert (takes[lost_owner].replid, takes[new_owner].replid) == (first.replid, second.replid)
