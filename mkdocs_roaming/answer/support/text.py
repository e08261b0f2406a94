"""What turns a sentence round, by language: negations, words with an opposite, and how numbers are written.

A language is one entry of `_LANGUAGES`. Pairs are `this that / opposite other;`: each word on one side opposes each on
the other; of inflected words one form is enough where they share a stem.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal
from unicodedata import normalize

from mkdocs_roaming.text import languages
from mkdocs_roaming.text.languages import fold
from mkdocs_roaming.text.tokenizer import is_stop_word, stem

_ANY = re.compile(".", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PolarityWords:
    """What turns a sentence of one language round. Words are folded, opposites by their stems."""

    negations: frozenset[str] = frozenset()
    endings: tuple[str, ...] = ()
    """Ends of words that negate: `n't`."""
    beginnings: tuple[str, ...] = ()
    """Beginnings of words that negate: `n'`."""
    halves: frozenset[str] = frozenset()
    """Negations that another one completes: `ne … pas`."""
    continuing: frozenset[str] = frozenset()
    """Negations that go on with one before them: `nor`."""
    phrases: tuple[tuple[str, ...], ...] = ()
    """Words that negate nothing together: `not only`."""
    breaks: frozenset[str] = frozenset()
    """Words at which a negation's reach ends."""
    opposing: dict[str, frozenset[str]] = field(default_factory=dict)
    axes: dict[str, str] = field(default_factory=dict)
    """One name for a word and whatever opposes it, so that `enabled` and `disabled` are about the same."""
    prefixes: tuple[str, ...] = ()
    """What turns a word into its opposite: `un`."""
    numbers: dict[str, str] = field(default_factory=dict)
    """Numbers written as words."""
    thousands: str = ","
    """The sign between thousands."""
    pieces: re.Pattern[str] = _ANY
    """Cuts a run of a script without spaces into characters, and words that turn it round."""


@cache
def load_polarity_words(language: str) -> PolarityWords:
    """Give what is known of a language; of an unknown one nothing."""
    code = languages.base_language(language)
    raw = _LANGUAGES.get(code)
    if raw is None:
        return PolarityWords()
    opposing: dict[str, set[str]] = {}
    for pair in raw.pairs.split(";"):
        left, right = ({stem(word, code) for word in side.split()} for side in pair.split("/"))
        for one, others in [*((one, right) for one in left), *((one, left) for one in right)]:
            opposing.setdefault(one, set()).update(others)
    cues = sorted({*raw.negations.split(), *re.split(r"[\s;/]+", raw.pairs.strip())}, key=lambda cue: (-len(cue), cue))
    return PolarityWords(
        frozenset(map(fold, raw.negations.split())),
        tuple(raw.endings.split()),
        tuple(raw.beginnings.split()),
        frozenset(map(fold, raw.halves.split())),
        frozenset(map(fold, raw.continuing.split())),
        tuple(tuple(fold(phrase).split()) for phrase in raw.phrases),
        frozenset(map(fold, raw.breaks.split())),
        {one: frozenset(others - {one}) for one, others in opposing.items()},
        _axes(opposing),
        tuple(raw.prefixes.split()),
        {fold(word): str(at) for at, word in enumerate(raw.numbers.split(), 2)},
        raw.thousands,
        re.compile("|".join([*map(re.escape, cues), "."]), re.DOTALL) if raw.spaceless else _ANY,
    )


@dataclass(frozen=True, slots=True)
class _Raw:
    negations: str
    pairs: str
    endings: str = ""
    beginnings: str = ""
    halves: str = ""
    continuing: str = ""
    phrases: tuple[str, ...] = ()
    breaks: str = ""
    joining: str = ""
    prefixes: str = ""
    numbers: str = ""
    """Two, three and so on."""
    thousands: str = ","
    spaceless: bool = False


