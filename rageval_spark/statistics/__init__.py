"""Statistics of scores, from arrays and sums: intervals, comparisons, agreement with people. No I/O, no Spark."""
