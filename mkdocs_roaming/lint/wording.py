"""Words that rules look for, by language: titles that say nothing, and orders to models."""

from __future__ import annotations

import re
from functools import cache

from mkdocs_roaming.text.languages import fold


def is_empty_title(title: str, language: str) -> bool:
    """Tell whether a title fits any section of any documentation. English titles are known in every language."""
    bare = _NUMBERING.sub("", fold(title)).strip(_DRESS)
    return bare in _empty(language) or bare in _empty("en")


def is_signpost(title: str) -> bool:
    """Tell whether a bare title tells of what kind a section is, which is all there is to say: it leads elsewhere."""
    return title in _SIGNPOSTS


@cache
def _empty(language: str) -> frozenset[str]:
    return _titles(_EMPTY.get(language, ""))


def normalize_title(title: str) -> str:
    """Give a title as it is compared with others: folded, without signs around it."""
    return " ".join(fold(title).split()).strip(_DRESS)


_NUMBERING = re.compile(r"^(?:\d+(?:\.\d+)*[.)]?|[a-z][.)])\s+")
_DRESS = " \t.,:;!?…-–—_*#()[]{}¶§→←«»“”\"'"


def _titles(listed: str) -> frozenset[str]:
    return frozenset(fold(one.strip()) for one in listed.split(",") if one.strip())


_SIGNPOSTS = _titles("""
    see also, next steps, next step, what's next, what’s next, where to go next, further reading, references,
    related, related topics, related resources, additional resources, resources, further resources,
    learn more, links, acknowledgements, acknowledgments,
    conclusion, conclusions, summary, recap, wrapping up, zusammenfassung, fazit, conclusión, resumen, résumé,
    conclusione, riepilogo, conclusão, resumo, samenvatting, podsumowanie, заключение, итоги, まとめ, 小结, 小結, 总结,
    總結, 결론, 요약,
    siehe auch, nächste schritte, wie geht es weiter, weiterführendes, voir aussi, étapes suivantes, véase también,
    ver también, próximos pasos, siguientes pasos, vedi anche, veja também, zie ook, см. также, 関連項目,
    次のステップ, 另请参阅, 参见, 下一步, 같이 보기
""")

_EMPTY = {
    "en": """
        overview, an overview, introduction, intro, notes, note, misc, miscellaneous, miscellanea, general, generals,
        details, more details, more, other, others, info, information, general information, additional information,
        more information, further information, other information, additional notes, additional details, other notes,
        general notes, important notes, remarks, various, stuff, extras, untitled, todo, tbd
    """,
    "de": """
        überblick, übersicht, einleitung, einführung, hinweise, hinweis, anmerkungen, anmerkung, bemerkungen, notizen,
        verschiedenes, sonstiges, allgemein, allgemeines, details, einzelheiten, weiteres, informationen, info, infos,
        weitere informationen, allgemeine informationen, zusätzliche informationen, diverses
    """,
    "fr": """
        aperçu, vue d'ensemble, introduction, présentation, notes, note, remarques, divers, général, généralités,
        détails, plus de détails, autre, autres, informations, informations générales, plus d'informations,
        informations complémentaires
    """,
    "es": """
        resumen general, visión general, vista general, introducción, notas, nota, varios, miscelánea, general,
        generalidades, detalles, más detalles, otros, otro, información, información general, más información,
        información adicional, observaciones
    """,
    "it": """
        panoramica, introduzione, note, nota, varie, generale, generalità, dettagli, altro, altri, informazioni,
        informazioni generali, ulteriori informazioni
    """,
    "pt": """
        visão geral, introdução, notas, nota, diversos, geral, detalhes, mais detalhes, outros, outro, informações,
        informações gerais, mais informações
    """,
    "nl": """
        overzicht, inleiding, introductie, opmerkingen, opmerking, diversen, overig, overige, algemeen, details,
        informatie, algemene informatie, meer informatie
    """,
    "pl": "przegląd, wstęp, wprowadzenie, uwagi, uwaga, różne, ogólne, szczegóły, inne, informacje",
    "ru": "обзор, введение, примечания, примечание, разное, общее, общие сведения, подробности, прочее, информация",
    "ja": "概要, はじめに, 序論, 導入, 注意, 注記, 備考, その他, 一般, 全般, 詳細, 情報, 補足",
    "zh": """
        概述, 概览, 概覽, 简介, 簡介, 介绍, 介紹, 引言, 前言, 说明, 說明, 备注, 備註, 注意, 其他, 其它, 杂项, 雜項,
        一般, 详情, 詳情, 信息, 更多
    """,
    "ko": "개요, 소개, 서론, 참고, 주의, 기타, 일반, 세부 사항, 세부사항, 정보",
}

