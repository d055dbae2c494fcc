"""What metrics put to a judge: one file per family, with the data, the wording and the shape of the reply."""
