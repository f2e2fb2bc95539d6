"""The yaml keys and AgentJetJob arguments that AgentJet has, as data.

From the public repository modelscope/AgentJet, package version 0.0.1: `ajet/default_config/ajet_default.yaml` of commit
01a9a0df431c and those before it down to c8e0bd8eeac4, `ajet_swarm_default.yaml` (1b4afc7d3278), `ajet_config_schema.py`
(01c633666ab5), `ajet/copilot/job.py` (02d57324710d and later), and the configuration reference of its documentation.
Keys that only older versions have are here too: a key is called unknown only where no version reads it.
"""

from __future__ import annotations

VERSION = "AgentJet 0.0.1 (modelscope/AgentJet, commit 01a9a0df431c)"

# By group below `ajet.`; "" is `ajet.` itself.
_KEYS = {
    "": "project_name experiment_name experiment_dir backbone enable_swarm_mode enable_interchange_server"
    " enable_experimental_interchange_server swarm_mode_sample_collection_method"
    " swarm_mode_sample_collection_max_cached_episodes execute_test execute_testing_lambda",
    "model": "path",
    "data": "max_prompt_length max_response_length train_batch_size",
    "rollout": "user_workflow force_disable_toolcalls max_env_worker gamma compute_madness_checklist"
    " agent_madness_termination agent_madness_reward max_response_length_in_one_turn max_model_len"
    " tensor_model_parallel_size n_vllm_engine max_num_seqs name gpu_memory_utilization num_repeat temperature top_p"
    " top_k ppo_max_token_len_per_gpu chat_template_generate_prompt_type vllm_tool_parser",
    "rollout.multi_turn": "max_sample_per_task max_steps expected_steps",
    "rollout.val_kwargs": "temperature top_k top_p do_sample num_repeat",
    "task_reader": "type",
    "task_reader.jsonl_dataset_file.training": "file_path",
    "task_reader.jsonl_dataset_file.validation": "file_path",
    "task_reader.env_service": "env_type env_url env_action_preference training_split validation_split",
    "task_reader.huggingface_dat_repo": "dataset_path dataset_name training_split validation_split http_proxy_address",
    "task_judge": "judge_type judge_protocol alien_llm_model alien_llm_response_length",
    "task_judge.rubrics_auto_grader": "model_name grader_mode language query_specific_generate_number"
    " enable_categorization categories_number grader_name query_field answer_field reference_field"
    " custom_evaluation_prompt input_data_type min_score max_score",
    "task_judge.rubrics_auto_grader.jsonl_dataset_file.training": "file_path",
    "context_tracker": "fix_retokenization_drift log_tool_format_check log_tool_format_error_detail"
    " detect_timeline_snap alien_llm_model alien_llm_response_length",
    "context_tracker.timeline_merging_policy": "timeline_compare_level ignore_tools",
    "debug": "debug_max_parallel debug_first_n_tasks debug_vllm_port debug_vllm_seed debug_tensor_parallel_size",
    "trainer_common": "val_before_train val_pass_n val_only val_max_num_task_each_validation"
    " val_max_num_task_clip_method val_print_to_markdown_file_path train_print_to_markdown_file_path save_freq"
    " test_freq total_training_steps total_epochs nnodes n_gpus_per_node logger mini_batch_num use_kl_loss"
    " use_kl_in_reward kl_penalty_type kl_loss_coef kl_loss_type ppo_epochs loss_extra_scale_ratio"
    " ulysses_sequence_parallel_size checkpoint_base_dir save_trajectory_as_json_file"
    " loss_weight_normalization_episode_level advantage_estimation_episode_level resume_mode"
    " resume_from_path",
    "trainer_common.algorithm": "adv_estimator use_kl_in_reward",
    "trainer_common.optim": "optimizer optimizer_impl lr lr_warmup_steps_ratio total_training_steps weight_decay"
    " lr_warmup_steps betas min_lr_ratio num_cycles lr_scheduler_type zero_indexed_step grad_clip",
    "lora": "lora_rank lora_alpha target_modules load_format layered_summon",
    "interchange_server": "interchange_method interchange_server_port num_fastapi_process max_fastapi_threads"
    " max_inference_tracker_threads already_started",
    "task_runner": "wrapper_type wrapper_multiprocessing_timeout",
}
KEYS = frozenset(
    f"ajet.{group}.{name}" if group else f"ajet.{name}" for group, names in _KEYS.items() for name in names.split()
)

