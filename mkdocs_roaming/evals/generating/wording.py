"""Questions in the words of six languages; in any other a title is asked as it stands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from mkdocs_roaming.evals.generating import english
from mkdocs_roaming.text.languages import fold


@dataclass(frozen=True, slots=True)
class Wording:
    """A language's templates, and the words by which it names a table's columns and defines things."""

    do: str
    work: str
    what: str
    does: str
    default: str
    cell: str
    command: str
    flag: str
    inside: str
    defaults: frozenset[str]
    meanings: frozenset[str]
    defined: re.Pattern[str]
    """Its `term` is what a sentence defines, its `article` how that is begun."""
    infinitive: re.Pattern[str]
    """What a heading looks like that says what one does; its first group is the doing."""
    lead: re.Pattern[str]
    """What stands before a command; its first group is the doing."""


def _words(text: str) -> frozenset[str]:
    return frozenset(fold(word.strip()) for word in text.split(","))


_TERM = r"[*_`]{1,2}(?P<term>[^*_`\n.]{2,40}?)[*_`]{1,2}"

WORDINGS: Mapping[str, Wording] = {
    "en": Wording(
        do="How do I {0}?",
        work="How does {0} work?",
        what="What is {0}?",
        does="What does {0} do?",
        default="What is the default of {0}?",
        cell="What is the {1} of {0}?",
        command="Which command do I run to {0}?",
        flag="Which option do I need for {0}?",
        inside=" in {0}",
        defaults=_words("default, default value, defaults, standard"),
        meanings=_words("description, meaning, what it does, what it is, purpose, explanation, effect, what"),
        defined=re.compile(rf"^(?P<article>An? |The )?{_TERM} (?:is|are|means) ", re.IGNORECASE),
        infinitive=re.compile(r"(?!)"),  # verbs are known by name: english.py
        lead=re.compile(
            r"^(?:[^.:]*\b(?:to|To) ((?:(?!\b(?:run|use|type|execute|enter|issue)\b)[^,:]){4,70}),? "
            r"(?:you can |simply |just |please )?(?:run|use|type|execute|enter|issue)\b[^:]{0,40}"
            r"|(?:You can |Then |Next, |Now |Run this to |Use this to )?([A-Za-z][^.,:]{5,60})):$"
        ),
    ),
    "de": Wording(
        do="Wie kann ich {0}?",
        work="Wie funktioniert {0}?",
        what="Was ist {0}?",
        does="Was macht {0}?",
        default="Was ist der Standardwert von {0}?",
        cell="{0}: Was gilt für „{1}“?",
        command="Mit welchem Befehl kann ich {0}?",
        flag="Welche Option brauche ich für: {0}?",
        inside=" bei {0}",
        defaults=_words("standard, standardwert, vorgabe, voreinstellung, default"),
        meanings=_words("bedeutung, beschreibung, zweck, wirkung, erklärung, was"),
        defined=re.compile(rf"^(?P<article>Eine? |Der |Die |Das )?{_TERM} (?:ist|sind|bezeichnet) "),
        infinitive=re.compile(r"^((?:\S+ ){1,6}[a-zäöüß-]{2,}(?:en|ern|eln))$"),
        lead=re.compile(r"^(?:Um )?((?:\S+ ){1,8}zu \S+en)(?:, .{0,40})?:$"),
    ),
    "fr": Wording(
        do="Comment {0} ?",
        work="Comment fonctionne {0} ?",
        what="C'est quoi, {0} ?",
        does="Que fait {0} ?",
        default="Quelle est la valeur par défaut de {0} ?",
        cell="{0} : que dit « {1} » ?",
        command="Quelle commande faut-il pour {0} ?",
        flag="Quelle option faut-il pour : {0} ?",
        inside=" dans {0}",
        defaults=_words("défaut, par défaut, valeur par défaut, default"),
        meanings=_words("description, signification, sens, but, effet, rôle"),
        defined=re.compile(rf"^(?P<article>Une? |Le |La |L['’])?{_TERM} (?:est|sont|désigne) "),
        infinitive=re.compile(r"^([A-ZÉa-zé][a-zéèêçïî]+(?:er|ir|re) .+)$"),
        lead=re.compile(r"^Pour ([^,:]{4,70})(?:, .{0,40})? ?:$"),
    ),
    "es": Wording(
        do="¿Cómo puedo {0}?",
        work="¿Cómo funciona {0}?",
        what="¿Qué es {0}?",
        does="¿Qué hace {0}?",
        default="¿Cuál es el valor por defecto de {0}?",
        cell="{0}: ¿qué vale «{1}»?",
        command="¿Con qué comando puedo {0}?",
        flag="¿Qué opción necesito para: {0}?",
        inside=" en {0}",
        defaults=_words("por defecto, predeterminado, valor por defecto, valor predeterminado, default"),
        meanings=_words("descripción, significado, propósito, efecto, sentido"),
        defined=re.compile(rf"^(?P<article>Una? |El |La )?{_TERM} (?:es|son|significa) "),
        infinitive=re.compile(r"^([A-Za-zÁÉÍÓÚáéíóúñ]+(?:ar|er|ir) .+)$"),
        lead=re.compile(r"^Para ([^,:]{4,70})(?:, .{0,40})?:$"),
    ),
    "ja": Wording(
        do="{0}にはどうすればいいですか？",
        work="{0}について教えてください",
        what="{0}とは何ですか？",
        does="{0}は何をしますか？",
        default="{0}の既定値は何ですか？",
        cell="{0}の{1}は何ですか？",
        command="{0}にはどのコマンドを使いますか？",
        flag="{0}にはどのオプションを使いますか？",
        inside="（{0}）",
        defaults=_words("既定値, デフォルト, 既定, 初期値, デフォルト値, default"),
        meanings=_words("意味, 説明, 内容, 用途"),
        defined=re.compile(r"^[*_`「]*(?P<term>[A-Za-z0-9\u30a1-\u30fc\u4e00-\u9fff]{2,20})[*_`」]*とは"),
        infinitive=re.compile(r"^(.{1,30}(?:する|なる|せる|める|べる|ける|える|れる))$"),
        lead=re.compile(r"^(.{2,40}?)(?:には|場合は).{0,20}[:：]$"),
    ),
    "zh": Wording(
        do="如何{0}？",
        work="{0}是怎么回事？",
        what="什么是{0}？",
        does="{0}有什么作用？",
        default="{0}的默认值是什么？",
        cell="{0}的{1}是什么？",
        command="用什么命令可以{0}？",
        flag="哪个选项用于{0}？",
        inside="（{0}）",
        defaults=_words("默认值, 默认, 缺省值, default"),
        meanings=_words("含义, 说明, 描述, 作用, 意义"),
        defined=re.compile(r"^[*_`“]*(?P<term>[^\s*_`“”，。]{2,20})[*_`”]*(?:是一[个种]|是指|指的是)"),
        infinitive=re.compile(
            r"^(?:如何)?((?:安装|配置|设置|使用|启动|停止|创建|添加|删除|移除|更新|升级|部署|迁移|备份|恢复|修改|运行|导出|导入|"
            r"启用|禁用|编写|自定义|构建|发布|校准|更换).+)$"
        ),
        lead=re.compile(r"^(?:要|若要|如果要|想要)(.{2,40}?)[，,].{0,20}[:：]$"),
    ),
}


def language_of(text: str, site: str) -> str:
    """Give the language in which to ask about a text: the site's, unless its script says otherwise; "" for unknown."""
    if _KANA.search(text):
        return "ja"
    if _HAN.search(text):
        return "ja" if site == "ja" else "zh"
    if _OTHER.search(text):
        return ""
    return site if site in WORDINGS and site not in ("ja", "zh") else "en" if site in ("ja", "zh") else ""


