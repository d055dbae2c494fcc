"""Sharing limits by beats, simulated: the tasks together never use more than the limit, and soon use all of it."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rageval_spark.engine import beats
from rageval_spark.engine.beats import NEW_RUN, SETTLED, Beats
from rageval_spark.engine.files import Folder

SERVER = "http://judge/v1"


@dataclass
class Job:
    """Tasks of one job in simulated time. Each uses its share as long as it may, and what it has in flight drains."""

    folder: Path
    planned: int
    limit: int = 10
    now: float = 0.0
    tasks: list[Member] = field(default_factory=list)

    def join(self, index: int) -> Member:
        member = Member(self, Beats(Folder(str(self.folder)), index, self.planned, clock=lambda: self.now), self.now)
        self.tasks.append(member)
        member.beat()
        self.check()
        return member

    def run(self, seconds: float, step: float = 0.25) -> None:
        """Let time pass; the limit is kept at every moment of it."""
        for _ in range(round(seconds / step)):
            self.now += step
            for task in list(self.tasks):
                if self.now >= task.next_beat - 1e-9:
                    task.beat()
                    self.check()
                task.work(step)
                self.check()

    def check(self) -> None:
        assert sum(task.in_flight for task in self.tasks) <= self.limit
        assert sum(task.fraction for task in self.tasks) <= 1.0 + 1e-9

    @property
    def shares(self) -> list[int]:
        return [task.share for task in self.tasks]


@dataclass
class Member:
    job: Job
    beats: Beats
    next_beat: float
    share: int = 0
    fraction: float = 0.0
    lease_until: float = 0.0
    in_flight: int = 0
    slow: float = 0.0
    """Share of its requests that last for another step."""
    delay: float = 0.0
    """By how much its next beat comes late."""

    def beat(self) -> None:
        self.lease_until = self.job.now + self.beats.lease_s
        shares, self.fraction = self.beats.beat({SERVER: self.job.limit}, dict, {SERVER: self.in_flight})
        self.share = shares[SERVER]
        self.next_beat = self.job.now + 1.0 + self.delay
        self.work(0.0)

    def work(self, step: float) -> None:
        if self.job.now >= self.lease_until:
            self.share, self.fraction = 0, 0.0
        kept = int(self.in_flight * self.slow) if step else self.in_flight
        self.in_flight = max(self.share, kept)

    def leave(self) -> None:
        self.beats.leave({})
        self.job.tasks.remove(self)

    def die(self) -> None:
        self.job.tasks.remove(self)


def test_tasks_that_start_together_have_all_of_the_limit_at_once(tmp_path: Path) -> None:
    job = Job(tmp_path, planned=3)
    for index in (2, 0, 1):
        job.join(index)
    assert sorted(job.shares) == [3, 3, 4]
    job.run(20)
    assert sorted(job.shares) == [3, 3, 4]
    assert [task.fraction for task in job.tasks] == pytest.approx([1 / 3] * 3, abs=1e-3)


def test_the_remainder_goes_by_index(tmp_path: Path) -> None:
    job = Job(tmp_path, planned=3, limit=11)
    tasks = [job.join(index) for index in (1, 2, 0)]
    assert [task.share for task in tasks] == [4, 3, 4]


def test_a_task_has_no_share_where_there_are_more_tasks_than_places(tmp_path: Path) -> None:
    job = Job(tmp_path, planned=4, limit=2)
    tasks = [job.join(index) for index in range(4)]
    job.run(5)
    assert job.shares == [1, 1, 0, 0]
    tasks[0].leave()
    job.run(2)
    assert job.shares == [1, 1, 0]


def test_the_share_of_one_that_leaves_passes_to_the_others_within_two_periods(tmp_path: Path) -> None:
    job = Job(tmp_path, planned=3)
    tasks = [job.join(index) for index in range(3)]
    job.run(3)
    tasks[0].leave()
    job.run(2)
    assert job.shares == [5, 5]
    tasks[1].leave()
    job.run(2)
    assert job.shares == [10]
    assert job.tasks[0].fraction == 1.0


def test_the_share_of_one_that_dies_passes_to_the_others_when_its_beat_is_stale(tmp_path: Path) -> None:
    job = Job(tmp_path, planned=2)
    dead, _ = (job.join(index) for index in range(2))
    job.run(5)
    dead.die()
    job.run(1)
    assert job.shares == [5]
    job.run(4)
    assert job.shares == [10]


def test_one_that_joins_late_waits_until_its_share_is_free(tmp_path: Path) -> None:
    job = Job(tmp_path, planned=1)
    first = job.join(0)
    job.run(NEW_RUN + 1)
    assert job.shares == [10]
    first.slow = 0.9
    late = job.join(1)
    assert (late.share, late.fraction) == (0, 0.0)
    job.run(1.75)
    assert late.share == 0
    job.run(10)
    assert job.shares == [5, 5]


def test_a_task_that_is_tried_again_joins_like_any_other(tmp_path: Path) -> None:
    job = Job(tmp_path, planned=2)
    dead, _ = (job.join(index) for index in range(2))
    job.run(2)
    dead.die()
    job.join(0)
    job.run(8)
    assert sorted(job.shares) == [5, 5]


def test_shares_of_planned_tasks_that_never_show_up_are_dealt_out_in_the_end(tmp_path: Path) -> None:
    job = Job(tmp_path, planned=5)
    for index in range(2):
        job.join(index)
    job.run(SETTLED - 2)
    assert job.shares == [2, 2]
    job.run(4)
    assert job.shares == [5, 5]
    job.join(4)
    job.run(6)
    assert sorted(job.shares) == [3, 3, 4]


def test_a_planned_task_that_starts_a_little_later_has_its_share_at_once(tmp_path: Path) -> None:
    job = Job(tmp_path, planned=2)
    job.join(0)
    job.run(NEW_RUN - 3)
    assert job.join(1).share == 5


def test_one_whose_beat_came_too_late_lost_its_share_and_waits(tmp_path: Path) -> None:
    job = Job(tmp_path, planned=2)
    slow, _ = (job.join(index) for index in range(2))
    job.run(5)
    slow.delay = 4.0
    job.run(5)
    assert job.shares == [0, 10]
    slow.delay = 0.0
    job.run(6)
    assert job.shares == [5, 5]


def test_a_stall_of_the_whole_machine_costs_nobody_its_share(tmp_path: Path) -> None:
    job = Job(tmp_path, planned=2)
    for index in range(2):
        job.join(index)
    job.run(3)
    job.now += 20
    for task in job.tasks:
        task.work(0.25)
    assert job.shares == [0, 0]
    job.run(0.25)
    assert job.shares == [5, 5]


def test_one_that_is_alone_is_never_too_late(tmp_path: Path) -> None:
    job = Job(tmp_path, planned=1)
    job.join(0).delay = 9.0
    job.run(10.75)
    assert job.shares == [0]
    job.run(0.5)
    assert job.shares == [10]


def test_a_run_that_starts_again_in_the_same_folder_gets_over_the_old_beats(tmp_path: Path) -> None:
    before = Job(tmp_path, planned=2)
    for index in range(2):
        before.join(index)
    before.run(15)
    job = Job(tmp_path, planned=2)
    for index in range(2):
        job.join(index)
    job.run(6)
    assert job.shares == [5, 5]


@pytest.mark.parametrize("seed", range(12))
def test_whoever_comes_and_goes_the_limit_is_kept_and_in_the_end_used(tmp_path: Path, seed: int) -> None:
    luck = random.Random(seed)
    planned = luck.randint(1, 5)
    job = Job(tmp_path, planned, limit=luck.choice([3, 10, 64]))
    waiting = list(range(planned))
    luck.shuffle(waiting)
    for _ in range(50):
        event = luck.random()
        if waiting and event < 0.4:
            job.join(waiting.pop())
        elif event < 0.5:
            job.join(luck.randrange(planned))  # a retry
        elif job.tasks and event < 0.58:
            luck.choice(job.tasks).leave()
        elif job.tasks and event < 0.64:
            luck.choice(job.tasks).die()
        elif event > 0.94:
            job.now += luck.uniform(0, 10)  # the whole machine stalls
        for task in job.tasks:
            task.delay = luck.uniform(0.0, 1.2)
            task.slow = luck.choice([0.0, 0.5, 0.9])
        job.run(luck.choice([0.25, 0.5, 1, 3]))
    if not job.tasks:
        job.join(0)
    for task in job.tasks:
        task.delay = task.slow = 0.0
    job.run(SETTLED + 6)
    assert sum(job.shares) == job.limit
    assert max(job.shares) - min(job.shares) <= 1
    assert sum(task.fraction for task in job.tasks) == pytest.approx(1.0)


def test_a_beat_tells_what_a_task_does(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    one = Beats(folder, 0, 1)
    one.beat({SERVER: 10}, lambda: {"done": False, "counts": {"prompts": 3}}, {SERVER: 4})
    [beat] = beats.read(folder)
    assert (beat["index"], beat["sequence"], beat["counts"], beat["in_flight"]) == (0, 1, {"prompts": 3}, {SERVER: 4})
    assert beat["held"][SERVER] == 10
    one.leave({"counts": {"prompts": 5}})
    [beat] = beats.read(folder)
    assert (beat["done"], beat["held"], beat["counts"]) == (True, {}, {"prompts": 5})


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"sequence": 3}'])
def test_what_is_no_beat_is_passed_over(tmp_path: Path, content: str) -> None:
    (tmp_path / "task-00009-x.json").write_text(content)
    assert Beats(Folder(str(tmp_path)), 0, 1).beat({SERVER: 10}, dict, {}) == ({SERVER: 10}, 1.0)


def test_a_stop_is_seen_by_all(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path / "beats"))
    one = Beats(folder, 0, 1)
    assert beats.read(folder) == []
    assert not one.stop_asked()
    beats.ask_to_stop(folder)
    assert one.stop_asked()
    assert beats.read(folder) == []


def test_names_sort_by_index(tmp_path: Path) -> None:
    made = [Beats(Folder(str(tmp_path)), index, 1).name for index in (2, 10, 1)]
    assert sorted(made) == [made[2], made[0], made[1]]