def _axes(opposing: dict[str, set[str]]) -> dict[str, str]:
    """Name whatever hangs together by its first word."""
    axes: dict[str, str] = {}
    for one in opposing:
        waiting = [one]
        while waiting:
            word = waiting.pop()
            if word not in axes:
                axes[word] = f"± {one}"
                waiting += sorted(opposing[word])
    return axes


_LANGUAGES = {
    "en": _Raw(
        negations="""
            not no never none nothing nobody nowhere neither nor without cannot cant wont dont doesnt isnt arent wasnt
            werent didnt hasnt havent hadnt shouldnt wouldnt couldnt mustnt neednt aint don't doesn't isn't aren't
            wasn't weren't didn't hasn't haven't hadn't shouldn't wouldn't couldn't mustn't needn't ain't can't won't
            shan't non hardly barely
        """,
        endings="n't",
        continuing="nor",
        joining="and or",
        phrases=("not only", "not just", "whether or not", "not necessarily", "no longer than", "no. "),
        breaks="but because unless until if when while although though however whereas",
        prefixes="un non dis in im ir il de mis anti",
        numbers="two three four five six seven eight nine ten eleven twelve",
        pairs="""
            enable activate / disable deactivate;
            allow permit accept grant approve / deny denied forbid forbidden disallow prohibit reject refuse prevent;
            grant approve / revoke block; always / never sometimes rarely seldom;
            often usually frequently / rarely seldom never; before / after;
            earlier previous previously prior preceding / later next subsequent subsequently following afterwards;
            precede / follow; first / last; minimum min / maximum max; minimal / maximal; minimize / maximize;
            least / most; less fewer / more; many much / few little; common / rare;
            lower low lowest / higher high highest upper;
            smaller small smallest / larger large largest big bigger biggest;
            shorter short shortest / longer long longest; newer new newest latest / older old oldest;
            fast faster fastest quick quickly / slow slower slowest slowly; below beneath under / above over;
            beneath underneath / above; inside within / outside beyond; inner / outer; internal / external;
            internally / externally; inbound incoming ingress / outbound outgoing egress; on / off; in / out;
            up / down; upward upwards / downward downwards; upgrade / downgrade; upload / download;
            upstream / downstream; left / right; top / bottom; front / back; start begin / stop end finish;
            started began begun / stopped ended finished; open / close shut; opened / closed; include / exclude omit;
            inclusive / exclusive; increase raise grow / decrease reduce lower shrink; increment / decrement;
            add append insert / remove delete drop subtract; create / delete destroy remove; install / uninstall;
            mount / unmount; attach connect / detach disconnect; lock / unlock; load / unload; encrypt / decrypt;
            encode / decode; compress / decompress; serialize / deserialize;
            show shown display reveal visible / hide hidden conceal invisible; expand / collapse; read / write;
            readable / writable; import / export; input / output; send sent / receive received; push / pull;
            client / server; local locally / remote remotely; public publicly / private privately;
            global globally / local locally; static statically / dynamic dynamically;
            manual manually / automatic automatically; synchronous synchronously / asynchronous asynchronously;
            sync / async; online / offline; temporary temporarily / permanent permanently; mutable / immutable;
            strict strictly / lenient loosely; required mandatory necessary obligatory / optional unnecessary;
            require / forbid; must / may; explicit explicitly / implicit implicitly; absolute / relative;
            single / multiple; singular / plural; any / none; all every / none some; both / neither;
            everything / nothing; everyone / nobody; true / false; yes / no; valid / invalid;
            succeed success successful successfully pass / fail failure failed;
            keep kept retain preserve / discard drop remove delete lose lost;
            safe safely secure / unsafe unsafely dangerous insecure; trusted / untrusted; possible / impossible;
            able / unable; present / absent missing; exist / missing; full / empty; empty / nonempty; if / unless;
            ignore skip / respect honour honor; inherit / override; recommended encouraged / discouraged;
            support / lack; ascending / descending; ascend / descend; horizontal horizontally / vertical vertically;
            row / column; uppercase / lowercase; positive / negative; odd / even;
            forward forwards / backward backwards; parent / child; ancestor / descendant;
            source / destination target; primary / secondary; major / minor; stable / unstable;
            sorted ordered / unsorted unordered; signed / unsigned; cheap cheaper / expensive;
            easy easier easily / hard harder difficult; same identical equal / different unequal;
            similar / different; separate separately / together combined; pause suspend / resume; freeze / thaw;
            win won / lose lost; gain / lose lost; agree / disagree; like / unlike;
            good better best / bad worse worst; correct correctly right / wrong wrongly incorrect incorrectly;
            simple simpler / complex; early / late; near close / far; light lighter / dark darker;
            wide wider / narrow narrower; deep deeper / shallow; thick / thin; strong / weak; hot / cold; wet / dry;
            day daily / night nightly; morning / evening; today / yesterday tomorrow; buy / sell;
            arrive / depart leave; enter / exit leave; trusted / distrusted; verbose / quiet silent;
            eager eagerly / lazy lazily; greedy / lazy; known / unknown; used / unused; sensitive / insensitive;
            opt-in / opt-out
        """,
    ),
    "de": _Raw(
        negations="""
            nicht kein keine keinen keinem keiner keines nie niemals nichts niemand nirgends weder noch ohne ungleich
        """,
        continuing="noch",
        joining="und oder",
        phrases=("nicht nur", "ob oder nicht", "nicht unbedingt"),
        breaks="aber sondern weil wenn falls bis obwohl während",
        prefixes="un in de dis nicht",
        numbers="zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        thousands=".",
        pairs="""
            aktivieren aktiviert einschalten eingeschaltet / deaktivieren deaktiviert ausschalten ausgeschaltet;
            erlauben erlaubt zulassen zugelassen gestatten / verbieten verboten untersagen ablehnen sperren verweigern;
            immer stets / nie niemals selten; vor vorher davor bevor / nach nachher danach nachdem;
            erste ersten erster zuerst / letzte letzten letzter zuletzt;
            minimum minimal mindestens min / maximum maximal höchstens max; kleinste kleinster / größte größter;
            mehr / weniger; höher hoch höchste / niedriger niedrig niedrigste tiefer; größer groß / kleiner klein;
            länger lang / kürzer kurz; neuer neu neueste / älter alt älteste; schneller schnell / langsamer langsam;
            über oberhalb / unter unterhalb; innerhalb innen / außerhalb außen; intern / extern; an ein / aus;
            starten beginnen anfangen / stoppen beenden enden; öffnen geöffnet / schließen geschlossen;
            einschließen einschließlich / ausschließen ausschließlich; erhöhen / verringern senken reduzieren;
            hinzufügen einfügen / entfernen löschen; erstellen anlegen / löschen entfernen;
            installieren / deinstallieren; verbinden / trennen; verschlüsseln / entschlüsseln;
            anzeigen sichtbar / verbergen ausblenden unsichtbar; lesen / schreiben; importieren / exportieren;
            senden gesendet / empfangen; lokal / entfernt; öffentlich / privat; manuell / automatisch;
            erforderlich nötig notwendig verpflichtend / optional freiwillig unnötig;
            muss müssen / darf dürfen kann können; wahr / falsch; ja / nein; gültig / ungültig;
            erfolgreich gelingt / fehlgeschlagen scheitert; behalten aufbewahren / verwerfen löschen;
            sicher / unsicher; möglich / unmöglich; alle jede jeder / keine keiner; aufsteigend / absteigend;
            links / rechts; oben / unten; früher / später; gleich / verschieden ungleich; richtig korrekt / falsch;
            vorhanden / fehlend
        """,
    ),
    "fr": _Raw(
        negations="""
            ne n pas jamais aucun aucune rien personne nulle sans ni non
        """,
        beginnings="n'",
        halves="ne",
        continuing="ni",
        joining="et ou",
        phrases=("non seulement", "pas seulement", "pas nécessairement"),
        breaks="mais car parce si quand lorsque jusqu tandis",
        prefixes="in im ir il dé des non",
        numbers="deux trois quatre cinq six sept huit neuf dix onze douze",
        thousands=".",
        pairs="""
            activer activé active / désactiver désactivé désactive;
            autoriser autorisé permettre permis accepter / interdire interdit refuser refusé bloquer;
            toujours / jamais rarement; avant / après; premier première / dernier dernière;
            minimum minimal minimale min / maximum maximal maximale max; moins / plus;
            inférieur inférieure / supérieur supérieure; petit petite / grand grande; court courte / long longue;
            nouveau nouvelle récent récente / ancien ancienne vieux; rapide rapidement / lent lente lentement;
            dessus / dessous; sur / sous; dedans intérieur interne / dehors extérieur externe;
            démarrer commencer / arrêter terminer finir; ouvrir ouvert / fermer fermé;
            inclure inclus inclut / exclure exclu exclut; augmenter / diminuer réduire;
            ajouter insérer / supprimer retirer enlever; créer / supprimer détruire; installer / désinstaller;
            connecter / déconnecter; chiffrer / déchiffrer; afficher visible / masquer cacher invisible;
            lire / écrire; importer / exporter; envoyer / recevoir; local locale / distant distante;
            public publique / privé privée; manuel manuellement / automatique automatiquement;
            obligatoire requis requise nécessaire / facultatif facultative optionnel optionnelle;
            doit doivent / peut peuvent; vrai / faux; oui / non; valide / invalide;
            réussir réussit succès / échouer échoue échec; conserver garder / jeter supprimer; possible / impossible;
            tous toutes tout / aucun aucune; croissant / décroissant; gauche / droite; haut / bas; tôt / tard;
            même identique / différent différente; correct / incorrect
        """,
    ),
    "es": _Raw(
        negations="""
            no nunca jamás ningún ninguno ninguna nada nadie sin ni tampoco
        """,
        continuing="ni",
        joining="y o",
        phrases=("no solo", "no sólo", "no necesariamente"),
        breaks="pero porque si cuando hasta aunque mientras sino",
        prefixes="in im des no",
        numbers="dos tres cuatro cinco seis siete ocho nueve diez once doce",
        thousands=".",
        pairs="""
            activar activado habilitar habilitado / desactivar desactivado deshabilitar deshabilitado;
            permitir permitido aceptar / prohibir prohibido denegar denegado rechazar bloquear;
            siempre / nunca jamás raramente; antes / después; primero primera / último última;
            mínimo mínima min / máximo máxima max; menos / más; inferior menor / superior mayor;
            pequeño pequeña / grande; corto corta / largo larga; nuevo nueva reciente / antiguo antigua viejo;
            rápido rápidamente / lento lentamente; encima sobre / debajo bajo;
            dentro interno interna interior / fuera externo externa exterior;
            iniciar empezar comenzar arrancar / detener parar terminar finalizar; abrir abierto / cerrar cerrado;
            incluir incluido / excluir excluido; aumentar incrementar / disminuir reducir;
            añadir agregar insertar / eliminar quitar borrar; crear / eliminar borrar destruir;
            instalar / desinstalar; conectar / desconectar; cifrar / descifrar;
            mostrar visible / ocultar oculto invisible; leer / escribir; importar / exportar; enviar / recibir;
            local / remoto remota; público pública / privado privada;
            manual manualmente / automático automática automáticamente;
            obligatorio obligatoria requerido requerida necesario necesaria / opcional; debe deben / puede pueden;
            verdadero / falso; sí / no; válido válida / inválido inválida; éxito correctamente / fallo error;
            conservar mantener guardar / descartar eliminar; posible / imposible; todos todas todo / ninguno ninguna;
            ascendente / descendente; izquierda / derecha; arriba / abajo; temprano / tarde;
            mismo misma igual / diferente distinto distinta; correcto correcta / incorrecto incorrecta
        """,
    ),
    "zh": _Raw(
        negations="不 没 沒 未 无 無 非 别 勿 禁止",
        pairs="""
            启用 啟用 开启 開啟 / 禁用 停用 关闭 關閉; 允许 允許 / 禁止 拒绝 拒絕; 最大 / 最小; 最多 / 最少 至少;
            之前 以前 / 之后 之後 以后 以後; 必须 必須 必需 / 可选 可選; 总是 總是 始终 始終 / 从不 從不;
            增加 / 减少 減少; 添加 / 删除 刪除; 打开 打開 / 关闭 關閉; 内部 內部 / 外部; 成功 / 失败 失敗;
            手动 手動 / 自动 自動; 公开 公開 / 私有
        """,
        spaceless=True,
    ),
    "ja": _Raw(
        negations="ない なく なかっ ません ずに 不 未 無 非 禁止",
        pairs="""
            有効 / 無効; 許可 / 禁止 拒否; 最大 / 最小; 以上 / 以下 未満; 以前 / 以降; 必須 / 任意; 常に / 決して;
            増加 / 減少; 追加 / 削除; 開始 / 停止 終了; 内部 / 外部; 成功 / 失敗; 手動 / 自動; 公開 / 非公開
        """,
        spaceless=True,
    ),
    "ko": _Raw(
        negations="않 없 못 아니 안 금지",
        pairs="""
            활성화 / 비활성화; 허용 / 거부 금지; 최대 / 최소; 이전 / 이후; 필수 / 선택; 항상 / 절대;
            추가 / 삭제 제거; 시작 / 중지 종료; 성공 / 실패; 수동 / 자동; 공개 / 비공개
        """,
        spaceless=True,
    ),
}


