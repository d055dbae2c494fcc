# Databricks notebook source
# ruff: noqa: F821
# mypy: disable-error-code="name-defined, attr-defined"
# MAGIC %md
# MAGIC # Evaluate a RAG system
# MAGIC
# MAGIC Install the package on the cluster, or for this notebook alone: `%pip install rageval-spark`, then
# MAGIC `dbutils.library.restartPython()`. Every cell can be run again: what was paid for is not asked again.

# COMMAND ----------

import os

from pyspark.sql import SparkSession

from rageval_spark import EmbeddedJudge, HttpJudge, as_udf, evaluate

spark = SparkSession.builder.getOrCreate()
output = os.environ.get("RAGEVAL_OUTPUT", "/Volumes/main/rag/evaluation")  # a place that driver and executors share
tables = os.environ.get("RAGEVAL_TABLES", "main.rag.")  # runs are kept in main.rag.scores and main.rag.stats too
base_url = os.environ.get("JUDGE_URL", "https://<workspace>/serving-endpoints")
model = os.environ.get("JUDGE_MODEL", "databricks-meta-llama-3-3-70b-instruct")

# COMMAND ----------

# MAGIC %md
# MAGIC ## Without a model
# MAGIC
# MAGIC The embedded judge compares words: a screen that costs nothing, and shows whether columns are found.

# COMMAND ----------

answers = spark.createDataFrame([
    ("1", "refunds", "How long do I have to ask for a refund?", "You have 30 days. It is paid in cash.",
     ["A refund can be requested within 30 days of the invoice date."], "30 days from the invoice date."),
    ("2", "refunds", "Who pays for the return?", "The customer pays for it.",
     ["The customer pays for the return."], "The customer pays for the return."),
    ("3", "delivery", "When will it arrive?", "It arrives within 5 days.", ["Parcels arrive within 3 days."], "Within 3 days."),
], "id string, topic string, question string, answer string, contexts array<string>, reference string")

screened = evaluate(answers, ["faithfulness", "context_recall"], judge=EmbeddedJudge(), output=output, run_id="screen")
screened.scores.select("sample_id", "metric", "score", "reason").show(truncate=False)

# COMMAND ----------

# MAGIC %md
# MAGIC ## With a judge of your own
# MAGIC
# MAGIC A serving endpoint, or anything else that speaks the OpenAI protocol. The key is read from the environment on the driver,
# MAGIC travels only within the function that tasks run, and stands in no table, plan or log. On a job's cluster let
# MAGIC `spark_env_vars` put it there: `JUDGE_TOKEN: "{{secrets/rag/judge}}"`.

# COMMAND ----------

if "JUDGE_TOKEN" not in os.environ:
    os.environ["JUDGE_TOKEN"] = dbutils.secrets.get("rag", "judge")

judge = HttpJudge(model=model, base_url=base_url, api_key_env="JUDGE_TOKEN", max_concurrency=16)
run = evaluate(answers, ["faithfulness", "context_recall"], judge=judge, slices=["topic"],
               output={"path": output, "tables": tables}, run_id="judged")
run.stats.where("slice IS NULL").select("metric", "average", "ci_low", "ci_high", "count", "n_failed").show()

# COMMAND ----------

# MAGIC %md
# MAGIC ## By slice, and over all runs

# COMMAND ----------

run.stats.where("slice = 'topic'").select("slice_value", "metric", "average", "ci_low", "ci_high", "count").show()
history = spark.sql(f"SELECT run_id, metric, average FROM {tables}stats WHERE slice IS NULL ORDER BY run_id, metric")
history.show()

# COMMAND ----------

# MAGIC %md
# MAGIC ## The report

# COMMAND ----------

displayHTML(run.report())

# COMMAND ----------

# MAGIC %md
# MAGIC ## A metric as a function in SQL

# COMMAND ----------

spark.udf.register("faithfulness", as_udf("faithfulness", judge, store=output))
answers.createOrReplaceTempView("answers")
in_sql = spark.sql("""
    SELECT id, f.score, f.reason
    FROM (SELECT id, faithfulness(question, answer, contexts) AS f FROM answers)
    ORDER BY f.score
""")
in_sql.show(truncate=False)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Where functions have no network
# MAGIC
# MAGIC Where tasks cannot reach a judge, as on serverless compute, batch mode has the driver send what is missing as files
# MAGIC through the Batch API, at half the price; `mode="files"` leaves the files under the output folder, for whatever
# MAGIC answers them.

# COMMAND ----------

batched = judge.model_copy(update={"mode": "batch"})
serverless = evaluate(answers, ["context_precision"], judge=batched, run_id="batched",
                      output={"path": output, "tables": tables})
serverless.stats.where("slice IS NULL").select("metric", "average", "count", "n_failed").show()
