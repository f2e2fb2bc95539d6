"""What is masked, and what only looks like a secret."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ajet_inbox.core.telling.secrets import mask

MASKED = [
    ("SWANLAB_API_KEY=abcDEF123 python -m ajet.launcher", "SWANLAB_API_KEY=*** python -m ajet.launcher"),
    ('export HF_TOKEN="a b c"; run', "export HF_TOKEN=***; run"),
    ("DB_PASSWORD='it is 1' x", "DB_PASSWORD=*** x"),
    ("PASSWORD=12345", "PASSWORD=***"),
    ("OPENAI_API_KEY_2=zzzzzz", "OPENAI_API_KEY_2=***"),
    ('TOKEN="never closed', "TOKEN=*** closed"),
    ("MY_CREDENTIALS=a,b c", "MY_CREDENTIALS=*** c"),
    ("WANDB_APIKEY: f00f00f00", "WANDB_APIKEY: ***"),
    ("run --api-key X9 --conf a.yaml", "run --api-key *** --conf a.yaml"),
    ("run --password=p;w next", "run --password=***;w next"),
    ("run --auth-token 'a b' x", "run --auth-token *** x"),
    ('{"api_key": "abc", "lr": 1}', '{"api_key": ***, "lr": 1}'),
    ("client(apiKey='abc', step=3)", "client(apiKey=***, step=3)"),
    ("password: hunter2", "password: ***"),
    ("curl 'https://h/x?access_token=abc&page=2'", "curl 'https://h/x?access_token=***&page=2'"),
    ("-H 'Authorization: Bearer abc.def'", "-H 'Authorization: ***'"),
    ("Authorization: Basic dXNlcjpwYXNz", "Authorization: ***"),
    ("got Bearer abcdefgh123", "got Bearer ***"),
    ("git clone https://me:pa@ss@host/x.git", "git clone https://***@host/x.git"),
    ("redis://:pw@host:6379/0", "redis://***@host:6379/0"),
    ("https://ghtoken@github.com/a/b", "https://***@github.com/a/b"),
    ("use sk-abcdefghijklmnop1234 now", "use *** now"),
    ("hf_ABCDEFGHIJKLMNOPQRST", "***"),
    ("ghp_ABCDEFGHIJKLMNOPQRSTUVWX", "***"),
    ("id AKIAABCDEFGHIJKLMNOP.", "id ***."),
    ("eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK", "***"),
    (
        "a\n-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nb",
        "a\n-----BEGIN PRIVATE KEY----- ***\nb",
    ),
    ("-----BEGIN PRIVATE KEY-----\ntorn", "-----BEGIN PRIVATE KEY----- ***"),
]

KEPT = [
    "max_tokens=1024",
    "MAX_TOKENS=1024",
    "TOKENIZERS_PARALLELISM=false",
    "tokenizer_path=/models/x",
    "key_len=3",
    "KEY_LEN=3",
    "SSH_KEY_PATH=/home/me/.ssh/id",
    "PWD=/home/me",
    "sort_key=name",
    "MONKEY=banana",
    "pad_token='<|endoftext|>'",
    "loss_per_token=0.123456789 token=17",
    "timing_per_token_ms/gen:0.05",
    "api_key=None",
    'HF_TOKEN="$HF_TOKEN" run',
    "HF_TOKEN=${MINE} run",
    "KeyError: 'reward'",
    "ssh://root@host:22/x and git+ssh://git@github.com/a",
    "http://127.0.0.1:10086/health",
    "task-runner-configuration-12345",
    "python train.py --key-bindings vim --tokenizer x",
    "use --token - to read it",
    "step:34 - actor/kl_loss:0.00132 - critic/rewards/mean:0.5",
]


@pytest.mark.parametrize(("text", "shown"), MASKED)
def test_masked(text: str, shown: str) -> None:
    assert mask(text) == shown


@pytest.mark.parametrize("text", KEPT)
def test_kept(text: str) -> None:
    assert mask(text) == text


@given(st.text(alphabet="aK_=:\"' -\\,;@/.key*KEYTOKENtoken\n", max_size=200))
def test_masking_twice_changes_nothing_more(text: str) -> None:
    assert mask(mask(text)) == mask(text)


UNITS = ["A", "KEY_", "key=", "token:", "a://", "--key ", '"', "\\", "bearer ", "eyJ-", "-----BEGIN PRIVATE KEY-----"]


@pytest.mark.parametrize("unit", UNITS)
def test_a_long_text_takes_no_long_time(unit: str) -> None:
    text = "token=1 " + unit * (500_000 // len(unit))
    began = time.perf_counter()
    mask(text)
    assert time.perf_counter() - began < 5
