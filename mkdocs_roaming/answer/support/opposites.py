"""What turns a sentence round, by language: negations, words with an opposite, and how numbers are written.

A language is one entry of `_LANGUAGES`. Pairs are `this that / opposite other;`: each word on one side opposes each on
the other; of inflected words one form is enough where they share a stem.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

from mkdocs_roaming import languages
from mkdocs_roaming.words import fold, stem

_ANY = re.compile(".", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Opposites:
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
def opposites(language: str) -> Opposites:
    """Give what is known of a language; of an unknown one nothing."""
    code = languages.code(language)
    raw = _LANGUAGES.get(code)
    if raw is None:
        return Opposites()
    opposing: dict[str, set[str]] = {}
    for pair in raw.pairs.split(";"):
        left, right = ({stem(word, code) for word in side.split()} for side in pair.split("/"))
        for one, others in [*((one, right) for one in left), *((one, left) for one in right)]:
            opposing.setdefault(one, set()).update(others)
    cues = sorted({*raw.negations.split(), *re.split(r"[\s;/]+", raw.pairs.strip())}, key=lambda cue: (-len(cue), cue))
    return Opposites(
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

JOINING = frozenset(word for raw in _LANGUAGES.values() for word in raw.joining.split())
"""Words that join the parts of a list."""
