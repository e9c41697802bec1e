"""The ground floor: what every part needs and none of them owns."""
