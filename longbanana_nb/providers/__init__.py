"""Who answers: one contract for all models, an adapter a provider, retries, a catalogue and prices."""
