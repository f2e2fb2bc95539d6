"""The sentences of a draft that depend on the case, in each language; what every draft says is in its template."""

from __future__ import annotations

from ajet_inbox.core.settings import Language

# key: (English, Chinese). What stands in braces is told by the caller.
PHRASES: dict[str, tuple[str, str]] = {
    # where a draft comes from
    "origin.task": (
        "Drafted from a task, whose whole text is in the notes.",
        "由任务描述起草，任务全文见其他注意事项。",
    ),
    "origin.sweep": (
        "Number {number} of {count} in the sweep {sweep} over {keys}; the siblings differ in nothing else.",
        "参数扫描 {sweep}（{keys}）中的第 {number} 个，共 {count} 个；兄弟实验之间没有其他区别。",
    ),
    "origin.next": ("The next experiment after {parent}.", "{parent} 之后的下一个实验。"),
    # how it differs
    "differs.siblings": ("{key} is {value}; the siblings have {others}.", "{key} 取 {value}；兄弟实验取 {others}。"),
    "differs.alone": ("{key} is {value}.", "{key} 取 {value}。"),
    "differs.parent": (
        "{key} is {after} instead of {before} in {parent}.",
        "{key} 取 {after}，{parent} 中为 {before}。",
    ),
    "differs.nothing": (
        "Nothing is set otherwise than in {parent}: without a change it only repeats it.",
        "与 {parent} 的设置没有任何区别：若不改动，只是重复一次。",
    ),
    "purpose.next": ("Go on from {parent}: {purpose}", "在 {parent} 的基础上继续：{purpose}"),
    "unset": ("nothing", "未设置"),
    # what was found
    "found.git": ("The code is at commit {commit} of {codebase}.", "代码为 {codebase} 的提交 {commit}。"),
    "found.gpus": ("{gpus} GPUs were found on the host of the draft.", "起草所在主机上有 {gpus} 张 GPU。"),
    "found.base": ("Its yaml was made from {base}.", "其 yaml 由 {base} 修改而成。"),
    "found.changed": (
        "Changed in the yaml: {key} is {after}; the base had {before}.",
        "yaml 中的改动：{key} 取 {after}，原为 {before}。",
    ),
    "found.new": ("New in the yaml: {key} is {after}.", "yaml 中新增：{key} 取 {after}。"),
    # the parent
    "parent.end": ("{parent} ended as {outcome}: {reason}", "{parent} 的结局为 {outcome}：{reason}"),
    "parent.attempt": (
        "Attempt {number} of {parent} ended by {end} at step {step} of {total}: {decision}",
        "{parent} 的第 {number} 次尝试结束（{end}），到第 {step} 步，共 {total} 步：{decision}",
    ),
    "parent.score": (
        "{parent} ended with {measure} {last} on {dataset}; its first was {first}, its best {best} at step {step}.",
        "{parent} 在 {dataset} 上的 {measure} 最后为 {last}；首次 {first}，最佳 {best}（第 {step} 步）。",
    ),
    "parent.scoreless": ("No evaluation of {parent} is known.", "{parent} 没有已知的评测结果。"),
    "parent.files": (
        "Its trial log is {trial_log}, its whole result lies beside it.",
        "其试错记录为 {trial_log}，完整结果在同一目录。",
    ),
    # before and after
    "before.key": (
        "It logs to {logger}, so {variable} has to be in the environment of experiments.",
        "使用 {logger} 记录日志，实验环境中必须有 {variable}。",
    ),
    "before.nothing": ("Nothing is known that it still needs.", "未发现还缺少什么。"),
    "after.checkpoints": (
        "Checkpoints are kept in {folder} and never pruned by the trainer.",
        "检查点保留在 {folder}，训练器从不清理。",
    ),
    "after.nothing": ("Nothing is known that it leaves behind beside its results.", "除结果外未发现会留下什么。"),
    # to do
    "todo.read": (
        "Read this draft: it was made from the task's text and the folder alone, no one has thought about it yet.",
        "通读本草稿：它仅由任务文本和目录内容生成，尚无人思考过。",
    ),
    "todo.correct": ("The check says ({level}): {message} {hint}", "检查结果（{level}）：{message} {hint}"),
    "todo.interpreter": ("No interpreter was found: make {path}.", "未找到解释器：请建好 {path}。"),
    "todo.base": (
        "The yaml has no base: give it a model, a task and a reward.",
        "yaml 没有底本：请补上模型、任务与奖励。",
    ),
    "todo.yamls": ("Yamls that could be its base: {yamls}.", "可作底本的 yaml：{yamls}。"),
    "todo.times": (
        "The task names several times ({times}); the limit here is {time}.",
        "任务提到多个时长（{times}）；此处上限取 {time}。",
    ),
    "todo.gpus": (
        "The task names several numbers of GPUs ({counts}); here it is {gpus}.",
        "任务提到多种 GPU 数量（{counts}）；此处取 {gpus}。",
    ),
    "todo.client": ("Write the swarm client {client}: none was found.", "编写 swarm 客户端 {client}：未找到现成的。"),
    "todo.clients": (
        "Several swarm clients were found ({clients}); the command starts the first.",
        "找到多个 swarm 客户端（{clients}）；命令启动第一个。",
    ),
    "todo.command": (
        "The command does not name its yaml: see that it reads {yaml}, which EXP_YAML_PATH names too.",
        "命令没有写明 yaml：请确认它读取 {yaml}（环境变量 EXP_YAML_PATH 也指向它）。",
    ),
    "todo.check": ("Check it: ajet-inbox check {folder}", "检查：ajet-inbox check {folder}"),
    "todo.compare": (
        "When it has ended: compare its validation with that of its siblings or its parent, and draft the next.",
        "结束后：与兄弟实验或上一个实验比较验证指标，再起草下一个。",
    ),
}

_UNITS = ((3600, ("hours", "小时")), (60, ("minutes", "分钟")), (1, ("seconds", "秒")))


def say(key: str, language: Language, /, **about: object) -> str:
    """The sentence of this key, told of `about`; what is not known is a question mark."""
    told = {name: "?" if value is None else value for name, value in about.items()}
    return PHRASES[key][_column(language)].format_map(told)


def duration(seconds: float, language: Language) -> str:
    """Seconds as a blueprint says them, in one whole unit, so that they are read back exactly."""
    whole = max(1, round(seconds))
    size, words = next((size, words) for size, words in _UNITS if whole % size == 0)
    return f"{whole // size} {words[_column(language)]}"


def _column(language: Language) -> int:
    return 1 if language is Language.ZH else 0
