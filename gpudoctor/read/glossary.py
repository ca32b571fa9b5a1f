"""Puts the few words that readers look for in sentences into English: the readers know one language."""

from __future__ import annotations

import functools
import re
from typing import Final

from gpudoctor.expressions import expression
from gpudoctor.signatures.phrases import SHOWS

_WORDS_BY_ENGLISH: Final = {
    # German; Spanish, Portuguese and Italian; French; Russian; Polish
    "driver": "treiber treibers controlador pilote pilotes драйвер драйвера драйвером драйверы sterownik sterownika",
    "driver version": "treiberversion",
    "card": "grafikkarte grafikkarten tarjeta placa scheda carte видеокарта видеокарту видеокарты видеокартой karta kartę",
    "version": "versión versão versione версия версии версию wersja",
    "I": "ich je я",
    "my": "mein meine meinem meinen meiner unser unsere unserem unseren unserer mi mia mio meu minha mon ma mes мой моя моей моём моем moja moją mojej",
    "have": "меня habe haben tengo tenemos tenho temos j'ai mam mamy",
    "use": "benutze benutzen verwende verwenden nutze nutzen uso usamos utilizo utilise utilisons использую используем używam",
    "installed": "installiert instalé instalei instalou instalado instalada installé installée установлен установлена установлено установил zainstalowany zainstalowana",
    "get": "bekomme bekommen erhalte obtengo recebo obtiens получаю dostaję",
    "runs": "läuft laufen corre tourne работает działa",
    "is": "ist est é",
    "and": "und et и",
    "with": "mit con com avec \u0441",
    "on": "auf unter en em sous sur на под в",
    "but": "aber pero mas mais но ale",
    "before": "früher vorher antes avant раньше wcześniej",
    "always": "immer siempre sempre toujours всегда zawsze",
    "shows": SHOWS,
}
"""English words, and how other languages write them."""
_SIGNS_BY_ENGLISH: Final = {
    "driver version": "ドライバーのバージョン ドライバのバージョン ドライババージョン ドライバーバージョン",
    # Chinese, simplified and traditional; Japanese; Korean
    "driver": "驱动程序 驱动 驅動程式 驅動 ドライバー ドライバ 드라이버",
    "GPU memory": "显存 顯存 显卡内存 グラボのメモリ",
    "memory": "内存 記憶體 メモリ",
    "another process": "别的进程 其他进程 其它进程 别的程序 其他程序 别的任务 其他任务 其他人的进程 別のプロセス 他のプロセス",
    "occupies": "占用 占满 占着 占据 占了 佔用",
    "is not released": "不释放 未释放 没有释放 无法释放 不会释放 解放されない",
    "card": "显卡 顯卡 グラフィックボード グラボ 그래픽카드",
    "version": "版本号 版本 版の バージョン 버전",
    "I": "我",
    "installed": "安装了 安装 安裝了 安裝 已装 インストールした インストール 설치했는데 설치했습니다 설치했지만 설치",
    "my": "新买的 新買的 私の 내 새로 산",
    "use": "使用 使って 사용 중",
    "system": "系统 系統 环境 環境",
    "machine": "服务器 伺服器 机器",
    "before": "以前は 以前 之前",
    "on": "在",
    "but": "但是 不过 可是 しかし",
    "if": "如果",
    "such as": "比如 例如",
    "requires": "需要 要求",
    "supports": "支持",
    "recommend": "建议 推荐",
    "want to know": "想知道 想问",
    "want to": "想要 想",
    "how to": "如何 怎么 怎样",
    "chose": "选择了 选择的 选了 選択した",
    "replaced": "换成",
    "worked": "正常 就可以",
    "instead": "ではなく",
    "is": "是 为 為",
}
"""The same for writing without spaces between words; of signs with the same beginning the longest stands first."""
_ENGLISH_BY_WORD: Final = {word: english for english, words in _WORDS_BY_ENGLISH.items() for word in words.split()}
_ENGLISH_BY_SIGN: Final = tuple((sign, english) for english, signs in _SIGNS_BY_ENGLISH.items() for sign in signs.split())
_WORD_FORM: Final = expression(r"(?<![\w.'/@-])[^\W\d_]+(?:'[^\W\d_]+)?(?![\w'-])")


@functools.lru_cache(maxsize=1 << 13)
def english_sentence(sentence: str) -> str:
    """Return a sentence with the words in English that readers of sentences look for."""
    if not sentence.isascii():
        for sign, english in _ENGLISH_BY_SIGN:
            if sign in sentence:
                sentence = " ".join(sentence.replace(sign, f" {english} ").split())
    return _WORD_FORM.sub(_english_word, sentence)


def _english_word(found: re.Match[str]) -> str:
    word = found[0]
    return word if word.isupper() and len(word) > 1 else _ENGLISH_BY_WORD.get(word.lower(), word)  # the MIT licence is not German
