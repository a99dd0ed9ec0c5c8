"""The networks. `layout` lists their tensors (no torch); each other module is one network in plain torch."""
