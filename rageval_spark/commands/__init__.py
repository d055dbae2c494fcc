"""Commands beside `rageval run`, one file each. Nothing here imports Spark before a command needs it."""
