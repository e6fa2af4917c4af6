"""What the tests of the collector share."""
