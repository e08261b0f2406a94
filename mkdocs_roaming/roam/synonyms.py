"""Words that readers and writers of manuals use for the same thing; a weak hint, for English only."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from mkdocs_roaming.words import stem


def synonyms(term: str, language: str) -> tuple[str, ...]:
    """Give the stems of the words that may stand for a stemmed word."""
    return _by_stem().get(term, ()) if language.lower().startswith("en") else ()


@cache
def groups() -> tuple[tuple[str, ...], ...]:
    """Give the groups of English words and phrases that say much the same."""
    return tuple(tuple(line.split(", ")) for line in _GROUPS.strip().splitlines())


@cache
def _by_stem() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for group in groups():
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
