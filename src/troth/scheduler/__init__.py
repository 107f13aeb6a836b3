"""The scheduler room: when does a request run? Knows sequences and slots; no HTTP, no dialect, no model."""
