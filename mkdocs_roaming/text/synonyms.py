"""Words that readers and writers of manuals use for the same thing; a weak hint, for English only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache

from mkdocs_roaming.text.languages import fold
from mkdocs_roaming.text.tokenizer import Word, parse_query, stem


def find_stem_synonyms(term: str, language: str) -> tuple[str, ...]:
    """Give the stems of the words that may stand for a stemmed word."""
    return _by_stem().get(term, ()) if language.lower().startswith("en") else ()


@cache
def synonym_groups() -> tuple[tuple[str, ...], ...]:
    """Give the groups of English words and phrases that say much the same."""
    return tuple(tuple(line.split(", ")) for line in _GROUPS.strip().splitlines())


@cache
def _by_stem() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for group in synonym_groups():
        single = list(dict.fromkeys(stem(word, "en") for word in group if word.isalpha()))
        for word in single:
            found.setdefault(word, {}).update((other, None) for other in single if other != word)
    return {word: tuple(others) for word, others in found.items()}


_GROUPS = """
add, create, insert, make, new
address, id
adjust, alter, change, edit, modify
alarm, alert
allow, allowed, permit, permitted, may
app, application, program
arg, argument, option, param, parameter
auth, authenticate, authentication, login, signin
automate, automation, script
average, mean
backlog, lag, queue, waiting
backup, back up, snapshot, save
backup, recover, recovery, restore, snapshot
begin, boot, launch, run, start
bind, listen
break, broken, corrupt, damage, fail
broken, corrupt, damaged, torn
build, compile
calculate, compute, calculated
cap, limit, max, maximum, quota
certificate, tls
change, modify, edit, alter, adjust
check, test, validate, verify
clear, delete, discard, drop, erase, purge, remove
clone, copy, duplicate, mirror, replicate
cmd, command
colleague, user, person
colour, color
compatible, works with, needs, supported
config, configuration, configure, customize, option, preference, setting
config, configuration, configure, settings, setting
confirm, acknowledge, accept
connect, connection
cost, price
cpu, core, processor
crash, freeze, hang
cron, periodic, schedule
csv, spreadsheet, excel
database, db
debug, debugging, verbose, log level, trace
default, standard, unless, out of the box
delay, hold, wait
deploy, install, installation, setup
deprecate, obsolete, remove
deprecated, removed, no longer
dir, directory, folder, path
disable, turn off, switch off, deactivate, off
disk, storage, space
doc, documentation, manual
docker, container, podman
download, export, save, write
duplicate, double, twice, copy
email, mail
enable, turn on, switch on, activate, on
encrypt, encryption, tls, https, ssl
end, exit, kill, quit, shutdown, stop, terminate
env, environment
error, exception, failure, fault, problem
error, failure, fault, exception, fails
expire, expired, lapse, valid, lifetime
expire, expiry, timeout
export, download, dump
fast, latency, performance, slow, speed
fast, quick, quickly, speed, within
fetch, get, retrieve
find, lookup, search
fix, repair, resolve, solve, troubleshoot
forbid, deny, refuse, reject
frequency, interval, often, period
frequency, interval, rate
group, batch, collect
hide, conceal, invisible
icon, image, logo, photo, picture
import, load, read
import, upload, load, ingest
install, setup, set up
interface, ui
journal, log, trace
kill, kills, terminate
lan, network
language, translation, locale
least, min, minimum
length, long, size
license, licence
lifetime, validity, expires
link, url, address
list, enumerate
list, show all
lock, locked, block, blocked, locked out
login, log in, sign in, sign-in
logout, log out, sign out
lose, loss, lost
lost, lose, gone, missing, disappear
maximum, max, at most, up to, limit, longest, highest, no more than
memory, ram
merge, combine, join
metrics, prometheus, monitoring
migrate, move, update, upgrade
minimum, min, at least, shortest, lowest, no less than
monitor, observe, watch
monitor, watch, observe
mute, silence, quiet, suppress, snooze
notification, message, alert, notify
often, every, interval, frequency, how often
option, setting, parameter, flag, switch
order, sort
package, library
password, credentials, passphrase
pause, suspend
permission, privilege, right, role, access
permission, right, access, scope, role
plugin, extension, add-on, addon, module
port, listens on
proxy, reverse proxy
reboot, restart
release, version
remote, other machine, another host
remove, delete, erase, drop, forget
rename, name
rename, renamed, new name
repair, fix, mend, recover
repeat, again, remind
replicate, copy, mirror, sync
repo, repository
require, need, must
require, requirement, need, prerequisite
restore, recover, get back
retry, try again, tries, attempts, attempt
rotate, change, renew, replace
schedule, when
script, program, automation
secret, password
send, push, post
shipped, included, bundled
show, display, print, view
show, display, render, view
size, big, large
skip, ignore, exclude, omit
slow, lag, latency, delay
stop, shut down, halt, exit, end
support, compatible, compatibility
supported, works with, supports
test, dry run, try
theme, style, appearance
threshold, limit
timeout, wait, time out, deadline
timezone, time zone, zone
token, key, credential
upgrade, update, migrate, move
upload, send, write, push
user, account
var, variable
verbose, debug, detailed
version, release
web interface, ui, user interface, dashboard, console
wrong, incorrect, invalid, bad
"""


# MERGED mkdocs_roaming.answer.alike:
# Words that mean much the same in documentation, for models that know words only.


def find_synonyms(one: Word, language: str) -> tuple[Word, ...]:
    """Give what says much the same as an English word; phrases count as one word."""
    if language.partition("-")[0] != "en" and not one.text.isascii():
        return ()
    groups = _groups()
    found: dict[Word, None] = {}
    for key in {fold(one.text), stem(one.text)}:
        found |= dict.fromkeys(other for other in groups.get(key, ()) if other.runs != one.runs)
    return tuple(found)


def is_common_word(one: Word) -> bool:
    """Tell whether a word is one that everybody uses all day, so that its absence from a site says little."""
    return one.text.lower() in _COMMON


def correct_spelling(one: Word, known: Iterable[str]) -> str | None:
    """Give the known stem that a word nobody knows was probably meant to have: `recalibrate` → `calibrate`."""
    text = one.parts[-1] if len(one.parts) == 1 else ""
    if len(text) < _SHORTEST or not text.isalpha():
        return None
    best, likeness = None, _LIKE
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(text)
    for other in known:
        if text.startswith(other) and len(other) >= max(_STEM, 0.6 * len(text)):
            return other  # a misspelt ending, which no stemmer takes off
        if abs(len(other) - len(text)) > 2 or not (other[0] == text[0] or text.endswith(other)):
            continue
        matcher.set_seq1(other)
        if matcher.real_quick_ratio() > likeness and matcher.quick_ratio() > likeness and matcher.ratio() > likeness:
            best, likeness = other, matcher.ratio()
    return best


_SHORTEST = 5


_STEM = 6


_LIKE = 0.85


@cache
def _groups() -> dict[str, tuple[Word, ...]]:
    groups: dict[str, dict[Word, None]] = {}
    for members in synonym_groups():
        words = [_phrase(member) for member in members]
        for member in members:
            others = [word for other, word in zip(members, words, strict=True) if other != member]
            for key in {fold(member), stem(member)}:
                groups.setdefault(key, {}).update(dict.fromkeys(others))
    return {key: tuple(words) for key, words in groups.items()}


def _phrase(text: str) -> Word:
    """Read a phrase as one word: its terms must follow one another."""
    words: Sequence[Word] = parse_query(text)
    if len(words) == 1:
        return words[0]
    run = tuple(term for word in words for term in word.terms)
    return Word(text, "".join(run), run, run, (run,))


_COMMON = frozenset(
    """
