"""What a network learns from, a module a source: each makes examples.safetensors and source.json."""
