"""What is done with finished runs: compared, held against a baseline, picked from, held against people."""
