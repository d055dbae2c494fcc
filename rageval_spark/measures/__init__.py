"""What is measured without a judge: rankings, texts word by word, tool calls. Pure functions."""
