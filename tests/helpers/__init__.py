"""What tests share: statistical claims, samples, planted faults, browsers, clusters."""
