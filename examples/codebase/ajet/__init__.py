"""A stand-in for AgentJet: its launcher, files and console on a policy so small that one core trains it in seconds."""
