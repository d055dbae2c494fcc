"""One set of rows in every form that a dataset may have: the samples and the scores are the same."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from rageval_spark import EmbeddedJudge, as_udf, score
from rageval_spark.engine.plan import FieldGroup
from rageval_spark.metrics import CATALOGUE
from rageval_spark.spark.files import Source
from rageval_spark.spark.read import read, resolved
from rageval_spark.spark.samples import normalised

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIELDS = {"sample_id": "id", "user_input": "question", "response": "answer", "retrieved_contexts": "contexts",
          "reference": "reference"}
TEXT = st.text(st.sampled_from("abé北🦊 \n\t\"',;|\\{}[]<>&%."), min_size=1, max_size=12).map(lambda text: f"t{text}t")
ROWS = st.lists(st.fixed_dictionaries({"question": TEXT, "answer": TEXT, "contexts": st.lists(TEXT, min_size=1, max_size=3),
                                       "reference": st.none() | TEXT}), min_size=1, max_size=4)


def forms(spark: SparkSession, rows: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    """The rows as frames, by form."""
    frame = pd.DataFrame(rows)
    (folder / "rows.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    frame.to_json(folder / "array.json", orient="records", force_ascii=False)
    frame.to_parquet(folder / "rows.parquet")
    in_text = frame.assign(contexts=[json.dumps(texts, ensure_ascii=False) for texts in frame["contexts"]])
    in_text.to_csv(folder / "rows.csv", index=False)
    in_text.to_csv(folder / "excel.csv", index=False, sep=";", encoding="utf-8-sig", quoting=1)
    schema = "id string, question string, answer string, contexts array<string>, reference string"
    files: dict[str, dict[str, str]] = {"rows.jsonl": {}, "array.json": {"multiLine": "true"}, "rows.parquet": {}, "rows.csv": {},
                                        "excel.csv": {"sep": ";"}}
    return {**{name: read(spark, Source(str(folder / name), options=options)) for name, options in files.items()},
            "frame": spark.createDataFrame([tuple(row[name] for name in FIELDS.values()) for row in rows], schema)}


@settings(max_examples=2, deadline=None, phases=[Phase.explicit, Phase.generate],
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS)
def test_rows_are_the_same_samples_in_every_form(spark: SparkSession, rows: list[dict[str, Any]]) -> None:
    rows = [{**row, "id": f"s{place}"} for place, row in enumerate(rows)]
    expected = {row["id"]: (row["question"], row["answer"], tuple(row["contexts"]),
                            None if row["reference"] is None else (row["reference"],)) for row in rows}
    with tempfile.TemporaryDirectory() as folder:
        for name, frame in forms(spark, rows, Path(folder)).items():
            [group] = resolved([FieldGroup(FIELDS, ())], frame)
            found = {}
            for row in normalised(frame, [group], []).collect():
                assert row["fault"] is None, name
                sample = group.sample(row["sample_id"], json.loads(row["sample"]))
                found[row["sample_id"]] = (sample.user_input, sample.response, sample.retrieved_contexts, sample.reference)
            assert found == expected, name


def test_scores_are_the_same_in_every_form(spark: SparkSession, tmp_path: Path) -> None:
    contexts = ["It is 30 m deep.", "It is blue."]
    rows = [{"question": "How deep?", "answer": answer, "contexts": contexts, "reference": "30 m", "id": id}
            for id, answer in (("a", "30 m"), ("b", "31 m, \"or so\""), ("c", "30\nm"))]
    expected = {row["id"]: score(CATALOGUE["token_f1"](), row, EmbeddedJudge()).value for row in rows}
    assert expected["a"] == 1.0
    judged = as_udf("token_f1", EmbeddedJudge())
    for name, frame in forms(spark, rows, tmp_path).items():
        found = frame.select("id", judged("answer", "reference").alias("f")).select("id", "f.score").collect()
        assert {row["id"]: row["score"] for row in found} == expected, name
