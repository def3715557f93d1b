"""Settings that all tests share."""
