"""Sections of the setup that come in kinds, and what every section is made of."""
