"""Language models, and the model that quotes the documentation without one."""
