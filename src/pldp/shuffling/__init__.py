"""What a report is worth once it is one of many in random order."""
