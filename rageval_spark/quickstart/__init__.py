"""The samples and the config of `make quickstart`, as they travel in the wheel."""