CONJUNCTIONS = frozenset(word for raw in _LANGUAGES.values() for word in raw.joining.split())


"""Words that join the parts of a list."""


# MERGED mkdocs_roaming.answer.support.sentences:
# A text of Markdown as sentences: what can be compared, one by one, with what another text says.
#
# Reads line by line and in time that grows with the text alone, whatever the text is: an answer may come from
# anyone.


@dataclass(frozen=True, slots=True)
class Segment:
    """A sentence, a heading, a row of a table or a line of code: `start` and `end` are character offsets."""

    kind: Literal["sentence", "heading", "row", "code"]
    start: int
    end: int


def split_segments(text: str) -> list[Segment]:
    """Give the sentences of a text in its order, and its headings, rows of tables and lines of fenced code."""
    return [piece for stretch in _Reading(text).stretches() for piece in _cut(text, stretch)]


def find_code_spans(text: str) -> list[tuple[int, int, int]]:
    """Give inline code: where each span starts, where it ends, and how many backticks enclose it."""
    runs = [(match.start(), match.end()) for match in _BACKTICKS.finditer(text)]
    by_length: dict[int, list[int]] = {}
    for start, end in runs:
        by_length.setdefault(end - start, []).append(start)
    found, edge = list[tuple[int, int, int]](), 0
    for start, end in runs:
        if start < edge:
            continue
        alike = by_length[end - start]
        closing = bisect_left(alike, end)
        if closing < len(alike):
            edge = alike[closing] + end - start
            found.append((start, edge, end - start))
    return found


