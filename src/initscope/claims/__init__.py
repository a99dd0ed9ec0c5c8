"""The claims of the two source texts, each with the numbers that test it and a verdict computed from them."""