able about above actually add after again ago all almost alone along already also always any anybody anyone anything
anyway apart around ask asked asks away back bad badly because become before begin behind believe below better between
big bit both bring brings brought came certain clear close come comes common completely correct correctly could couple
day days deal different do does doing done down during each easily easy either else end enough entire even ever every
everybody everyone everything exact fact fail far fast few find fine first five follow followed following for found
four full further gave general getting give given gives go goes going gone good great guess had half hand happen
happened happens hard has have having head hear held here high hold hope hour idea immediately important in inside
instead into it its itself job keep keeps kept kind knew large last late later least leave left less let life little
live long longer look looking looks lot lots low main made makes making man many matter maybe me mean means meant met
mind minute minutes moment month months more most mostly much must my myself name near nearly necessary never new next
nice night no nobody none normal normally not nothing notice now number off often old on once one only open opened or
order other others otherwise our out over own part past people perhaps person pick piece place plain plan plus point
possibly present pretty probably problem put puts quick quickly quite ran rather reach read ready real reason recent
recently reliable right run running runs safe said same saw say says second see seem seems seen send sends sent set
several should show shown side similar simple simply since single sit six sleep slow small so some somebody somehow
someone something sometimes soon sort start started stay stays still stop stopped stopping stops straight such suddenly
sure take taken takes taking talk ten than that them themselves then there they thing think third this though thought
three through till tight time times today together told tomorrow too took top toward tried try trying turn turned turns
twice two under understand unless until up upon us usual usually very wait waiting want wants was watch way we week
weeks well went were what whatever when where whether which while who whole why will wish with within without won word
words working worse would write wrong year years yes yesterday yet you your
    """.split()  # noqa: SIM905 -- a list of words is read best as words
)
