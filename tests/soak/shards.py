# SPDX-License-Identifier: Apache-2.0
"""Replication offsets on a cluster whose slots do not migrate: each shard has its own masters and history."""

from __future__ import annotations

from dataclasses import replace
from types import TracebackType
from typing import List, Optional, Sequence, Type

from acknowledged import Shard
from checkers import replicated
from history import History
from support.cluster import Cluster
from support.replication import ReplicationObserver, Streams


class ShardObservers:
    """Reads the streams of all masters, from __init__ to finish()."""

    def __init__(self, cluster: Cluster, shards: Sequence[Shard], keys: Sequence[str]) -> None:
        self._cluster = cluster
        self._shards = shards
        self._keys_of = [[key for key in keys if cluster.master_of(key) in shard.servers] for shard in shards]
        self._observers = [ReplicationObserver(shard.servers) for shard in shards]

    def finish(self) -> List[Streams]:
        """Returns all streams, by shard."""
        masters = self._cluster.masters
        present = [next(one for one in shard.servers if one in masters) for shard in self._shards]
        return [observer.finish(master) for observer, master in zip(self._observers, present)]

    def judge(self, history: History, streams: Sequence[Streams], epoch: int) -> List[str]:
        """Prints the figures of each shard. Returns what its offsets do not explain. No grant had to be
        acknowledged."""
        found: List[str] = []
        for keys, of_shard in zip(self._keys_of, streams):
            operations = [each for each in history.operations if each.name in keys]
            verdict = replicated.judge(replace(history, operations=operations), of_shard, acknowledged=False,
                                       epoch=epoch)
            print(verdict.text())
            found += verdict.violations
        return found

    def __enter__(self) -> ShardObservers:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        for observer in self._observers:
            observer.stop()
