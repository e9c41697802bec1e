"""Ask one chat model."""
