"""What is measured: the release contract, its loading, validation, fetching and writing, and the probe grammar."""
