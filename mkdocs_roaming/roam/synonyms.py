"""Words that readers and writers of manuals use for the same thing; a weak hint, for English only."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from mkdocs_roaming.words import stem


def synonyms(term: str, language: str) -> tuple[str, ...]:
    """Give the stems of the words that may stand for a stemmed word."""
    return _by_stem().get(term, ()) if language.lower().startswith("en") else ()


@cache
def _by_stem() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for line in _GROUPS.strip().splitlines():
        group = list(dict.fromkeys(stem(word, "en") for word in line.split()))
        for word in group:
            found.setdefault(word, {}).update((other, None) for other in group if other != word)
    return {word: tuple(others) for word, others in found.items()}


_GROUPS = """
add create insert make new
adjust alter change edit modify
allow permit
app application program
arg argument option param parameter
auth authenticate authentication credential login password signin token
automate automation script
backup recover recovery restore snapshot
begin boot launch run start
break broken corrupt damage fail
build compile
cap limit max maximum quota
check test validate verify
clear delete discard drop erase purge remove
clone copy duplicate mirror replicate
cmd command
colour color
config configuration configure customize option preference setting
connect connection
crash freeze hang
cron periodic schedule
database db
deactivate disable off
default standard
deploy install installation setup
deprecate obsolete remove
dir directory folder path
doc documentation manual
download export save write
email mail
enable activate on
encrypt https ssl tls
end exit kill quit shutdown stop terminate
env environment
error exception failure fault problem
expire expiry timeout
extension addon module plugin
fast latency performance slow speed
fetch get retrieve
find lookup search
fix repair resolve solve troubleshoot
frequency interval often period
hide conceal invisible
icon image logo photo picture
import load read
journal log trace
least min minimum
length long size
link url address
list enumerate
lose loss lost
merge combine join
message notification
migrate move update upgrade
monitor observe watch
mute silence suppress
order sort
package library
pause suspend
permission privilege right role access
reboot restart
rename name
repo repository
require requirement need prerequisite
release version
send push post
show display render view
skip ignore exclude omit
support compatible compatibility
theme style appearance
user account
var variable
wait delay
"""
