"""What is wrong with a blueprint: one small function a rule, over values that somebody else looked up."""
