"""Kafka's configuration: keys and their types, client generations, rules, which keys are modelled."""