def _cut(text: str, stretch: Segment) -> Iterator[Segment]:
    """Cut what is longer than sentences are: the work on one grows with its square."""
    start = stretch.start
    while stretch.end - start > _LONGEST:
        space = text.rfind(" ", start + _LONGEST // 2, start + _LONGEST)
        stop = space if space > 0 else start + _LONGEST
        yield Segment(stretch.kind, start, stop)
        start = stop + (space > 0)
    if start < stretch.end:
        yield Segment(stretch.kind, start, stretch.end)


_LONGEST = 800


class _Reading:
    """One pass over the lines of a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._begun: int | None = None  # where the paragraph starts that is being read
        self._end = 0

    def stretches(self) -> Iterator[Segment]:
        fence = ""
        for line in _LINE.finditer(self._text):
            prefix = _QUOTED.match(line[0])
            lead = prefix.end() if prefix else 0
            body, start, end = line[0][lead:].rstrip(), line.start() + lead, line.start() + len(line[0].rstrip())
            if fence:
                closing = _FENCE.match(body)
                if closing and closing[1].startswith(fence) and not body[closing.end(1) :].strip():
                    fence = ""
                elif body:
                    yield Segment("code", start + len(body) - len(body.lstrip()), end)
                continue
            opening = _FENCE.match(body)
            if opening and not (opening[1][0] == "`" and "`" in body[opening.end(1) :]):
                yield from self._paragraph()
                fence = opening[1]
            else:
                yield from self._line(body, start, end)
        yield from self._paragraph()

    def _line(self, body: str, start: int, end: int) -> Iterator[Segment]:
        heading, item = _HEADING.match(body), _ITEM.match(body)
        if not body or heading or item or body.startswith("|") or _LABEL.match(body):
            yield from self._paragraph()
        if heading:
            yield Segment("heading", start + heading.end(), end)
        elif body.startswith("|"):
            if not _RULER.fullmatch(body):
                yield Segment("row", start, end)
        elif body and not _LABEL.fullmatch(body):
            mark = item or _LABEL.match(body)
            at = mark.end() if mark else 0
            at += len(body[at:]) - len(body[at:].lstrip())
            if self._begun is None:
                self._begun = start + at
            self._end = end

    def _paragraph(self) -> Iterator[Segment]:
        """Cut the paragraph that has been read into sentences; code and addresses hide what looks like their end."""
        if self._begun is None:
            return
        begun, text = self._begun, self._text[self._begun : self._end]
        self._begun = None
        hidden = _ADDRESS.sub(lambda match: "x" * len(match[0]), text)
        parts, last = list[str](), 0
        for start, end, _ in find_code_spans(hidden):
            parts += [hidden[last:start], "x" * (end - start)]
            last = end
        hidden = "".join([*parts, hidden[last:]])
        stops = [*(match.end() for match in _SENTENCE_END.finditer(hidden)), len(text)]
        edge, cut = 0, list[tuple[int, int]]()
        for stop in stops:
            piece = text[edge:stop]
            if piece.strip():
                span = edge + len(piece) - len(piece.lstrip()), edge + len(piece.rstrip())
                if cut and not _LETTER.search(piece):  # `[#12]` says something about what stands before it
                    cut[-1] = cut[-1][0], span[1]
                else:
                    cut.append(span)
            edge = stop
        yield from (Segment("sentence", begun + start, begun + end) for start, end in cut)


_LETTER = re.compile(r"[^\W\d_]")


_LINE = re.compile(r"[^\n]+\n?|\n")


_QUOTED = re.compile(r"[ \t]*(?:>[ \t]?)+|[ \t]*")


_FENCE = re.compile(r"(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}|~{3,})")


_HEADING = re.compile(r"#{1,6}(?:[ \t]+|$)")


_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")


_LABEL = re.compile(r"\[!\w+\]|(?:\[\^[^\]\s]{1,40}\]|:)(?::[ \t]+|[ \t]{3})")


_RULER = re.compile(r"[|:\- \t]+")


_BACKTICKS = re.compile("`+")


_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>()\[\]`]+|\]\([^()\s`]{0,500}\)|<[^<>\s`]{1,500}>")


_SENTENCE_END = re.compile(
    r"(?:(?<![\s.(][A-Za-z])(?<!e\.g)(?<!i\.e)(?<!z\.B)(?<!\bvs)(?<!\bcf)(?<!\bca)(?<!\betc)(?<!\bapprox)(?<!\bbzw)"
    r"(?<!\bNr)(?<!\bp\. ej)\.|[!?])[\"'”’»)*_]*(?=\s+[^\sa-z])|[。！？]"
)


# MERGED mkdocs_roaming.answer.support.tokens:
# A text as words and literals: numbers, versions, flags, paths, identifiers, addresses, each as one token.


Kind = Literal["word", "break", "number", "version", "flag", "path", "identifier", "url"]


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a literal or a sign that parts clauses; `key` is what it is compared by."""

    kind: Kind
    text: str
    start: int
    key: str
    stop: bool = False
    code: bool = False
    """Whether it stands in inline code, or in a line of code."""

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def family(self) -> str:
        """What it can be mistaken for: another `number`, another `name`; of a plain word nothing."""
        if self.kind in ("number", "version"):
            return "number"
        return "name" if self.kind not in ("word", "break") or (self.code and self.kind == "word") else ""


def tokenize(text: str, language: str = "en", *, code: bool = False) -> list[Token]:
    """Give the tokens of a text in its order; `code` tells that all of it is code."""
    known, edge, found = load_polarity_words(language), 0, list[Token]()
    for start, end in [(0, len(text))] if code else [(start, end) for start, end, _ in find_code_spans(text)]:
        found += _tokens(text[edge:start], edge, _TOKEN, language, known)
        found += (replace(each, code=True) for each in _tokens(text[start:end], start, _IN_CODE, language, known))
        edge = end
    found += _tokens(text[edge:], edge, _TOKEN, language, known)
    return found


def is_negation(token: Token, known: PolarityWords) -> bool:
    """Tell whether a word negates: `not`, `don't`, `n'est`."""
    if token.kind != "word" or token.code:
        return False
    word = fold(token.text).replace("’", "'")
    return word in known.negations or word.endswith(known.endings) or word.startswith(known.beginnings)


def normalize_number(text: str, thousands: str = ",") -> str:
    """Give a number or a version as it is compared: no `v`, no sign between thousands, one kind of digits and minus."""
    plain = normalize("NFKC", text).replace("−", "-").lower()
    if grouped := _GROUPED.fullmatch(plain):
        signs = set(grouped[1]) - set("0123456789-")
        if signs == {thousands} or not signs & set(".,"):
            plain = "".join(each for each in grouped[1] if each.isdecimal() or each == "-") + grouped[2]
    return plain.removeprefix("v") if "." in plain else plain


def _tokens(text: str, offset: int, reader: re.Pattern[str], language: str, known: PolarityWords) -> Iterator[Token]:
    for match in reader.finditer(text):
        kind, run, start = match.lastgroup, match[0], offset + match.start()
        if kind == "break":
            yield Token("break", run, start, run)
        elif kind == "number":
            plain = "." in run.strip(".") and (run.count(".") > 1 or run[0] in "vV" or run[-1].isalpha())
            yield Token("version" if plain else "number", run, start, normalize_number(run, known.thousands))
        elif kind == "url":
            run = run.rstrip(".,;:!?*_")
            yield Token("url", run, start, run.rstrip("/"))
        elif kind == "flag":
            yield Token("flag", run, start, run)
        elif kind == "path":
            run = run.rstrip(".*")
            if _is_path(run):
                yield Token("path", run, start, run)
            else:
                yield from _tokens(run, start, _NO_PATH, language, known)
        elif kind == "joined":
            yield Token("identifier", run, start, run)
        else:
            yield from _names(run, start, language, known)


def _names(run: str, start: int, language: str, known: PolarityWords) -> Iterator[Token]:
    """Give a name as one identifier, or as the words that it is."""
    if not run.isascii() and _SPACELESS.search(run):
        for part in _SPACELESS_OR_NOT.finditer(run):
            at = start + part.start()
            if _SPACELESS.match(part[0]):
                yield from (_word(cut[0], at + cut.start(), language) for cut in known.pieces.finditer(part[0]))
            else:
                yield from _tokens(part[0], at, _NO_PATH, language, known)
    elif run.isdecimal():
        yield Token("number", run, start, normalize_number(run))
    elif digits := known.numbers.get(fold(run)):
        yield Token("number", run, start, digits)
    elif _is_identifier(run):
        yield Token("identifier", run, start, run.replace("\\", "").removesuffix("()"))
    else:
        bare = run.strip("_")
        yield _word(bare, start + run.index(bare), language) if bare else Token("break", run, start, run)


def _word(run: str, start: int, language: str) -> Token:
    key = fold(run).replace("’", "'")
    if not key.endswith("n't"):
        key = stem(languages.strip_clitics(run, languages.base_language(language)), language)
    return Token("word", run, start, key, is_stop_word(run, language))


def _is_path(run: str) -> bool:
    """Tell a path from alternatives, `read/write`, and from a ratio, `1/2`."""
    if run[0] in "/~.$" or run[-1] == "/":
        return len(run) > 1
    parts = run.split("/")
    if all(part.replace(".", "").isdigit() for part in parts):
        return False
    return len(parts) > 2 or any(_is_identifier(part) or "-" in part for part in parts)


def _is_identifier(run: str) -> bool:
    """Tell a name that is written in one way only from a word."""
    if run.isalpha():
        return bool(_CAMEL.search(run))
    if _ABBREVIATION.fullmatch(run) or "'" in run or "’" in run:
        return False
    return run.startswith("__") or (run[0] == "_") != (run[-1] == "_") or not run.strip("_").isalpha()


_GROUPED = re.compile(r"(-?\d{1,3}(?:[.,'’_\u00a0\u202f ]\d{3})+)((?:[.,]\d+)?)")


_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]{2,}")


