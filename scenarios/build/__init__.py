"""From a scenario file's models to `groupsim.sim.model.Scenario`: names that lead nowhere, keys, paths, problems."""
