"""The words that are not in templates, in each language: outcomes, moments, durations, numbers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from ajet_inbox.core.journal import Reason
from ajet_inbox.core.settings import Language

# key: (English, Chinese). What stands in braces comes from the record that is told.
WORDS: dict[str, tuple[str, str]] = {
    "unknown": ("unknown", "未知"),
    "none": ("none", "无"),
    "not_given": ("not given", "未给出"),
    "not_yet": ("not yet", "尚未"),
    "never": ("never", "从未"),
    "none_seen": ("none seen", "未见"),
    "yes": ("yes", "是"),
    "no": ("no", "否"),
    # states and outcomes
    "submitted": ("submitted", "已提交"),
    "queued": ("queued", "排队中"),
    "held": ("held", "已搁置"),
    "preparing": ("preparing", "准备中"),
    "starting": ("starting", "启动中"),
    "running": ("running", "运行中"),
    "stopping": ("being ended", "正在结束"),
    "exited": ("ended, no verdict yet", "已退出，尚未判定"),
    "repairing": ("under repair", "修复中"),
    "backoff": ("waiting for the next attempt", "等待下一次尝试"),
    "unreachable": ("unreachable", "主机失联"),
    "finished": ("finished", "已结束"),
    "succeeded": ("succeeded", "成功"),
    "plateaued": ("plateaued", "指标不再变化，已停止"),
    "timed_out": ("timed out", "到达时限"),
    "failed": ("failed", "失败"),
    "rejected": ("rejected", "被拒绝"),
    "cancelled": ("cancelled", "已取消"),
    "lost": ("lost", "结局不明"),
    # levels of problems
    "error": ("error", "错误"),
    "warning": ("warning", "警告"),
    "info": ("info", "提示"),
    # how an attempt ended
    "end.going": ("not ended yet", "尚未结束"),
    "end.exit": ("by itself", "自行退出"),
    "end.signal": ("by a signal from outside", "被外部信号结束"),
    "end.max_time": ("ended at its time limit", "到达时限被结束"),
    "end.stopped": ("ended on request", "按要求被结束"),
    "end.prepare": ("its prepare command failed", "准备命令失败"),
    "end.not_started": ("the command never began", "命令未能开始"),
    "end.unknown": ("unknown", "未知"),
    # why an attempt was ended
    "stop.cancelled": ("cancelled", "被取消"),
    "stop.max_time": ("its time was over", "时限已到"),
    "stop.first_step": ("no first step in time", "首个训练步超时"),
    "stop.plateau": ("its metrics no longer moved", "指标不再变化"),
    "stop.stall": ("nothing moved any more", "停滞不前"),
    "stop.nan": ("loss or gradient stayed nan", "损失或梯度持续为 nan"),
    "stop.service": ("its own service died", "自身的服务已死"),
    # moments
    "moment.submitted": ("Dropped as {name}.", "以 {name} 投递。"),
    "moment.claimed": ("Taken over by the watcher on {host}.", "由 {host} 上的看守进程接管。"),
    "moment.accepted": ("Accepted.", "已接受。"),
    "moment.prioritized": ("Priority {priority}, by {by}.", "优先级改为 {priority}（{by}）。"),
    "moment.held": ("Held by {by}.", "被 {by} 搁置。"),
    "moment.released": ("Released by {by}.", "被 {by} 放回队列。"),
    "moment.allocated": ("Given slot {slot} with {gpus} GPUs.", "分配到槽位 {slot}，{gpus} 张 GPU。"),
    "moment.yielded": ("Back to the queue: {why}", "退回队列：{why}"),
    "moment.prepare_failed": ("Its folder could not be made ready: {why}", "无法备好运行目录：{why}"),
    "moment.starting": ("Attempt {attempt} announced.", "宣布第 {attempt} 次尝试。"),
    "moment.launched": ("The command began.", "命令开始运行。"),
    "moment.first_step": ("First training step: {number}, seen in {source}.", "首个训练步：{number}，见于 {source}。"),
    "moment.noted": ("{text}", "{text}"),
    "moment.stopping": ("Being ended: {why}", "正在结束：{why}"),
    "moment.exited": ("Nothing of the attempt lives any more.", "该次尝试的进程已全部消失。"),
    "moment.retrying": ("Another attempt at {due_at}: {why}", "将于 {due_at} 再次尝试：{why}"),
    "moment.due": ("The wait is over.", "等待结束。"),
    "moment.silenced": ("Its host fell silent.", "所在主机失联。"),
    "moment.returned": ("Its host is back.", "所在主机恢复。"),
    "moment.finished": ("Finished: {why}", "结束：{why}"),
    # pages
    "page.purpose": ("Purpose", "目的"),
    "page.evaluations": ("Evaluations", "评测"),
    "page.attempts": ("Attempts", "各次尝试"),
    "page.problems": ("What the check said", "检查结果"),
    "page.console": ("Last console lines", "控制台最后几行"),
    "page.command": ("Command", "命令"),
    "page.files": ("Files", "文件"),
    "page.run": ("Run", "运行"),
    "page.state": ("State", "状态"),
    "page.why": ("Why", "原因"),
    "page.step": ("Step", "步"),
    "page.host": ("Host", "主机"),
    "page.slot": ("Slot", "槽位"),
    "page.gpus": ("GPUs", "GPU"),
    "page.codebase": ("Codebase", "代码目录"),
    "page.configuration": ("Configuration", "配置文件"),
    "page.results": ("Results of the experiment", "实验的结果目录"),
    "page.limit": ("Time limit", "时限"),
    "page.exit_code": ("Exit code", "退出码"),
    "page.submitted": ("Submitted", "提交"),
    "page.started": ("Started", "开始"),
    "page.finished": ("Finished", "结束"),
    "page.ran": ("Ran for", "运行时长"),
    "page.waited": ("Waited", "等待时长"),
    "page.end": ("End", "结束方式"),
    "page.dataset": ("Dataset", "数据集"),
    "page.measure": ("Measure", "指标"),
    "page.first": ("First", "首次"),
    "page.best": ("Best", "最佳"),
    "page.last": ("Last", "最后"),
    "page.gain": ("Gain over step 0", "相对第 0 步"),
    "page.rendered": ("As of {at}", "截至 {at}"),
}

# What the sentence of a reason, which is English, is about.
REASONS_ZH: dict[str, str] = {
    "completed": "命令自行结束，退出码为 0",
    "completed_shutdown_failed": "数据完整，仅收尾失败",
    "max_time": "到达时限",
    "no_evaluation": "到达时限，第 0 步之后没有评测",
    "no_training_step": "没有任何训练步",
    "exit_code": "命令以非零退出码结束",
    "signal": "命令被信号结束",
    "prepare_failed": "准备命令失败",
    "launch_failed": "命令无法启动",
    "not_started": "命令尚未开始就已结束",
    "lost": "结局无从得知",
    "cancelled": "被取消",
    "replaced": "被另一份蓝图取代",
    "duplicate": "重复投递",
    "result_dir_in_use": "结果目录属于另一个未结束的运行",
    "dependency_failed": "所依赖的运行没有好结果",
    "drafted": "已起草蓝图",
    "not_drafted": "未能起草蓝图",
    "no_slot": "没有足够大的槽位",
}

_UNITS = (
    (86400, ("d", "天"), 3600, ("h", "小时")),
    (3600, ("h", "小时"), 60, ("min", "分")),
    (60, ("min", "分"), 1, ("s", "秒")),
)


def word(key: str, language: Language) -> str:
    """A word of the table. The key itself where there is none: a newer version may know more states than this one."""
    return WORDS.get(key, (key, key))[_column(language)]


def say(key: str, about: Mapping[str, object], language: Language) -> str:
    """The sentence of this key, told of `about`."""
    return word(key, language).format_map({name: as_text(value, language) for name, value in about.items()})


def reason_text(reason: Reason | None, language: Language) -> str:
    """A reason for people; in Chinese what it is about goes before its English sentence."""
    if reason is None:
        return word("unknown", language)
    about = REASONS_ZH.get(reason.code)
    return f"{about}（{reason.text}）" if about and language is Language.ZH else reason.text


def as_text(value: object, language: Language) -> str:
    """Any value as people read it; what is not known is said to be unknown."""
    match value:
        case None:
            return word("unknown", language)
        case bool():
            return word("yes" if value else "no", language)
        case datetime():
            return value.isoformat(sep=" ", timespec="seconds")
        case float():
            return number(value)
        case _:
            return str(value)


def number(value: float) -> str:
    """A measured value, as a column of them is read best."""
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.6g}"


def duration(seconds: float | None, language: Language) -> str:
    """Seconds as people say them: the two units that matter."""
    if seconds is None:
        return word("unknown", language)
    column = _column(language)
    for size, unit, small, small_unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit[column]} {int(seconds % size // small):02d} {small_unit[column]}"
    return f"{seconds:.2f} {_UNITS[-1][3][column]}"


def _column(language: Language) -> int:
    return 1 if language is Language.ZH else 0