_ABBREVIATION = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")


_SCRIPTS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"


_SPACELESS = re.compile(f"[{_SCRIPTS}\uf900-\ufaff\U00020000-\U0003ffff]")


_SPACELESS_OR_NOT = re.compile(f"{_SPACELESS.pattern}+|[^{_SPACELESS.pattern[1:]}+")


_URL = r"(?P<url>(?:https?|ftps?|file|wss?)://[^\s<>\"'`)\]|]+)"


_FLAG = r"(?P<flag>(?<![\w-])--?[A-Za-z](?:[\w-]*\w)?)"


_PATH = r"(?P<path>(?<![\w/.-])(?:~|\.\.?(?=/)|[$@]?(?:[\w-]|\.(?=\w))++)?(?:/(?:[\w%+~{}$@:-]|\.(?=\w))++)++/?)"


_NUMBER = (
    r"(?P<number>(?:(?<![\w)\].-])[-−](?=\d))?(?<![\w.])(?:[vV](?=\d))?"
    r"(?:\d{1,2}:\d\d(?::\d\d)?(?![\d:])|\d{4}-\d\d-\d\d(?![\d-])|\d{1,3}(?:[,'’_\u00a0\u202f]\d{3})+(?![\d.])|\d++)(?:\.\d++)*+"
    r"(?:\.[xX*](?!\w))?(?:(?<=\d)[-.]?(?:a|b|c|rc|alpha|beta|dev|post|pre)\.?\d+(?!\w))?"
    r"(?![^\W_]*[A-Za-z]\d)(?!\w{6})(?!_))"
)


_NAME = (
    r"(?P<name>[^\W\d_]++(?:['’][^\W\d_]++)+|(?:(?<![\w.)\]])[$@.](?=[^\W\d]))?"
    r"(?:\w|\\_)++(?:(?:\.|::)(?=[^\W\d])(?:\w|\\_)++)*+(?:\(\))?)"
)


_BREAK = r"(?P<break>[,;:.!?()—–\[\]{}，、；：。！？（）])"


_JOINED = r"(?P<joined>[^\W\d_]\w*+(?:-[^\W\d_]\w*+)++)"


_TOKEN = re.compile("|".join([_URL, _FLAG, _PATH, _NUMBER, _NAME, _BREAK]))


_IN_CODE = re.compile("|".join([_URL, _FLAG, _PATH, _NUMBER, _JOINED, _NAME, _BREAK]))


_NO_PATH = re.compile("|".join([_FLAG, _NUMBER, _NAME, _BREAK]))
