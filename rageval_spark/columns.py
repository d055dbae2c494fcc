"""A metric as a column: for those who have a DataFrame or SQL, and want a score beside each row."""

from __future__ import annotations

import time
import uuid
from typing import Any

from rageval_spark.config import metric_of, use_of
from rageval_spark.engine import store as replies
from rageval_spark.engine.files import Folder
from rageval_spark.engine.plan import FieldGroup, Plan
from rageval_spark.engine.work import Work
from rageval_spark.errors import ConfigError
from rageval_spark.judges.http import Secret
from rageval_spark.judges.preflight import checked, key_of
from rageval_spark.judges.settings import Endpoint, HttpEmbeddings, Judge
from rageval_spark.metric import Metric
from rageval_spark.spark import placing, session
from rageval_spark.spark import score as scoring
from rageval_spark.spark.udf import scoring_udf


def as_udf(metric: Metric | str, judge: Judge | None = None, embeddings: HttpEmbeddings | None = None, *,
           store: str | None = None, max_tasks: int | None = None, name: str | None = None) -> Any:
    """A metric (an object, or a name of the catalogue) as a pandas UDF for `withColumn`, or `spark.udf.register` and SQL.

    Its arguments are the columns for the fields that the metric reads, in the order of `metric.reads`; values are taken
    as those of a dataset are. It gives a struct: `score` (null unless scored), `status`, `code`, `reason`, `flags`.

    Replies are kept in `store`, a folder that driver and executors share: the `output` of runs, whose replies it uses
    and which use its own. Without it they are forgotten with the task, and every action on the column pays again; so does
    a sort by it, which computes it twice. Where a plan takes several fields of one such column, it is computed once;
    in SQL call it once in a subquery. Equal prompts of tasks that run at once are asked by each. An action that stops at
    the first rows that pass a filter may have rows judged that were read ahead; limit rows before the column.

    The judge's limits are divided evenly among `max_tasks`, the most that compute the column at once; by default all that
    the session can run. Give it where there are fewer partitions, or where the cluster grows. Another UDF in the same
    plan has the limits to itself: give each judge its part.

    Asks the judge one prompt at once; the key is read now, and travels only within the function. Raises ConfigError, and
    JudgeRefused where no prompt could succeed.
    """
    use = use_of(metric_of(metric, {}) if isinstance(metric, str) else metric, judge, embeddings)
    plan = Plan((FieldGroup({field: field for field in use.metric.reads}, (use,)),))
    if plan.mode != "live":
        raise ConfigError(f"a column is computed at once, but judge.mode is {plan.mode}; use evaluate for batches")
    tasks = _tasks(plan, max_tasks)
    folder = Folder(store) if store is not None else None
    scoring.check_executors(session.active(), folder)
    keys: dict[Endpoint, Secret] = {endpoint: key_of(endpoint) for endpoint in plan.endpoints()}
    plan = plan.equipped(keys, checked(keys))
    work = Work(plan, f"column-{uuid.uuid4().hex[:12]}", folder and folder / "replies", planned_tasks=tasks,
                oldest=plan.reuse_since(time.time()))
    return scoring_udf(work, replies.opened(work.store) if work.store else None, name or use.name)


def _tasks(plan: Plan, max_tasks: int | None) -> int:
    """Among how many tasks the limits are divided. Raises ConfigError where one would have no request of its own."""
    limits = plan.limits()
    if max_tasks is not None and max_tasks < 1:
        raise ConfigError(f"max_tasks is at least 1, found {max_tasks}")
    if not limits:
        return 1
    tasks = max_tasks or placing.slots(session.active())
    if tasks > min(limits.values()):
        raise ConfigError(f"{tasks} tasks may compute the column at once, but max_concurrency is {min(limits.values())}, so that "
                          f"some would have no request of their own. Raise it, or repartition the DataFrame into fewer "
                          f"parts and give their number as max_tasks")
    return tasks
