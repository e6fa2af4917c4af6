"""Pictures of concepts, by what they are about."""