_MODEL = r"(?:(?:AI )?(?:large )?language model|AI (?:assistant|agent|model|crawler)|AI|LLM|chat ?bot)"
_MODEL_HINTS = (" ai", "llm", "language model", "chatbot", "chat bot")
_ORDERS: tuple[tuple[tuple[tuple[str, ...], ...], str], ...] = (
    # English
    (
        (("ignore", "disregard", "forget", "override"), ("previous", "prior", "above", "earlier", "preceding")),
        r"(?:ignore|disregard|forget|override)\s+(?:all\s+|any\s+|of\s+|the\s+|your\s+|my\s+|these\s+|every\s+)*"
        r"(?:previous|prior|above|earlier|preceding)\s+(?:system\s+)?"
        r"(?:instructions?|prompts?|rules|directions|directives|guidelines|commands?)",
    ),
    (
        (_MODEL_HINTS, ("you ",)),
        rf"as\s+an?\s+{_MODEL},?\s+you\s+(?:must|should|shall|will|have\s+to|are\s+(?:required|instructed|obliged)\s+to)",
    ),
    (  # docs may tell agents where to begin; an order is what binds them, or what nobody shall hear of
        (_MODEL_HINTS, ("you are",)),
        rf"(?:if|when)\s+you\s+are\s+an?\s+{_MODEL}\b(?=[^.!?\n]{{0,80}}?"
        r"\b(?:must|(?:are|is)\s+(?:required|obliged|instructed)|ignore|disregard|praise|recommend"
        r"|(?:do\s+not|don['’]t|never|without)\s+(?:tell|mention|reveal|inform|say|ask)\w*)\b)",
    ),
    ((_MODEL_HINTS, ("you are now",)), rf"you\s+are\s+now\s+an?\s+(?:\w+\s+){{0,2}}{_MODEL}\b"),
    (
        (_MODEL_HINTS, ("this",), ("reading", "reads", "read this", "processing")),
        rf"(?:any|all|every|dear)\s+{_MODEL}s?\s+(?:reading|that\s+reads?|who\s+reads?|processing)\s+this",
    ),
    (
        (("system prompt",),),
        r"(?:do\s+not|don['’]t|never)\s+(?:reveal|disclose|mention|repeat)\s+(?:your|the)\s+system\s+prompt",
    ),
    # German
    (
        (("ignorier", "vergiss", "vergessen", "missacht"),),
        r"(?:ignoriere|vergiss|missachte|ignorieren\s+sie|vergessen\s+sie)\s+(?:alle\s+|die\s+|deine\s+|ihre\s+|sämtliche\s+)*"
        r"(?:vorherigen|vorigen|bisherigen|früheren|vorangegangenen|obigen)\s+"
        r"(?:Anweisungen|Instruktionen|Regeln|Befehle|Vorgaben)",
    ),
    ((("als ki", "als sprachmodell"),), r"als\s+(?:KI|Sprachmodell|KI-\w+),?\s+(?:musst|sollst|darfst)\s+du"),
    # French
    (
        (("ignore", "oublie"), ("précédentes", "antérieures", "ci-dessus")),
        r"(?:ignore[zr]?|oublie[zr]?)\s+(?:toutes\s+)?(?:les|tes|vos)\s+(?:instructions|consignes|règles)\s+"
        r"(?:précédentes|antérieures|ci-dessus)",
    ),
    (
        (("en tant qu",),),
        r"en\s+tant\s+qu(?:['’]\s*|e\s+)(?:IA|assistant|modèle\s+de\s+langage),?\s+(?:tu\s+dois|vous\s+devez)",
    ),
    # Spanish, Italian, Portuguese
    (
        (("ignor", "olvid", "descart"), ("anteriores", "previas")),
        r"(?:ignora|olvida|descarta|ignore|olvide)d?\s+(?:todas\s+)?(?:las|tus|sus)\s+"
        r"(?:instrucciones|reglas|indicaciones)\s+(?:anteriores|previas)",
    ),
    (
        (("como ",), ("debe", "tienes que")),
        r"como\s+(?:una?\s+)?(?:IA|modelo\s+de\s+lenguaje),?\s+(?:debes|debe|tienes\s+que)",
    ),
    (
        (("ignora", "dimentica"), ("precedenti",)),
        r"(?:ignora|dimentica)(?:te)?\s+(?:tutte\s+)?le\s+(?:istruzioni|regole)\s+precedenti",
    ),
    (
        (("ignor", "esqueça"), ("anteriores", "prévias")),
        r"(?:ignore|ignora|esqueça)\s+(?:todas\s+)?(?:as|suas)\s+(?:instruções|regras)\s+(?:anteriores|prévias)",
    ),
    # Dutch, Polish, Russian
    (
        (("negeer", "vergeet"),),
        r"(?:negeer|vergeet)\s+(?:alle\s+)?(?:eerdere|vorige|voorgaande|bovenstaande)\s+(?:instructies|opdrachten|regels)",
    ),
    (
        (("ignoruj", "zapomnij"),),
        r"(?:zignoruj|ignoruj|zapomnij)\s+(?:wszystkie\s+)?(?:poprzednie|wcześniejsze)\s+(?:instrukcje|polecenia|zasady)",
    ),
    (
        (("игнорируй", "забудь"),),
        r"(?:игнорируй|проигнорируй|забудь)(?:те)?\s+(?:все\s+)?(?:предыдущие|прежние|прошлые)\s+"
        r"(?:инструкции|указания|правила)",
    ),
    # Chinese, Japanese, Korean
    (
        (("忽略", "无视", "無視", "忘记", "忘記"),),
        r"(?:忽略|无视|無視|忘记|忘記)(?:掉)?(?:你)?(?:所有|全部|一切)?(?:之前|以上|先前|前面|上述)的?(?:所有|全部|一切)?的?"
        r"(?:指令|指示|提示|命令|规则|規則)",
    ),
    (
        (("無視", "忘れ"),),
        r"(?:以前|これまで|上記|前)の(?:すべての|全ての)?(?:指示|命令|ルール|プロンプト)を(?:すべて|全て)?(?:無視|忘れ)",
    ),
    ((("이전",),), r"이전의?\s*(?:모든\s*)?(?:지시|명령|지침)(?:사항)?(?:를|을)?\s*(?:모두\s*)?(?:무시|잊)"),
)


def find_orders(text: str) -> list[re.Match[str]]:
    """Find what is said to a model that reads, not to a person, in the order of the text.

    Few pages hold the words that each pattern needs; only there it is worth its price.
    """
    folded = text.lower()
    found = [
        match
        for needed, pattern in _ORDERS
        if all(any(word in folded for word in group) for group in needed)
        for match in re.finditer(pattern, text, re.IGNORECASE)
    ]
    return sorted(found, key=lambda match: match.start())


TEACHING = re.compile(
    r"prompt[- ]?(?:injection|leak)|injection attack|jailbreak|prompt[- ]?einschleusung|injections?\s+de\s+prompts?"
    r"|in(?:yecci[oó]n|jeção)\s+de\s+prompts?"
    r"|提示[词詞]?(?:注入|攻击|攻擊)|プロンプトインジェクション|프롬프트\s*인젝션",
    re.IGNORECASE,
)
"""What a section names that teaches about such orders."""