def of_title(title: str, inside: str, language: str) -> str:
    """Give what somebody asks who needs the section of this title; `inside` names what it is about where that helps."""
    title = title.rstrip(":：.…")
    if title.endswith(("?", "？")):
        return title
    words = WORDINGS.get(language)
    if words is None:
        return f"{title} {inside}".strip()
    where = words.inside.format(inside) if inside else ""
    doing = english.to_do(title) if language == "en" else _first(words.infinitive, _lower(title, language))
    if doing:
        return words.do.format(_split(doing, where, words))
    if is_name(title):
        return words.does.format(title + where)
    if language == "en":
        return _english_noun(title, where)
    return words.work.format(title + where)


def _split(doing: str, where: str, words: Wording) -> str:
    return doing + where if not words.inside.startswith("（") else doing


def _english_noun(title: str, where: str) -> str:
    first = title.split()[0].lower()
    if first in ("what", "why", "when", "where", "which", "who", "how", "whether", "can", "does", "do", "is", "are"):
        return title
    if english.is_plural(title):
        return english.mine(f"How do {title} work{where}?")
    article = "the " if len(title.split()) > 1 and title[:1].islower() and first not in _DETERMINERS else ""
    return english.mine(f"How does {article}{title} work{where}?")


def is_name(text: str) -> bool:
    """Tell whether a text is a name out of code: an identifier, a flag, a command."""
    return bool(_NAME.fullmatch(text.strip("`"))) and text not in _BRANDS


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.match(text)
    return match[1] if match else None


def _lower(title: str, language: str) -> str:
    return title[:1].lower() + title[1:] if language in ("fr", "es") else title


_BRANDS = frozenset(
    (
        "GitHub",
        "GitLab",
        "GraphQL",
        "JavaScript",
        "TypeScript",
        "WebSocket",
        "WebSockets",
        "MkDocs",
        "YouTube",
        "OpenAPI",
    )
)
_DETERMINERS = frozenset(("a", "an", "the", "your", "my", "our", "one", "all", "no"))
_KANA = re.compile("[\u3041-\u30fa\u31f0-\u31ff]")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_OTHER = re.compile("[\u0370-\u03ff\u0400-\u052f\u0590-\u06ff\u0900-\u0dff\u0e00-\u0eff\uac00-\ud7a3]")
_NAME = re.compile(
    r"--?[A-Za-z][\w-]*|@?[A-Za-z]\w*(?:[._/:-]+\w+)*[_.]\w+(?:\(.*\))?|\w+\(.*\)|[a-z]+[A-Z]\w*|[A-Z]+[a-z0-9]+[A-Z]\w+|[A-Z]{3,}[a-z]{4,}\w*"
)
