"""What AgentJet is, and what trainings print and write."""
