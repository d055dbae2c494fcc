#!/usr/bin/env bash
# Runs jobs/evaluate.py on Spark standalone: a master and two workers on this machine, started from the installed PySpark.
#
#     jobs/standalone.sh conf/openai.yaml [further arguments of rageval run]
#
# Executors have nothing installed but Python: the package comes by --py-files, its dependencies by --archives. The judge's
# key is in the driver's environment alone. On a cluster of yours leave out all but the last command.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-$PWD/.venv/bin/python}
spark=$("$python" -c 'import pyspark; print(pyspark.__path__[0])')
JAVA_HOME=${JAVA_HOME:-$("$python" -c 'from rageval_spark.spark.session import find_java; import os; find_java(); print(os.environ.get("JAVA_HOME", ""))')}
[ -n "$JAVA_HOME" ] && export JAVA_HOME || unset JAVA_HOME
export SPARK_HOME=$spark SPARK_LOCAL_IP=127.0.0.1 SPARK_NO_DAEMONIZE=1
build=build/standalone
mkdir -p "$build"

if [ ! -e "$build/dependencies.zip" ]; then  # for executors; venv-pack or conda-pack do as well
  "$python" -m pip install --quiet --target "$build/dependencies" pandas'<3' pyarrow numpy requests aiohttp pydantic PyYAML \
    sacrebleu snowballstemmer
  (cd "$build/dependencies" && "$python" -m zipfile -c ../dependencies.zip .)
fi
rm -f "$build/rageval_spark.zip"
"$python" -m zipfile -c "$build/rageval_spark.zip" rageval_spark

port=${SPARK_MASTER_PORT:-7077}
started=()
trap 'kill "${started[@]}" 2>/dev/null || true; wait 2>/dev/null || true' EXIT
deploy() {
  env -u "${KEY_VARIABLE:-OPENAI_API_KEY}" "$spark/bin/spark-class" "org.apache.spark.deploy.$1" --host 127.0.0.1 --webui-port 0 \
    "${@:2}" >"$build/$(basename "$1")-${#started[@]}.log" 2>&1 &
  started+=($!)
}
deploy master.Master --port "$port"
for _ in 1 2; do
  deploy worker.Worker --cores 1 --memory 1g --work-dir "$PWD/$build/work" "spark://127.0.0.1:$port"
done

"$spark/bin/spark-submit" --master "spark://127.0.0.1:$port" \
  --py-files "$build/rageval_spark.zip" \
  --archives "$build/dependencies.zip#dependencies" \
  --conf spark.executorEnv.PYTHONPATH=dependencies \
  --conf spark.pyspark.python=python3 --conf spark.pyspark.driver.python="$python" \
  --total-executor-cores 2 --conf spark.scheduler.minRegisteredResourcesRatio=1.0 \
  --conf spark.executor.cores=1 --conf spark.executor.memory=900m \
  --conf spark.sql.session.timeZone=UTC --conf spark.sql.ansi.enabled=true \
  jobs/evaluate.py "$@"
