"""What the policy is trained on; a yaml names one class of these modules as `ajet.rollout.user_workflow`."""
