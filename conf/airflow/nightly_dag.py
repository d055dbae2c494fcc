"""Airflow: a run a day, named by its date. A task that is retried or cleared asks the judge nothing again.

nightly.yaml reads one day by `input: {table: main.rag.answers, where: "day = '${DS}'"}`, and may add the run to tables of the
catalog by `output: {path: …, tables: main.rag.}`. A gate that is not met fails the task.
"""

from datetime import datetime, timedelta

from airflow import DAG
from airflow.operators.bash import BashOperator

with DAG("rageval", schedule="@daily", start_date=datetime(2026, 1, 1), catchup=False, max_active_runs=1,
         default_args={"retries": 2, "retry_delay": timedelta(minutes=10)}):
    BashOperator(
        task_id="evaluate",
        bash_command="rageval run /opt/evaluation/nightly.yaml --run-id {{ ds }}",
        env={"DS": "{{ ds }}", "OPENAI_API_KEY": "{{ conn.openai.password }}"},
        append_env=True,
    )