# Whatever lies below these is handed on to a library with keys of its own, or read by somebody else.
OPEN = (
    "ajet.task_reader.data_generation",
    "ajet.trainer_common.fsdp_config",
    "ajet.trainer_verl",
)

# What each argument of AgentJetJob sets. One that is not None wins over the yaml.
ARGUMENTS = {
    "experiment_dir": "ajet.experiment_dir",
    "project_name": "ajet.project_name",
    "experiment_name": "ajet.experiment_name",
    "logging": "ajet.trainer_common.logger",
    "n_gpu": "ajet.trainer_common.n_gpus_per_node",
    "nnodes": "ajet.trainer_common.nnodes",
    "model": "ajet.model.path",
    "algorithm": "ajet.trainer_common.algorithm.adv_estimator",
    "num_repeat": "ajet.rollout.num_repeat",
    "grpo_n": "ajet.rollout.num_repeat",
    "batch_size": "ajet.data.train_batch_size",
    "swarm_mode": "ajet.enable_swarm_mode",
    "swarm_mode_sample_collection_method": "ajet.swarm_mode_sample_collection_method",
    "max_env_worker": "ajet.rollout.max_env_worker",
    "backbone": "ajet.backbone",
    "max_prompt_length": "ajet.data.max_prompt_length",
    "max_response_length": "ajet.data.max_response_length",
    "max_response_length_in_one_turn": "ajet.rollout.max_response_length_in_one_turn",
    "max_model_len": "ajet.rollout.max_model_len",
    "max_num_seqs": "ajet.rollout.max_num_seqs",
    "tensor_model_parallel_size": "ajet.rollout.tensor_model_parallel_size",
    "ulysses_sequence_parallel_size": "ajet.trainer_common.ulysses_sequence_parallel_size",
    "ppo_max_token_len_per_gpu": "ajet.rollout.ppo_max_token_len_per_gpu",
    "mini_batch_num": "ajet.trainer_common.mini_batch_num",
    "ppo_epochs": "ajet.trainer_common.ppo_epochs",
    "use_kl_loss": "ajet.trainer_common.use_kl_loss",
    "use_kl_in_reward": "ajet.trainer_common.use_kl_in_reward",
    "kl_penalty_type": "ajet.trainer_common.kl_penalty_type",
    "lora_rank": "ajet.lora.lora_rank",
    "lora_alpha": "ajet.lora.lora_alpha",
    "lora_target_modules": "ajet.lora.target_modules",
    "lora_load_format": "ajet.lora.load_format",
    "layered_summon": "ajet.lora.layered_summon",
    "gpu_memory_utilization": "ajet.rollout.gpu_memory_utilization",
    "lr": "ajet.trainer_common.optim.lr",
    "compute_madness_checklist": "ajet.rollout.compute_madness_checklist",
    "timeline_compare_level": "ajet.context_tracker.timeline_merging_policy.timeline_compare_level",
    "total_training_steps": "ajet.trainer_common.total_training_steps",
    "val_print_to_markdown_file_path": "ajet.trainer_common.val_print_to_markdown_file_path",
    "train_print_to_markdown_file_path": "ajet.trainer_common.train_print_to_markdown_file_path",
}
# Arguments that set no key.
OTHER_ARGUMENTS = frozenset({"base_yaml_config", "ensure_new_experiment", "n_gpu_for_infer", "tinkerscript_mode"})

# What holds where the yaml does not say, for the keys that the check reckons with.
DEFAULTS: dict[str, str | int | bool] = {
    "ajet.experiment_name": "read_yaml_name",
    "ajet.project_name": "ajet_default_project",
    "ajet.data.train_batch_size": 32,
    "ajet.rollout.num_repeat": 4,
    "ajet.rollout.max_env_worker": 64,
    "ajet.trainer_common.val_before_train": False,
    "ajet.trainer_common.test_freq": 20,
    "ajet.trainer_common.total_epochs": 50,
    "ajet.trainer_common.nnodes": 1,
    "ajet.trainer_common.n_gpus_per_node": 8,
    "ajet.trainer_common.logger": "swanlab",
    "ajet.trainer_common.checkpoint_base_dir": "./saved_checkpoints",
}
SWARM_DEFAULTS = DEFAULTS | {"ajet.rollout.max_env_worker": 128, "ajet.trainer_common.logger": "tensorboard"}

# Where AgentJet takes a name made of the yaml's and the time: such a run never finds its own checkpoints again.
NAME_OF_YAML = "read_yaml_name"
