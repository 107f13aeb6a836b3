"""The fleet: which models are in memory, and how they come and go. One slot for each configured model."""
