"""From metadata to records: leaders and replicas that are read from, positions, fetches, and the pace they allow."""
